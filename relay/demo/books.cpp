#include "relay/demo/books.hpp"

#include <string_view>
#include <unordered_map>

#include "relay/demo/number_text.hpp"

namespace txbox::relay::demo {
namespace {

struct Sum {
  std::int64_t cents = 0;
  std::int64_t orders = 0;
};

}  // namespace

BooksBalance balance_of(const Books& books) {
  BooksBalance balance;
  balance.orders = static_cast<std::int64_t>(books.orders.size());
  balance.credits = static_cast<std::int64_t>(books.credits.size());

  std::unordered_map<std::string_view, const OrderRow*> ordered;
  std::unordered_map<std::string_view, Sum> expected;
  for (const OrderRow& order : books.orders) {
    ordered.emplace(order.id, &order);
    Sum& sum = expected[order.account];
    sum.cents += order.amount_cents;
    ++sum.orders;
    balance.shop_cents += order.amount_cents;
  }
  balance.accounts = static_cast<std::int64_t>(expected.size());

  std::unordered_map<std::string_view, std::int64_t> credited;
  for (const CreditRow& credit : books.credits) {
    const auto order = ordered.find(credit.order_id);
    if (order == ordered.end()) {
      ++balance.never_ordered;
      continue;
    }
    if (++credited[credit.order_id] > 1) ++balance.applied_twice;
    const bool as_ordered =
        credit.account == order->second->account && credit.amount_cents == order->second->amount_cents;
    if (!as_ordered) ++balance.misbilled;
  }
  balance.applied = static_cast<std::int64_t>(credited.size());
  balance.never_applied = balance.orders - balance.applied;

  for (const AccountRow& row : books.accounts) {
    balance.billing_cents += row.balance_cents;
    const auto sum = expected.find(row.account);
    const bool right =
        sum != expected.end() && sum->second.cents == row.balance_cents && sum->second.orders == row.orders;
    if (!right) ++balance.accounts_off;
    if (sum != expected.end()) expected.erase(sum);
  }
  // What is left was bought and never billed at all.
  balance.accounts_off += static_cast<std::int64_t>(expected.size());
  return balance;
}

std::string as_money(std::int64_t cents) {
  constexpr std::int64_t kCents = 100;
  const std::int64_t size = cents < 0 ? -cents : cents;
  const std::string fraction = std::to_string(size % kCents);
  return (cents < 0 ? "-" : "") + with_commas(size / kCents) + (fraction.size() == 1 ? ".0" : ".") + fraction;
}

}  // namespace txbox::relay::demo
