#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace txbox::relay::demo {

/// A row of the shop's table `orders`.
struct OrderRow {
  std::string id;
  std::string account;
  std::int64_t amount_cents = 0;
};

/// A row of the billing's table `credits`: one application of an order. Nothing there forbids a second one.
struct CreditRow {
  std::string order_id;
  std::string account;
  std::int64_t amount_cents = 0;
};

/// A row of the billing's table `accounts`.
struct AccountRow {
  std::string account;
  std::int64_t balance_cents = 0;
  std::int64_t orders = 0;
};

/// What the two databases hold at the end, each read with plain SQL.
struct Books {
  std::vector<OrderRow> orders;
  std::vector<CreditRow> credits;
  std::vector<AccountRow> accounts;
};

/// The shop's database held against the billing's.
struct BooksBalance {
  std::int64_t orders = 0;
  std::int64_t credits = 0;  ///< Rows of the table, repeats included.
  std::int64_t applied = 0;  ///< Orders that were credited at least once.
  std::int64_t accounts = 0;
  std::int64_t shop_cents = 0;     ///< What the shop sold.
  std::int64_t billing_cents = 0;  ///< What the accounts owe.
  std::int64_t never_applied = 0;  ///< Orders without a credit.
  std::int64_t applied_twice = 0;  ///< Credits beyond the first of their order.
  std::int64_t never_ordered = 0;  ///< Credits of no order: a roll-back, or nothing at all.
  std::int64_t misbilled = 0;      ///< Credits with another account or amount than their order.
  std::int64_t accounts_off = 0;   ///< Accounts whose balance or count is not what their orders add up to.

  [[nodiscard]] bool holds() const noexcept {
    return never_applied == 0 && applied_twice == 0 && never_ordered == 0 && misbilled == 0 && accounts_off == 0 &&
           shop_cents == billing_cents;
  }
};

/// Pure. The rows may come in any order.
[[nodiscard]] BooksBalance balance_of(const Books& books);

/// 1234567 cents as "12,345.67".
[[nodiscard]] std::string as_money(std::int64_t cents);

}  // namespace txbox::relay::demo
