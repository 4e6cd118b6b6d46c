# rushlight_wasm_module(TARGET): makes TARGET.wasm, the runtime that js/ loads; the link flags each with a reason.
# rushlight_wasm_reach(TARGET): writes TARGET.reach.json, which operator needs what of it, for `npx rushlight slim`, and prints sizes.
# rushlight_wasm_memory(TARGET): those about memory alone, which a program that Node runs as a test wants, too.

# Nothing here is a long double, whose arithmetic is software and as large as all of printf: see bridge.c.
set(RUSH_SMALL_PRINTF -Wl,--wrap=vsnprintf)

function(rushlight_wasm_memory target)
  target_link_options(${target} PRIVATE
    # Errors in the flags themselves must not pass as warnings, and no legacy default is relied on.
    -sSTRICT
    -sALLOW_MEMORY_GROWTH
    # A failed malloc returns NULL instead of aborting: RUSH_ERR_NO_MEMORY can reach the user.
    -sABORTING_MALLOC=0
    # Growth in steps of what is asked (rounded to 64 KiB): a model's weights are most of the
    # memory, and the default, 20 % more each time, would be most of the waste.
    -sMEMORY_GROWTH_GEOMETRIC_STEP=0
    -sINITIAL_MEMORY=2MB
    # All that wasm32 can address. Engines give it; the default stops at 2 GB.
    -sMAXIMUM_MEMORY=4GB
    # The interpreter does not recurse over the model, values are looked through at most
    # RUSH_MAX_DEPTH deep (each level takes less than 128 bytes here), and XNNPACK's deepest frame
    # is a few kB.
    -sSTACK_SIZE=256KB
    # The stack at the bottom of the memory: what overflows it traps, where the default has it run
    # over the tables that lie there.
    -Wl,--stack-first)
endfunction()

function(rushlight_wasm_module target)
  rushlight_wasm_link(${target})
  # -O3 at the link is what wasm-opt does best here; -Oz gains nothing after brotli.
  # What has one caller is inlined only up to this size: engines compile anew, beside the first run, all of a function in
  # which one loop is hot, and loading had come to be one of 20 kB. It is smaller after brotli, too.
  target_link_options(${target} PRIVATE -O3 ${RUSH_SMALL_PRINTF}
                      -sBINARYEN_EXTRA_PASSES=--one-caller-inline-max-function-size=500)
endfunction()

function(rushlight_wasm_link target)
  set(exports ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/exports.txt)
  add_executable(${target} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/bridge.c)
  target_link_libraries(${target} PRIVATE Rushlight::rushlight)
  rushlight_wasm_memory(${target})
  target_link_options(${target} PRIVATE
    # A library: exports, no main.
    --no-entry
    # A .wasm file and no JavaScript: imports and exports keep their names, and js/src/engine/runtime.js gives
    # the few imports in as many lines. Emscripten's own glue is 3 kB brotli of a budget of 12, differs
    # between binaries whenever an import comes or goes, and has code for Node at which bundlers stumble.
    -sSTANDALONE_WASM
    -sFILESYSTEM=0
    # Few large blocks: emmalloc is 5 kB smaller than dlmalloc and no slower for that.
    -sMALLOC=emmalloc
    -sEXPORTED_FUNCTIONS=@${exports})
  set_target_properties(${target} PROPERTIES SUFFIX .wasm LINK_DEPENDS ${exports})
endfunction()

# The same once more as the linker leaves it, with its relocations: what each function and each datum refers to.
function(rushlight_wasm_reach target)
  rushlight_wasm_link(${target}-linked)
  target_link_options(${target}-linked PRIVATE -O1 ${RUSH_SMALL_PRINTF} -sERROR_ON_WASM_CHANGES_AFTER_LINK -sWASM_BIGINT -Wl,--emit-relocs)
  set(reach $<TARGET_FILE_DIR:${target}>/${target}.reach.json)
  set(maker ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/reach.mjs)
  set(parser ${PROJECT_SOURCE_DIR}/js/src/engine/wasm-sections.js)
  set(ops ${PROJECT_SOURCE_DIR}/wasm/src/ops)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/reach.stamp
    COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} ${maker} $<TARGET_FILE:${target}-linked> $<TARGET_FILE:${target}> ${reach} ${ops}
    COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/reach.stamp
    DEPENDS ${target} ${target}-linked ${maker} ${parser} VERBATIM)
  add_custom_target(${target}-reach ALL DEPENDS ${CMAKE_BINARY_DIR}/reach.stamp)
endfunction()
