# rushlight_add_operators(TARGET FILE.c...): a build of the runtime that has operators of your own (rushlight/op.h), which one
# of the files names in RUSH_LINK_OPS. Natively TARGET is a program or library of yours; with Emscripten it is a wasm
# module that is made here, TARGET.wasm, for load(url, { wasm }).
function(rushlight_add_operators target)
  if(EMSCRIPTEN AND NOT TARGET ${target})
    rushlight_wasm_module(${target})
  endif()
  target_sources(${target} PRIVATE ${ARGN})
  target_link_libraries(${target} PRIVATE Rushlight::rushlight)
endfunction()
