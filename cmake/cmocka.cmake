# Defines the target `cmocka`: the machine's library. For wasm and for MemorySanitizer, which needs all code to be
# instrumented, it compiles cmocka's one source file.
if(EMSCRIPTEN OR RUSH_MEMORY_SANITIZER)
  set(RUSH_CMOCKA_SOURCE "" CACHE PATH "cmocka's source, for C tests as wasm")
  if(NOT EXISTS "${RUSH_CMOCKA_SOURCE}/src/cmocka.c")
    return()
  endif()
  add_library(cmocka STATIC ${RUSH_CMOCKA_SOURCE}/src/cmocka.c)
  target_include_directories(cmocka SYSTEM PUBLIC ${RUSH_CMOCKA_SOURCE}/include)
  # cmocka.h would define uintptr_t itself, with a type that is not musl's.
  target_compile_definitions(cmocka PUBLIC HAVE_UINTPTR_T)
  target_compile_definitions(cmocka PRIVATE HAVE_INTTYPES_H HAVE_MALLOC_H HAVE_STDINT_H
    HAVE_STRINGS_H HAVE_UNISTD_H HAVE_TIME_H HAVE_SIGNAL_H HAVE_CLOCK_GETTIME HAVE_STRUCT_TIMESPEC
    HAVE_GCC_THREAD_LOCAL_STORAGE)
  target_compile_options(cmocka PRIVATE -w)
  set_target_properties(cmocka PROPERTIES C_EXTENSIONS ON)
else()
  find_library(CMOCKA_LIBRARY cmocka)
  find_path(CMOCKA_INCLUDE_DIR cmocka.h)
  if(NOT CMOCKA_LIBRARY OR NOT CMOCKA_INCLUDE_DIR)
    return()
  endif()
  add_library(cmocka INTERFACE)
  target_include_directories(cmocka SYSTEM INTERFACE ${CMOCKA_INCLUDE_DIR})
  target_link_libraries(cmocka INTERFACE ${CMOCKA_LIBRARY})
endif()
