#pragma once

#include <cstdint>

#include <txbox/store/statement.hpp>

namespace txbox::store {

/// The pages of a file that nothing uses. SQLite takes them again by itself; a file with auto_vacuum=INCREMENTAL can
/// give them back to the file system as well. Single-threaded.
class FreePages {
 public:
  explicit FreePages(sqlite3* db);

  /// Whether the file can give any back.
  [[nodiscard]] static bool given_back(sqlite3* db);

  /// Of them, those that the file may do without: some are left for what is written next.
  [[nodiscard]] std::int64_t to_give_back();
  /// REQUIRES: a write transaction is open. The file becomes shorter at the next checkpoint.
  void give_back(std::int64_t pages);

 private:
  sqlite3* db_;
  bool may_shrink_;
  Statement free_;
  Statement all_;
};

}  // namespace txbox::store
