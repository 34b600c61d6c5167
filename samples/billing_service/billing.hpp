#pragma once

#include <sqlite3.h>

#include <memory>
#include <optional>
#include <string>

#include <txbox/inbox/message.hpp>
#include <txbox/inbox/outcome.hpp>
#include <txbox/outbox/outbox.hpp>

#include "order.hpp"

struct Finalize {
  void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};

/// The business: table accounts, and the outbox for what it announces. It never begins or commits: it is called inside
/// the consumer's transaction. One thread.
class Billing {
 public:
  /// Makes the tables where they are missing. Borrows the connection: destroy it first. `invoices`: the topic; none for
  /// no invoices. Throws where that is no topic, and txbox::Error(busy) while another program keeps the file locked.
  Billing(sqlite3* db, std::optional<std::string> invoices);

  /// Credits the order and adds its invoice. A throw is a failed attempt, and the consumer undoes what was written.
  txbox::inbox::Outcome handle(const txbox::inbox::Message& message);

 private:
  void credit(const Order& order);
  void announce(const Order& order);
  void try_out_invoices();

  sqlite3* db_;
  std::optional<std::string> invoices_;
  std::unique_ptr<sqlite3_stmt, Finalize> credit_;
  std::optional<txbox::outbox::Outbox> outbox_;
};
