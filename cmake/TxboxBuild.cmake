# How txbox's own targets are compiled, and one call that declares a library with its headers.

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
  endif()
  if(NOT CMAKE_RUNTIME_OUTPUT_DIRECTORY)
    set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
  endif()
  # A compiler cache changes no result, so it is used where it is installed.
  find_program(TXBOX_CCACHE ccache)
  if(TXBOX_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${TXBOX_CCACHE}")
  endif()
endif()

# Not exported: warnings are a matter of this build, never of a project that embeds a library.
add_library(txbox_build_flags INTERFACE)
target_compile_options(txbox_build_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlapping copies inside std::string's own code (https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105651).
  target_compile_options(txbox_build_flags INTERFACE -Wno-restrict)
endif()
if(TXBOX_WARNINGS_AS_ERRORS)
  target_compile_options(txbox_build_flags INTERFACE -Werror)
endif()
if(TXBOX_SANITIZE)
  target_compile_options(txbox_build_flags INTERFACE
    -fsanitize=${TXBOX_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(txbox_build_flags INTERFACE -fsanitize=${TXBOX_SANITIZE})
endif()

if(TXBOX_FAILPOINTS)
  target_compile_definitions(txbox_build_flags INTERFACE TXBOX_FAILPOINTS)
endif()

function(txbox_compile_settings target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
                        VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:txbox_build_flags>)
endfunction()

# txbox_library(base [INSTALL_HEADERS] HEADERS a.hpp SOURCES a.cpp
#               DEPENDS txbox::x PRIVATE_DEPENDS y HEADER_ONLY_DEPENDS z)
# declares txbox_base with the alias txbox::base. Headers lie in include/, and each must compile alone. Without
# INSTALL_HEADERS the archive is installed, since others link it, but no application can include its headers.
# HEADER_ONLY_DEPENDS are needed to compile the library and never to use it installed.
#
# Static on purpose: symbols are hidden, so that two libraries of an application may each embed txbox, and SQLite
# and librdkafka come from the application's own link line.
function(txbox_library name)
  cmake_parse_arguments(arg "INSTALL_HEADERS" "" "HEADERS;SOURCES;DEPENDS;PRIVATE_DEPENDS;HEADER_ONLY_DEPENDS" ${ARGN})
  set(target txbox_${name})
  add_library(${target} STATIC)
  add_library(txbox::${name} ALIAS ${target})
  txbox_compile_settings(${target})
  target_sources(${target} PRIVATE ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(${target} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE_DEPENDS})
  foreach(dependency IN LISTS arg_HEADER_ONLY_DEPENDS)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${dependency}>)
  endforeach()
  if(arg_INSTALL_HEADERS)
    set(headers_target ${target})
    set(headers_scope PUBLIC)
    set(installed_headers FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
  else()
    # A file set of an installed target is always exported; the headers of this one live on a target that is not.
    set(headers_target ${target}_headers)
    set(headers_scope INTERFACE)
    set(installed_headers)
    add_library(${headers_target} INTERFACE)
    target_link_libraries(${headers_target} INTERFACE ${arg_DEPENDS})
    target_link_libraries(${target} PUBLIC $<BUILD_INTERFACE:${headers_target}>)
  endif()
  target_sources(${headers_target} ${headers_scope} FILE_SET HEADERS BASE_DIRS include FILES ${arg_HEADERS})
  set_target_properties(${headers_target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ${PROJECT_IS_TOP_LEVEL})
  if(TXBOX_INSTALL)
    install(TARGETS ${target} EXPORT txbox_${name} ARCHIVE ${installed_headers})
    set_property(GLOBAL APPEND PROPERTY txbox_components ${name})
  endif()
endfunction()

# txbox_internal_library(relay_core SOURCES a.cpp HEADERS a.hpp DEPENDS txbox::x PRIVATE_DEPENDS y) declares
# txbox_relay_core, a part of a program of ours. Its headers are included by their path from the project's root, and
# each must compile alone.
function(txbox_internal_library name)
  cmake_parse_arguments(arg "" "" "HEADERS;SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  set(target txbox_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  txbox_compile_settings(${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${arg_HEADERS})
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ${PROJECT_IS_TOP_LEVEL})
  target_link_libraries(${target} PUBLIC ${arg_DEPENDS} PRIVATE ${arg_PRIVATE_DEPENDS})
endfunction()

function(txbox_executable name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  txbox_compile_settings(${name})
  target_link_libraries(${name} PRIVATE ${arg_DEPENDS})
  if(TXBOX_SANITIZE STREQUAL "thread")
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/support/tsan_c11_threads.cpp")
  endif()
endfunction()
