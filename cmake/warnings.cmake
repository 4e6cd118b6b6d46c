# rushlight_warnings(TARGET...) sets the warnings of our own sources.
function(rushlight_warnings)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE
      -Wall -Wextra -Wshadow -Wundef $<$<BOOL:${RUSH_WERROR}>:-Werror>
      # GCC guesses wrongly after a RUSH_TRY. Clang checks the same without guessing.
      "$<$<OR:$<C_COMPILER_ID:GNU>,$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized;-Wno-alloc-size-larger-than>"
      $<$<COMPILE_LANGUAGE:C>:-Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla>)
  endforeach()
endfunction()
