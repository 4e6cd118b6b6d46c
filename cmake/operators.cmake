# rushlight_add_operators(TARGET FILE.c...) builds a runtime with operators of your own (rushlight/op.h). One of the
# files names them in RUSH_LINK_OPS. Natively, TARGET is your program or library. With Emscripten, the function makes the wasm
# module TARGET.wasm for load(url, { wasm }).
function(rushlight_add_operators target)
  if(EMSCRIPTEN AND NOT TARGET ${target})
    rushlight_wasm_module(${target})
  endif()
  target_sources(${target} PRIVATE ${ARGN})
  target_link_libraries(${target} PRIVATE Rushlight::rushlight)
endfunction()
