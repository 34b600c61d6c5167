# Installs the CMake package: one exported file a component, so that a program that needs the outbox alone never asks
# for librdkafka. Included last, when every library has been declared.
include(CMakePackageConfigHelpers)
set(txbox_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/txbox")

get_property(txbox_components GLOBAL PROPERTY txbox_components)
foreach(component IN LISTS txbox_components)
  install(EXPORT txbox_${component} NAMESPACE txbox:: FILE txbox-${component}.cmake
          DESTINATION "${txbox_package_dir}")
endforeach()

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/txboxConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/package/txboxConfig.cmake" INSTALL_DESTINATION "${txbox_package_dir}")
# Before 1.0 a minor version may break callers.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/txboxConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/package/txboxConfig.cmake"
              "${PROJECT_BINARY_DIR}/package/txboxConfigVersion.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/FindRdKafka.cmake" DESTINATION "${txbox_package_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
if(TXBOX_FAILPOINTS)
  install(CODE "message(WARNING \"this build is for tests: an environment variable can end its programs at named \
points. Configure with -DTXBOX_FAILPOINTS=OFF (or the preset release) before you install for good.\")")
endif()
