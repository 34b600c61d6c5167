#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>

namespace txbox::bench {

struct CloseDatabase {
  void operator()(sqlite3* db) const noexcept { sqlite3_close(db); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

/// A connection as an application would open it: WAL, a busy timeout, `synchronous` as given (normal or full).
/// All of these throw std::runtime_error.
[[nodiscard]] Database open_database(const std::string& path, const std::string& synchronous);
void execute(sqlite3* db, const std::string& sql);
[[nodiscard]] Statement prepare(sqlite3* db, const std::string& sql);
/// Steps a statement without rows to its end and resets it.
void run_statement(sqlite3* db, sqlite3_stmt* statement);

/// Makes the file with the outbox and `rows` unsent events for `topic` (records.hpp).
void fill_outbox(const std::string& path, const std::string& topic, std::int64_t rows, std::int64_t payload_bytes);

}  // namespace txbox::bench
