#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/bench/support/database.hpp"

namespace txbox::bench {

/// The effect of one message, the same for every consumer that is measured: one row of a small table is credited.
/// Borrows the connection. Throws std::runtime_error.
class Accounts {
 public:
  /// Makes the table where it is missing.
  explicit Accounts(sqlite3* db);
  void credit(std::string_view account, std::int64_t amount);

 private:
  sqlite3* db_;
  Statement credit_;
};

/// Throws std::runtime_error unless the accounts of the file hold what records 0 to rows - 1 (records.hpp), each
/// credited once with its number, come to, and `claims` (a table) holds a row for each.
void check_accounts(const std::string& path, const std::string& claims, std::int64_t rows);

}  // namespace txbox::bench
