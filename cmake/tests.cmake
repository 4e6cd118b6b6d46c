# rushlight_c_test(NAME SOURCE... [KERNELS]) defines a cmocka program that ctest
# runs natively or, as wasm, in Node. It may include the runtime's internal headers as "base/base.h",
# and with KERNELS also those of XNNPACK. RUSH_TEST_DIR is the folder of the source, and
# RUSH_BUILD_DIR is the build folder.
include(cmocka)
function(rushlight_c_test name)
  cmake_parse_arguments(arg "KERNELS" "" "" ${ARGN})
  if(NOT TARGET cmocka)
    message(WARNING "cmocka is not found: the C test ${name} is left out")
    return()
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE rushlight cmocka)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/wasm/src)
  if(arg_KERNELS)
    target_link_libraries(${name} PRIVATE xnnpack)
  endif()
  target_compile_definitions(${name} PRIVATE RUSH_TEST_DIR="${CMAKE_CURRENT_SOURCE_DIR}"
                             RUSH_BUILD_DIR="${CMAKE_BINARY_DIR}")
  # Tests use assert() in every build.
  target_compile_options(${name} PRIVATE -UNDEBUG)
  rushlight_warnings(${name})
  if(EMSCRIPTEN)
    rushlight_wasm_test(${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  # It ends a test that hangs. A slow or busy machine with a sanitizer needs minutes for the longest.
  set_tests_properties(${name} PROPERTIES TIMEOUT 1500)
endfunction()
