#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <txbox/outbox/outbox.hpp>

struct Close {
  void operator()(sqlite3* db) const noexcept { sqlite3_close(db); }
};
struct Finalize {
  void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};

struct Order {
  std::string account;
  std::int64_t amount_cents = 0;
};

/// The business: one SQLite file with the table orders, and the outbox beside it. One thread.
class Shop {
 public:
  /// Opens the file, or makes it with every table that is needed.
  Shop(const std::string& path, std::string topic);

  /// Commits the order together with its event and returns the order's id. After a throw neither is there.
  std::string place(const Order& order);

 private:
  std::string insert_order(const Order& order);

  // Members are destroyed from the last to the first: the outbox before the connection that it borrows.
  std::unique_ptr<sqlite3, Close> db_;
  std::string topic_;
  std::unique_ptr<sqlite3_stmt, Finalize> insert_order_;
  std::optional<txbox::outbox::Outbox> outbox_;
};
