#include "relay/demo/books_file.hpp"

#include <txbox/inbox/inbox.hpp>

namespace txbox::relay::demo {
namespace {

store::Connection open_to_read(const std::string& path) {
  return store::Connection::open(path, {.purpose = store::OpenPurpose::reader});
}

}  // namespace

void make_billing_file(const std::string& path) {
  const store::Connection billing = store::Connection::open(path, {.purpose = store::OpenPurpose::create});
  store::execute(billing.handle(),
                 "CREATE TABLE accounts(account TEXT PRIMARY KEY, balance_cents INTEGER NOT NULL, "
                 "orders INTEGER NOT NULL);"
                 "CREATE TABLE credits(order_id TEXT NOT NULL, account TEXT NOT NULL, amount_cents INTEGER NOT NULL)");
  inbox::install(billing.handle());
}

Books read_books(const std::string& shop_path, const std::string& billing_path) {
  Books books;
  const store::Connection shop = open_to_read(shop_path);
  store::Statement orders(shop.handle(), "SELECT id, account, amount_cents FROM orders");
  while (orders.step()) {
    books.orders.push_back(
        {std::string(orders.column_text(0)), std::string(orders.column_text(1)), orders.column_int64(2)});
  }
  const store::Connection billing = open_to_read(billing_path);
  store::Statement credits(billing.handle(), "SELECT order_id, account, amount_cents FROM credits");
  while (credits.step()) {
    books.credits.push_back(
        {std::string(credits.column_text(0)), std::string(credits.column_text(1)), credits.column_int64(2)});
  }
  store::Statement accounts(billing.handle(), "SELECT account, balance_cents, orders FROM accounts");
  while (accounts.step()) {
    books.accounts.push_back(
        {std::string(accounts.column_text(0)), accounts.column_int64(1), accounts.column_int64(2)});
  }
  return books;
}

BillingProgress::BillingProgress(const std::string& path)
    : billing_(open_to_read(path)), applied_(billing_.handle(), "SELECT coalesce(sum(orders), 0) FROM accounts") {}

std::int64_t BillingProgress::applied() {
  const store::ResetGuard reset(applied_);
  applied_.step();
  return applied_.column_int64(0);
}

}  // namespace txbox::relay::demo
