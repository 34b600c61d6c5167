#include "tests/bench/support/database.hpp"

#include <algorithm>
#include <stdexcept>

#include <txbox/outbox/outbox.hpp>

#include "tests/bench/support/records.hpp"

namespace txbox::bench {
namespace {

[[noreturn]] void fail(sqlite3* db, const std::string& what) {
  throw std::runtime_error(what + ": " + sqlite3_errmsg(db));
}

}  // namespace

Database open_database(const std::string& path, const std::string& synchronous) {
  if (synchronous != "normal" && synchronous != "full") {
    throw std::invalid_argument("--synchronous is normal or full");
  }
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  Database owner(db);
  if (code != SQLITE_OK) fail(db, path);
  sqlite3_busy_timeout(db, 30'000);
  execute(db, "PRAGMA journal_mode=WAL");
  execute(db, "PRAGMA synchronous=" + synchronous);
  return owner;
}

void execute(sqlite3* db, const std::string& sql) {
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail(db, sql);
}

Statement prepare(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(db, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK)
    fail(db, sql);
  return Statement(statement);
}

void run_statement(sqlite3* db, sqlite3_stmt* statement) {
  while (sqlite3_step(statement) == SQLITE_ROW) {
  }
  if (sqlite3_reset(statement) != SQLITE_OK) fail(db, sqlite3_sql(statement));
}

void fill_outbox(const std::string& path, const std::string& topic, std::int64_t rows, std::int64_t payload_bytes) {
  constexpr std::int64_t kRowsPerTransaction = 10'000;
  const Database db = open_database(path, "normal");
  outbox::install(db.get());
  outbox::Outbox outbox(db.get());
  for (std::int64_t begin = 0; begin < rows; begin += kRowsPerTransaction) {
    execute(db.get(), "BEGIN IMMEDIATE");
    for (std::int64_t i = begin; i < std::min(begin + kRowsPerTransaction, rows); ++i) {
      outbox.add({.topic = topic, .key = key_of(i), .payload = payload_of(i, payload_bytes)});
    }
    execute(db.get(), "COMMIT");
  }
}

}  // namespace txbox::bench
