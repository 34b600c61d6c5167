#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <sqlite3.h>

namespace txbox::test {

/// An application's own connection to a WAL file, used with plain SQL as an application would.
class AppDatabase {
 public:
  explicit AppDatabase(const std::string& path, bool wal = true) {
    if (sqlite3_open(path.c_str(), &db_) != SQLITE_OK) throw std::runtime_error("cannot open " + path);
    if (wal) run("PRAGMA journal_mode=WAL");
  }
  AppDatabase(const AppDatabase&) = delete;
  AppDatabase& operator=(const AppDatabase&) = delete;
  ~AppDatabase() { sqlite3_close_v2(db_); }

  [[nodiscard]] sqlite3* handle() const noexcept { return db_; }
  operator sqlite3*() const noexcept { return db_; }

  /// Throws with SQLite's text.
  void run(const std::string& sql) {
    if (const std::string error = attempt(sql); !error.empty()) throw std::runtime_error(error + " in: " + sql);
  }

  /// The error text, empty when it went well.
  std::string attempt(const std::string& sql) {
    char* text = nullptr;
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, &text) == SQLITE_OK) return {};
    const std::string error = text == nullptr ? sqlite3_errmsg(db_) : text;
    sqlite3_free(text);
    return error;
  }

  /// The first column of the first row as text; nullopt for null or no row.
  std::optional<std::string> text(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
      throw std::runtime_error(sqlite3_errmsg(db_));
    }
    std::optional<std::string> value;
    if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL) {
      const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, 0));
      value.emplace(bytes == nullptr ? "" : bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement, 0)));
    }
    sqlite3_finalize(statement);
    return value;
  }

  std::int64_t number(const std::string& sql) { return std::stoll(text(sql).value_or("0")); }

  /// An open statement pins the WAL: no call of ours may leave one.
  [[nodiscard]] bool any_statement_busy() const noexcept {
    for (sqlite3_stmt* at = sqlite3_next_stmt(db_, nullptr); at != nullptr; at = sqlite3_next_stmt(db_, at)) {
      if (sqlite3_stmt_busy(at) != 0) return true;
    }
    return false;
  }

 private:
  sqlite3* db_ = nullptr;
};

}  // namespace txbox::test
