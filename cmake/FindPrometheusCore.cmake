# Finds the core of prometheus-cpp (data model and text format) and defines PrometheusCore::core. Its own CMake package
# would ask for a web server, curl and zlib, which the parts need that are not used here.
find_path(PrometheusCore_INCLUDE_DIR NAMES prometheus/text_serializer.h)
find_library(PrometheusCore_LIBRARY NAMES prometheus-cpp-core)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(PrometheusCore REQUIRED_VARS PrometheusCore_LIBRARY PrometheusCore_INCLUDE_DIR)
if(PrometheusCore_FOUND AND NOT TARGET PrometheusCore::core)
  add_library(PrometheusCore::core UNKNOWN IMPORTED)
  set_target_properties(PrometheusCore::core PROPERTIES
    IMPORTED_LOCATION "${PrometheusCore_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${PrometheusCore_INCLUDE_DIR}")
endif()
mark_as_advanced(PrometheusCore_INCLUDE_DIR PrometheusCore_LIBRARY)
