# rushlight_wasm_module(TARGET): makes TARGET.wasm, the runtime that js/ loads. Each link flag has a reason.
# rushlight_wasm_gpu(TARGET SOURCE..): makes TARGET.wasm, the part for GPUs.
# rushlight_wasm_reach(TARGET): writes TARGET.reach.json for `npx rushlight slim`, which says what each operator needs, and prints sizes.
# rushlight_wasm_memory(TARGET): sets only the flags for memory, which a test program in Node also needs.

# No code here uses long double. Its software arithmetic would be as large as all of printf: see bridge.c.
set(RUSH_SMALL_PRINTF -Wl,--wrap=vsnprintf)

function(rushlight_wasm_memory target)
  target_link_options(${target} PRIVATE
    # Errors in the flags themselves must not pass as warnings, and no legacy default is relied on.
    -sSTRICT
    -sALLOW_MEMORY_GROWTH
    # A failed malloc returns NULL instead of aborting: RUSH_ERR_NO_MEMORY can reach the user.
    -sABORTING_MALLOC=0
    # Memory grows by the requested size, rounded to 64 KiB. A model's weights are most of the
    # memory, and the default growth of 20 % would waste much of it.
    -sMEMORY_GROWTH_GEOMETRIC_STEP=0
    -sINITIAL_MEMORY=2MB
    # The whole address space of wasm32. Engines provide it, but the default limit is 2 GB.
    -sMAXIMUM_MEMORY=4GB
    # The interpreter does not recurse over the model. Traversals of values are at most
    # RUSH_MAX_DEPTH deep, with less than 128 bytes for each level, and XNNPACK's deepest frame
    # is a few kB.
    -sSTACK_SIZE=256KB
    # The stack is at the bottom of the memory, so an overflow traps. By default it would overwrite
    # static data.
    -Wl,--stack-first)
endfunction()

function(rushlight_wasm_module target)
  rushlight_wasm_link(${target})
  # wasm-opt does best with -O3 at the link; -Oz saves nothing after brotli.
  # A function with one caller is inlined only up to this size. Engines recompile a whole function during the first run if
  # one of its loops is hot, and loading had become one function of 20 kB. The limit also saves bytes after brotli.
  target_link_options(${target} PRIVATE -O3 ${RUSH_SMALL_PRINTF}
                      -sBINARYEN_EXTRA_PASSES=--one-caller-inline-max-function-size=500)
endfunction()

function(rushlight_wasm_link target)
  set(exports ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/exports.txt)
  add_executable(${target} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/bridge.c)
  target_compile_options(${target} PRIVATE -Oz)
  target_link_libraries(${target} PRIVATE Rushlight::rushlight)
  rushlight_wasm_memory(${target})
  target_link_options(${target} PRIVATE
    # The module is a library, with exports and without main.
    --no-entry
    # This makes a .wasm file without JavaScript. Imports and exports keep their names, and js/src/engine/runtime.js
    # provides the few imports, with a line for each. Emscripten's own glue takes 3 kB brotli of a budget of 12,
    # differs between binaries with other imports, and has code for Node that breaks bundlers.
    -sSTANDALONE_WASM
    -sFILESYSTEM=0
    # The heap has few large blocks. emmalloc is as fast as dlmalloc for them, and 5 kB smaller.
    -sMALLOC=emmalloc
    # The module for GPUs adds its functions to the table (js/src/gpu/link.js).
    -Wl,--export-table,--growable-table
    -sEXPORTED_FUNCTIONS=@${exports})
  set_target_properties(${target} PROPERTIES SUFFIX .wasm LINK_DEPENDS ${exports})
endfunction()

# Makes TARGET.wasm, the part for GPUs. It has no memory of its own: js/src/gpu/link.js links it to the module above.
function(rushlight_wasm_gpu target)
  add_executable(${target} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/gpu_driver.c ${ARGN})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/wasm/include ${PROJECT_SOURCE_DIR}/wasm/src)
  target_compile_options(${target} PRIVATE -fPIC -Os)
  # Integers of 64 bits pass between both modules without JavaScript.
  target_link_options(${target} PRIVATE -sSIDE_MODULE=2 -sWASM_BIGINT -O2
                      -sEXPORTED_FUNCTIONS=@${CMAKE_CURRENT_FUNCTION_LIST_DIR}/gpu_exports.txt)
  set_target_properties(${target} PROPERTIES SUFFIX .wasm LINK_DEPENDS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/gpu_exports.txt)
  set(imports ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/gpu_imports.mjs)
  set(services ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/gpu_services.def)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/gpu_imports.stamp
    COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} ${imports} $<TARGET_FILE:${target}> ${services}
    COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/gpu_imports.stamp
    DEPENDS ${target} ${imports} ${services} ${PROJECT_SOURCE_DIR}/js/src/gpu/link.js VERBATIM)
  add_custom_target(${target}-imports ALL DEPENDS ${CMAKE_BINARY_DIR}/gpu_imports.stamp)
endfunction()

# Links the module again and keeps the relocations, which show what each function and each datum refers to.
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
