#include <cstdio>
#include <cstdlib>
#include <string>

#include <sqlite3.h>

#include <txbox/outbox/outbox.hpp>

namespace {

void execute(sqlite3* db, const char* sql) {
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return;
  std::fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
  std::exit(1);
}

}  // namespace

// consumer FILE: one business row and its event in one transaction; prints the event id.
int main(int argc, char** argv) {
  if (argc != 2) return 2;
  sqlite3* db = nullptr;
  if (sqlite3_open(argv[1], &db) != SQLITE_OK) return 1;
  execute(db, "PRAGMA journal_mode = WAL");
  execute(db, "CREATE TABLE stock(sku TEXT PRIMARY KEY, quantity INTEGER NOT NULL)");
  txbox::outbox::install(db);
  std::string event_id;
  {
    txbox::outbox::Outbox outbox(db);
    execute(db, "BEGIN IMMEDIATE");
    execute(db, "INSERT INTO stock VALUES ('A1', 7)");
    event_id = outbox.add({.topic = "stock", .key = "A1", .payload = R"({"quantity":7})"});
    execute(db, "COMMIT");
  }
  sqlite3_close(db);
  std::puts(event_id.c_str());
  return 0;
}
