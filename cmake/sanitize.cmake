# With RUSH_SANITIZE everything of ours is compiled so that a fault stops the test with a stack.
if(RUSH_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=address,undefined)
endif()
# What is small is cut for threads, too. XNNPACK's kernels, which know of no threads, are as ever.
if(RUSH_THREAD_SANITIZER)
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=thread)
  add_compile_definitions(RUSH_LEAST_WORK=1)
endif()
# Memory that is read before anybody has written it, followed through copies up to where it decides something.
if(RUSH_MEMORY_SANITIZER)
  add_compile_options(-fsanitize=memory -fsanitize-memory-track-origins -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=memory)
endif()
# Fuzzing also counts the branches that were taken, gives each block of memory back at once, and cuts what is small
# for threads, too.
if(RUSH_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_compile_definitions(RUSH_FUZZ)
endif()
# Counts of lines and branches, for tests/coverage. The code of assert() is no part of a release, and is not counted.
if(RUSH_COVERAGE)
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
  add_compile_definitions(NDEBUG)
endif()
