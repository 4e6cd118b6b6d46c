# Sets Emscripten's flags for all targets. rushlight_wasm_test(TARGET) sets those of a program that Node runs as a test.
if(NOT EMSCRIPTEN)
  return()
endif()

# This makes memcpy and memset instructions. Otherwise they are JavaScript calls from 512 bytes up.
set(RUSH_WASM_FLAGS -msimd128 -mbulk-memory)
if(RUSH_SIMD STREQUAL "relaxed")
  list(APPEND RUSH_WASM_FLAGS -mrelaxed-simd)
elseif(NOT RUSH_SIMD STREQUAL "simd")
  message(FATAL_ERROR "RUSH_SIMD is `simd` or `relaxed`, not `${RUSH_SIMD}`")
endif()
add_compile_options(${RUSH_WASM_FLAGS})
add_link_options(-mbulk-memory)
include(${PROJECT_SOURCE_DIR}/wasm/bridge/module.cmake)

function(rushlight_wasm_test target)
  rushlight_wasm_memory(${target})
  # A program with main, files and exit codes, run by `node NAME.js`.
  target_link_options(${target} PRIVATE -sEXIT_RUNTIME -sENVIRONMENT=node -sNODERAWFS
                      -lnodefs.js -lnoderawfs.js -sASSERTIONS=1 -sSTACK_OVERFLOW_CHECK=2 -O1)
endfunction()
