#pragma once

#include <cstdint>

#include <txbox/base/bytes.hpp>
#include <txbox/store/statement.hpp>

struct sqlite3;

namespace txbox::relay::demo {

/// What the billing does with an order, an application like any other: it credits the order's account, inside the
/// transaction that is open on `db`. One thread; `db` must outlive it.
class BillingDesk {
 public:
  /// REQUIRES the tables of make_billing_file().
  explicit BillingDesk(sqlite3* db);
  /// Throws Error(invalid_argument) for a payload that is no order. `first_of_partition`: where a fault is put in that
  /// a test asked for with TXBOX_DEMO_FAULT (double, skip, short; only in a build with TXBOX_FAILPOINTS).
  void apply(BytesView payload, bool first_of_partition);

 private:
  enum class Fault { none, twice, skipped, a_cent_short };
  static Fault fault_of_environment();

  Fault fault_ = fault_of_environment();
  store::Statement credit_;
  store::Statement account_;
};

}  // namespace txbox::relay::demo
