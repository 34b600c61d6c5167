#include "guest.hpp"

#include <vector>

#include <sqlite3.h>

#include <txbox/store/statement.hpp>

namespace txbox::store {

void require_transaction(sqlite3* db, std::string_view what) {
  if (sqlite3_get_autocommit(db) == 0) return;
  throw Error(ErrorCode::no_transaction,
              std::string(what) +
                  " needs an open transaction: run BEGIN IMMEDIATE before the business change, and COMMIT after both");
}

void refuse_attached(sqlite3* db, std::string_view table) {
  std::vector<std::string> schemas;
  Statement list(db, "SELECT name FROM pragma_database_list WHERE name NOT IN ('main', 'temp')");
  while (list.step()) schemas.emplace_back(list.column_text(0));
  for (const std::string& schema : schemas) {
    std::string quoted;
    for (const char letter : schema) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
    Statement find(db, "SELECT 1 FROM \"" + quoted + "\".sqlite_schema WHERE type = 'table' AND name = ?1");
    find.bind(1, table);
    if (!find.step()) continue;
    throw Error(ErrorCode::attached_database,
                "the table " + std::string(table) + " is only in the attached database " + schema +
                    ": open that file as the main one, since two files in WAL mode do not commit together",
                sqlite3_get_autocommit(db) == 0);
  }
}

KeepLastRowid::KeepLastRowid(sqlite3* db) noexcept : db_(db), rowid_(sqlite3_last_insert_rowid(db)) {}

KeepLastRowid::~KeepLastRowid() { sqlite3_set_last_insert_rowid(db_, rowid_); }

void rethrow_to_guest(sqlite3* db, const Error& error, std::string_view what) {
  const bool alive = sqlite3_get_autocommit(db) == 0;
  std::string text = std::string(what) + ": " + error.what();
  if (error.code() == ErrorCode::stale_snapshot) {
    text += ": the transaction read before another connection wrote, so roll back and start again with BEGIN IMMEDIATE";
  } else if (!alive) {
    text += ": SQLite rolled the transaction back, so start it again";
  }
  const bool no_table = error.code() == ErrorCode::failure && text.find("no such table: main.") != std::string::npos;
  throw Error(no_table ? ErrorCode::not_installed : error.code(), text, alive);
}

}  // namespace txbox::store
