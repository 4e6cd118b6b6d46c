# rushlight_warnings(TARGET...): what our own sources are compiled with.
function(rushlight_warnings)
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE
      -Wall -Wextra -Wshadow -Wundef $<$<BOOL:${RUSH_WERROR}>:-Werror>
      $<$<COMPILE_LANGUAGE:C>:-Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla>)
  endforeach()
endfunction()
