#include <cstdio>
#include <cstdlib>
#include <exception>

#include <sqlite3.h>

#include <txbox/outbox/outbox.hpp>

/// install_boxes FILE [MAX_RECORD_BYTES]: makes a WAL file with the tables, for tests that speak plain SQL.
int main(int argc, char** argv) {
  if (argc < 2) return 2;
  sqlite3* db = nullptr;
  int status = 1;
  try {
    if (sqlite3_open(argv[1], &db) != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(db));
    sqlite3_exec(db, "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr);
    txbox::outbox::install(db, {.max_record_bytes = argc > 2 ? std::atoll(argv[2]) : 0});
    status = 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "install_boxes: %s\n", error.what());
  }
  sqlite3_close(db);
  return status;
}
