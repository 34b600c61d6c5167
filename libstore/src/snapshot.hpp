#pragma once

#include <optional>

#include <sqlite3.h>

#include <txbox/store/transaction.hpp>

namespace txbox::store {

/// One snapshot for several reads; inside a transaction of the caller's it is that one's.
class Snapshot {
 public:
  explicit Snapshot(sqlite3* db) {
    if (sqlite3_get_autocommit(db) != 0) transaction_.emplace(db);
  }

 private:
  std::optional<ReadTransaction> transaction_;
};

}  // namespace txbox::store
