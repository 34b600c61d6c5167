#pragma once

#include <sqlite3.h>

#include <memory>
#include <optional>
#include <string>

#include <txbox/inbox/inbox.hpp>

#include "delivery.hpp"

struct Close {
  void operator()(sqlite3* db) const noexcept { sqlite3_close(db); }
};
struct Finalize {
  void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};

/// The business: one SQLite file with the table accounts, and the inbox beside it. One thread; any number of
/// processes may share the file.
class Books {
 public:
  /// Opens the file, or makes it with every table that is needed.
  explicit Books(const std::string& path);

  /// Credits the account and remembers the delivery, in one transaction that is on the disk when this returns. A
  /// delivery that was seen before is a duplicate and changes nothing. After a throw nothing has happened.
  txbox::inbox::Claim apply(const Delivery& delivery);

 private:
  void credit(const Delivery& delivery);

  // Members are destroyed from the last to the first: the inbox before the connection that it borrows.
  std::unique_ptr<sqlite3, Close> db_;
  std::unique_ptr<sqlite3_stmt, Finalize> credit_;
  std::optional<txbox::inbox::Inbox> inbox_;
};
