#include "billing.hpp"

#include <stdexcept>
#include <utility>

#include <txbox/base/error.hpp>

namespace {

[[noreturn]] void fail(sqlite3* db, const std::string& what) {
  throw std::runtime_error(what + ": " + sqlite3_errmsg(db));
}

void exec(sqlite3* db, const char* sql) {
  const int result = sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
  if (result == SQLITE_BUSY) throw txbox::Error(txbox::ErrorCode::busy, std::string(sql) + ": the database is locked");
  if (result != SQLITE_OK) fail(db, sql);
}

}  // namespace

Billing::Billing(sqlite3* db, std::optional<std::string> invoices) : db_(db), invoices_(std::move(invoices)) {
  // STRICT: a balance that no longer fits 64 bits is an error, not silently a floating-point number.
  exec(db,
       "CREATE TABLE IF NOT EXISTS accounts(account TEXT PRIMARY KEY NOT NULL, balance_cents INTEGER NOT NULL, "
       "orders INTEGER NOT NULL) STRICT");
  // Also without invoices: where the file has an outbox, orders that were given up go through it to <topic>.dlq, where
  // people and tools of any kind can read them and send them back.
  txbox::outbox::install(db);
  outbox_.emplace(db);
  if (invoices_) try_out_invoices();

  constexpr const char* kCredit =
      "INSERT INTO accounts(account, balance_cents, orders) VALUES (?1, ?2, 1) ON CONFLICT(account) "
      "DO UPDATE SET balance_cents = balance_cents + excluded.balance_cents, orders = orders + 1";
  sqlite3_stmt* credit = nullptr;
  if (sqlite3_prepare_v2(db, kCredit, -1, &credit, nullptr) != SQLITE_OK) fail(db, kCredit);
  credit_.reset(credit);
}

txbox::inbox::Outcome Billing::handle(const txbox::inbox::Message& message) {
  Order order;
  try {
    order = parse_order(message.payload.view());
  } catch (const BadOrder& error) {
    // Parked, not thrown: it will be as malformed at the fifth try as at the first, and every wait between two tries
    // would hold up the partition. What may go better next time, a database that is busy, is thrown.
    return txbox::inbox::park(error.what());
  }
  // The consumer has claimed the event already: no look for "did I see this order", here or anywhere.
  credit(order);
  if (invoices_) announce(order);
  return txbox::inbox::done;
}

void Billing::credit(const Order& order) {
  sqlite3_stmt* credit = credit_.get();
  sqlite3_bind_text(credit, 1, order.account.data(), static_cast<int>(order.account.size()), SQLITE_STATIC);
  sqlite3_bind_int64(credit, 2, order.amount_cents);
  sqlite3_step(credit);
  // A failed step is reported again by the reset, which must happen in any case.
  if (sqlite3_reset(credit) != SQLITE_OK) fail(db_, "crediting an account");
}

void Billing::announce(const Order& order) {
  outbox_->add({.topic = *invoices_,
                .key = order.account,
                .payload = invoice_for(order),
                .headers = {{"type", "InvoiceIssued"}}});
}

/// A wrong setting must end the program at its start. Met in the handler, it would fail every attempt of every order,
/// and turn all of them into dead letters.
void Billing::try_out_invoices() {
  exec(db_, "BEGIN IMMEDIATE");
  announce({.id = "order-0", .account = "account-0", .amount_cents = 0});  // A throw ends the program, rolling back.
  exec(db_, "ROLLBACK");
}
