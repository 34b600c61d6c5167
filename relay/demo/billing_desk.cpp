#include "relay/demo/billing_desk.hpp"

#include <cstdlib>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <txbox/base/error.hpp>

namespace txbox::relay::demo {
namespace {

struct ParsedOrder {
  std::string id;
  std::string account;
  std::int64_t amount_cents = 0;
};

ParsedOrder parse(BytesView payload) {
  try {
    const nlohmann::json order = nlohmann::json::parse(payload.view());
    return {.id = order.at("order_id").get<std::string>(),
            .account = order.at("account").get<std::string>(),
            .amount_cents = order.at("amount_cents").get<std::int64_t>()};
  } catch (const nlohmann::json::exception&) {
    // Its text would show the payload.
    throw Error(ErrorCode::invalid_argument, "the payload is no order", true);
  }
}

}  // namespace

BillingDesk::BillingDesk(sqlite3* db)
    : credit_(db, "INSERT INTO credits VALUES (?1, ?2, ?3)"),
      account_(
          db,
          "INSERT INTO accounts VALUES (?1, ?2, 1) "
          "ON CONFLICT DO UPDATE SET balance_cents = balance_cents + excluded.balance_cents, orders = orders + 1") {}

BillingDesk::Fault BillingDesk::fault_of_environment() {
#ifdef TXBOX_FAILPOINTS
  const char* variable = std::getenv("TXBOX_DEMO_FAULT");
  const std::string_view fault = variable != nullptr ? variable : "";
  if (fault == "double") return Fault::twice;
  if (fault == "skip") return Fault::skipped;
  if (fault == "short") return Fault::a_cent_short;
#endif
  return Fault::none;
}

void BillingDesk::apply(BytesView payload, bool first_of_partition) {
  const ParsedOrder order = parse(payload);
  const Fault fault = first_of_partition ? fault_ : Fault::none;
  const int times = fault == Fault::skipped ? 0 : fault == Fault::twice ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    const std::int64_t billed = order.amount_cents - (fault == Fault::a_cent_short ? 1 : 0);
    credit_.bind(1, order.id).bind(2, order.account).bind(3, order.amount_cents).execute();
    account_.bind(1, order.account).bind(2, billed).execute();
  }
}

}  // namespace txbox::relay::demo
