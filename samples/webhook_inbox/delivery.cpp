#include "delivery.hpp"

#include <nlohmann/json.hpp>

namespace {

// Far above every true payment, and far below where a balance of 64 bits could overflow.
constexpr std::int64_t kMaxAmountCents = 1'000'000'000;

std::string text_field(const nlohmann::json& body, const char* name) {
  const auto field = body.find(name);
  if (field == body.end() || !field->is_string() || field->get_ref<const std::string&>().empty()) {
    throw BadDelivery(std::string(name) + " must be a text that is not empty");
  }
  return field->get<std::string>();
}

std::int64_t amount_field(const nlohmann::json& body, const char* name) {
  const auto field = body.find(name);
  // Ask for the type before the value: the library would cut 12.5 to 12 and wrap what exceeds 64 bits.
  const bool whole = field != body.end() && field->is_number_integer();
  const bool fits = whole && (!field->is_number_unsigned() || field->get<std::uint64_t>() <= kMaxAmountCents);
  if (!fits || field->get<std::int64_t>() <= 0 || field->get<std::int64_t>() > kMaxAmountCents) {
    throw BadDelivery(std::string(name) + " must be a whole number from 1 to " + std::to_string(kMaxAmountCents));
  }
  return field->get<std::int64_t>();
}

}  // namespace

Delivery parse_delivery(const std::string& body) {
  // Without exceptions: the text of the library's own would quote what was sent.
  const auto parsed = nlohmann::json::parse(body, nullptr, false);
  if (!parsed.is_object()) throw BadDelivery("the delivery is not a JSON object");
  return {.id = text_field(parsed, "id"),
          .account = text_field(parsed, "account"),
          .amount_cents = amount_field(parsed, "amount_cents")};
}
