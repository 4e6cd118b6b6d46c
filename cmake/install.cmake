# `cmake --install BUILD --prefix DIR`: the runtime as a CMake package, with the TorchScript class.
# RushlightConfig.cmake.in documents find_package(Rushlight). A wasm build is a package of its own.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Rushlight)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/wasm/include/rushlight DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES $<TARGET_FILE:rushlight> $<TARGET_FILE:xnnpack> DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/THIRD_PARTY_NOTICES
  DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/rushlight)
if(TARGET rushlight_torch)
  install(TARGETS rushlight_torch LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/RushlightConfig.cmake.in
  ${CMAKE_BINARY_DIR}/RushlightConfig.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/RushlightConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/operators.cmake DESTINATION ${package_dir})
if(EMSCRIPTEN)
  install(FILES ${PROJECT_SOURCE_DIR}/wasm/bridge/module.cmake ${PROJECT_SOURCE_DIR}/wasm/bridge/bridge.c
    ${PROJECT_SOURCE_DIR}/wasm/bridge/gpu_services.h
    ${PROJECT_SOURCE_DIR}/wasm/bridge/exports.txt DESTINATION ${package_dir}/bridge)
endif()
install(FILES ${CMAKE_BINARY_DIR}/RushlightConfig.cmake ${CMAKE_BINARY_DIR}/RushlightConfigVersion.cmake
  DESTINATION ${package_dir})
