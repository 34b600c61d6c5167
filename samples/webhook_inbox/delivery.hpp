#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

/// A payment as the sender's webhook announces it: `{"id":"evt_1","account":"alice","amount_cents":1250}`.
struct Delivery {
  std::string id;  ///< The sender's own, the same in every repeat of the delivery.
  std::string account;
  std::int64_t amount_cents = 0;
};

/// Sending it again will not help. The text goes back to the sender and repeats nothing of what was sent.
class BadDelivery : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws BadDelivery.
Delivery parse_delivery(const std::string& body);
