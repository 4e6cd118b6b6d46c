from .tool import main

main()
