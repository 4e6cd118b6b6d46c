# With RUSH_SANITIZE, a fault in our own code stops the test with a stack.
if(RUSH_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=address,undefined)
endif()
# Short loops are divided for threads, too. XNNPACK's kernels, which use no threads, are not instrumented.
if(RUSH_THREAD_SANITIZER)
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=thread)
  add_compile_definitions(RUSH_LEAST_WORK=1)
endif()
# MemorySanitizer follows uninitialized memory through copies to the branch that depends on it.
if(RUSH_MEMORY_SANITIZER)
  add_compile_options(-fsanitize=memory -fsanitize-memory-track-origins -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=memory)
endif()
# Fuzzing also counts taken branches, frees each block of memory at once, and divides short loops for threads.
if(RUSH_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_compile_definitions(RUSH_FUZZ)
endif()
# tests/coverage counts lines and branches. A release has no code of assert(), so it is not counted.
if(RUSH_COVERAGE)
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
  add_compile_definitions(NDEBUG)
endif()
