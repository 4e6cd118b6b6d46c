# With RUSH_SANITIZE everything of ours is compiled so that a fault stops the test with a stack.
if(RUSH_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=address,undefined)
endif()
