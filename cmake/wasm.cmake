# rushlight_wasm_module(TARGET): the link flags of a wasm binary, each with its reason.
# rushlight_wasm_test(TARGET): the same runtime flags for a program that Node runs as a test.
if(NOT EMSCRIPTEN)
  return()
endif()

add_compile_options(-msimd128)
if(RUSH_SIMD STREQUAL "relaxed")
  add_compile_options(-mrelaxed-simd)
elseif(NOT RUSH_SIMD STREQUAL "simd")
  message(FATAL_ERROR "RUSH_SIMD is `simd` or `relaxed`, not `${RUSH_SIMD}`")
endif()
# memcpy and memset are instructions; without this they are JavaScript calls from 512 bytes up.
add_compile_options(-mbulk-memory)
add_link_options(-mbulk-memory)
# Errors in the flags themselves must not pass as warnings, and no legacy default is relied on.
add_link_options(-sSTRICT -sALLOW_MEMORY_GROWTH)

function(rushlight_wasm_memory target)
  target_link_options(${target} PRIVATE
    # A failed malloc returns NULL instead of aborting: RUSH_ERR_NO_MEMORY can reach the user.
    -sABORTING_MALLOC=0
    # Growth in steps of what is asked (rounded to 64 KiB): a model's weights are most of the
    # memory, and the default, 20 % more each time, would be most of the waste.
    -sMEMORY_GROWTH_GEOMETRIC_STEP=0
    -sINITIAL_MEMORY=2MB
    # All that wasm32 can address. Engines give it; the default stops at 2 GB.
    -sMAXIMUM_MEMORY=4GB
    # The interpreter does not recurse over the model; XNNPACK's deepest frame is a few kB.
    -sSTACK_SIZE=256KB)
endfunction()

function(rushlight_wasm_module target)
  rushlight_wasm_memory(${target})
  target_link_options(${target} PRIVATE
    # A library: exports, no main.
    --no-entry
    # A .wasm file and no JavaScript: imports and exports keep their names, and js/src/runtime.js gives
    # the three imports in as many lines. Emscripten's own glue is 3 kB brotli of a budget of 12, differs
    # between binaries whenever an import comes or goes, and has code for Node at which bundlers stumble.
    -sSTANDALONE_WASM
    -sFILESYSTEM=0
    # Few large blocks: emmalloc is 5 kB smaller than dlmalloc and no slower for that.
    -sMALLOC=emmalloc
    # -O3 at the link is what wasm-opt does best here; -Oz gains nothing after brotli.
    -O3)
endfunction()

function(rushlight_wasm_test target)
  rushlight_wasm_memory(${target})
  # A program with main, files and exit codes, run by `node NAME.js`.
  target_link_options(${target} PRIVATE -sEXIT_RUNTIME -sENVIRONMENT=node -sNODERAWFS
                      -lnodefs.js -lnoderawfs.js -sASSERTIONS=1 -sSTACK_OVERFLOW_CHECK=2 -O1)
endfunction()
