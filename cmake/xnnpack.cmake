# Gives the target `xnnpack`: the archive, and its public and internal headers. Only
# wasm/src/kernels may link it.
if(RUSH_XNNPACK_DIR)
  if(NOT EXISTS ${RUSH_XNNPACK_DIR}/lib/libxnnpack.a)
    message(FATAL_ERROR "there is no lib/libxnnpack.a in RUSH_XNNPACK_DIR (${RUSH_XNNPACK_DIR})")
  endif()
  include(${CMAKE_CURRENT_LIST_DIR}/xnnpack/definitions.cmake)
  # What is 0 may as well be undefined to the headers: shorter command lines.
  list(FILTER RUSH_XNNPACK_DEFINITIONS EXCLUDE REGEX "=0$")
  add_library(xnnpack STATIC IMPORTED GLOBAL)
  set_target_properties(xnnpack PROPERTIES
    IMPORTED_LOCATION ${RUSH_XNNPACK_DIR}/lib/libxnnpack.a
    INTERFACE_INCLUDE_DIRECTORIES ${RUSH_XNNPACK_DIR}/include
    INTERFACE_COMPILE_DEFINITIONS "${RUSH_XNNPACK_DEFINITIONS}")
elseif(RUSH_XNNPACK_SOURCE)
  if(RUSH_SANITIZE)
    set(XNN_VARIANT scalar)
  elseif(EMSCRIPTEN)
    set(XNN_VARIANT ${RUSH_SIMD})
  else()
    set(XNN_VARIANT native)
  endif()
  add_subdirectory(${CMAKE_CURRENT_LIST_DIR}/xnnpack ${CMAKE_BINARY_DIR}/xnnpack)
else()
  message(FATAL_ERROR
    "XNNPACK is not found: use ./dev build, or give -DRUSH_XNNPACK_SOURCE=DIR (cmake/xnnpack/README.md)")
endif()
