#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

/// The event `{"order_id":"order-17","account":"account-3","amount_cents":1250}`.
struct Order {
  std::string id;
  std::string account;
  std::int64_t amount_cents = 0;
};

/// Not an order, now or later. People will read the text; it repeats nothing of the payload.
class BadOrder : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws BadOrder. Fields that it doesn't know are ignored: the shop may add some.
Order parse_order(std::string_view payload);

/// The event that announces an order's invoice, as JSON.
std::string invoice_for(const Order& order);
