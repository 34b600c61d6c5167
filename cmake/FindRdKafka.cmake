# Finds librdkafka's C library and defines RdKafka::rdkafka. Debian ships no RdKafkaConfig.cmake; where
# one exists (vcpkg, Conan, a build from source) it is preferred, since it knows its own dependencies.
find_package(RdKafka CONFIG QUIET)
if(TARGET RdKafka::rdkafka)
  set(RdKafka_FOUND TRUE)
  return()
endif()

find_path(RdKafka_INCLUDE_DIR NAMES librdkafka/rdkafka.h)
find_library(RdKafka_LIBRARY NAMES rdkafka)
if(RdKafka_INCLUDE_DIR)
  file(STRINGS "${RdKafka_INCLUDE_DIR}/librdkafka/rdkafka.h" rdkafka_version_line REGEX "#define RD_KAFKA_VERSION +0x")
  if(rdkafka_version_line MATCHES "0x([0-9a-f][0-9a-f])([0-9a-f][0-9a-f])([0-9a-f][0-9a-f])")
    math(EXPR rdkafka_major "0x${CMAKE_MATCH_1}")
    math(EXPR rdkafka_minor "0x${CMAKE_MATCH_2}")
    math(EXPR rdkafka_patch "0x${CMAKE_MATCH_3}")
    set(RdKafka_VERSION "${rdkafka_major}.${rdkafka_minor}.${rdkafka_patch}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(RdKafka REQUIRED_VARS RdKafka_LIBRARY RdKafka_INCLUDE_DIR VERSION_VAR RdKafka_VERSION)
if(RdKafka_FOUND AND NOT TARGET RdKafka::rdkafka)
  add_library(RdKafka::rdkafka UNKNOWN IMPORTED)
  set_target_properties(RdKafka::rdkafka PROPERTIES
    IMPORTED_LOCATION "${RdKafka_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${RdKafka_INCLUDE_DIR}")
endif()
mark_as_advanced(RdKafka_INCLUDE_DIR RdKafka_LIBRARY)
