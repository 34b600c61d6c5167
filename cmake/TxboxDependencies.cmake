# Everything from outside, found once; what the embedding project has defined already is taken as it is. The libraries
# must use the application's own SQLite: two copies of SQLite in one process drop each other's POSIX locks
# (https://sqlite.org/howtocorrupt.html).
if(TXBOX_SQLITE_TARGET)
  # An installed txbox knows this SQLite by the standard name, which the application then defines (txboxConfig.cmake).
  set(txbox_sqlite "$<BUILD_INTERFACE:${TXBOX_SQLITE_TARGET}>" "$<INSTALL_INTERFACE:SQLite::SQLite3>")
else()
  if(NOT TARGET SQLite::SQLite3)
    find_package(SQLite3 3.37 REQUIRED)
  endif()
  set(txbox_sqlite SQLite::SQLite3)
endif()
if(NOT TARGET nlohmann_json::nlohmann_json)
  find_package(nlohmann_json 3.11 REQUIRED)
endif()
find_package(Threads REQUIRED)
if(TXBOX_BUILD_RELAY)
  find_package(RdKafka 2.0 REQUIRED)
  find_package(CLI11 2.1 REQUIRED)
  find_package(spdlog REQUIRED)
endif()
if(TXBOX_BUILD_TESTS)
  find_package(doctest REQUIRED)
  include(doctest)
  # The system's interpreter: the distribution's Python modules are there, whatever else is on the path.
  find_program(TXBOX_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
  find_program(TXBOX_PYTHON python3 REQUIRED)
endif()
