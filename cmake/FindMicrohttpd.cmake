# Finds GNU libmicrohttpd and defines Microhttpd::microhttpd. It ships a pkg-config file and no CMake package.
find_path(Microhttpd_INCLUDE_DIR NAMES microhttpd.h)
find_library(Microhttpd_LIBRARY NAMES microhttpd)
if(Microhttpd_INCLUDE_DIR)
  # A hexadecimal number of eight digits: 0x00097500 is 0.9.75.
  file(STRINGS "${Microhttpd_INCLUDE_DIR}/microhttpd.h" microhttpd_version_line REGEX "#define MHD_VERSION +0x")
  if(microhttpd_version_line MATCHES "0x([0-9a-f][0-9a-f])([0-9a-f][0-9a-f])([0-9a-f][0-9a-f])")
    # The digits are to be read as decimal ones.
    math(EXPR microhttpd_major "${CMAKE_MATCH_1}")
    math(EXPR microhttpd_minor "${CMAKE_MATCH_2}")
    math(EXPR microhttpd_patch "${CMAKE_MATCH_3}")
    set(Microhttpd_VERSION "${microhttpd_major}.${microhttpd_minor}.${microhttpd_patch}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Microhttpd REQUIRED_VARS Microhttpd_LIBRARY Microhttpd_INCLUDE_DIR
                                  VERSION_VAR Microhttpd_VERSION)
if(Microhttpd_FOUND AND NOT TARGET Microhttpd::microhttpd)
  add_library(Microhttpd::microhttpd UNKNOWN IMPORTED)
  set_target_properties(Microhttpd::microhttpd PROPERTIES
    IMPORTED_LOCATION "${Microhttpd_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${Microhttpd_INCLUDE_DIR}")
endif()
mark_as_advanced(Microhttpd_INCLUDE_DIR Microhttpd_LIBRARY)
