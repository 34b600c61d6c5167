#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <txbox/base/bytes.hpp>

struct sqlite3;
struct sqlite3_stmt;

namespace txbox::store {

/// An owned prepared statement. Names follow SQLite's own. Indexes: parameters from 1, columns from 0.
/// Bound text and blobs are not copied (SQLITE_STATIC): they must live until reset(). Single-threaded.
/// Every step or prepare that fails throws (see throw_sqlite_error).
class Statement {
 public:
  /// Prepared as SQLITE_PREPARE_PERSISTENT; `sql` is one statement.
  Statement(sqlite3* db, std::string_view sql);
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  Statement& bind(int index, std::int64_t value);
  Statement& bind(int index, std::string_view text);  ///< As TEXT.
  Statement& bind_blob(int index, BytesView bytes);   ///< As BLOB; null stays NULL, empty stays x''.
  Statement& bind_null(int index);
  Statement& bind(int index, std::optional<std::int64_t> value);

  /// True while there is a row. False once done; the statement is then reset already.
  bool step();
  /// Steps a statement that returns no rows to its end and resets it.
  void execute();
  /// As execute(), and keeps the bindings for the next time: text and blobs must outlive that, or be bound anew before.
  void execute_again();
  /// Resets and forgets bindings. Never throws: an error was thrown by step() before.
  void reset() noexcept;

  [[nodiscard]] bool column_is_null(int column) const;
  [[nodiscard]] std::int64_t column_int64(int column) const;
  [[nodiscard]] std::optional<std::int64_t> column_optional(int column) const;
  [[nodiscard]] std::string_view column_text(int column) const;  ///< Valid until the next step or reset.
  [[nodiscard]] BytesView column_bytes(int column) const;        ///< Of text or blob; null, empty and bytes kept apart.
  [[nodiscard]] int column_type(int column) const;

  /// How often SQLite compiled it anew by itself, because the schema had changed.
  [[nodiscard]] int times_prepared_again() const noexcept;

 private:
  void check_bound(int code) const;

  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
};

/// Runs a statement at scope exit's reset, so that no exception leaves it open: an open SELECT pins the WAL.
class ResetGuard {
 public:
  explicit ResetGuard(Statement& statement) noexcept : statement_(statement) {}
  ~ResetGuard() { statement_.reset(); }
  ResetGuard(const ResetGuard&) = delete;
  ResetGuard& operator=(const ResetGuard&) = delete;

 private:
  Statement& statement_;
};

/// Runs SQL text that returns no rows (several statements allowed), not for repeated use.
void execute(sqlite3* db, const char* sql);

}  // namespace txbox::store
