#include "order.hpp"

#include <nlohmann/json.hpp>

namespace {

constexpr std::size_t kMaxTextBytes = 255;
// Far above every true order, and far below where a balance of 64 bits could overflow.
constexpr std::int64_t kMaxAmountCents = 1'000'000'000;

std::string text_field(const nlohmann::json& order, const char* name) {
  const auto field = order.find(name);
  if (field != order.end() && field->is_string()) {
    const auto& text = field->get_ref<const std::string&>();
    if (!text.empty() && text.size() <= kMaxTextBytes) return text;
  }
  throw BadOrder(std::string(name) + " is not a text of 1 to " + std::to_string(kMaxTextBytes) + " bytes");
}

std::int64_t amount_field(const nlohmann::json& order, const char* name) {
  const auto field = order.find(name);
  // Ask for the type before the value: the library would cut 12.5 to 12 and wrap what exceeds 64 bits.
  const bool whole = field != order.end() && field->is_number_integer();
  const bool fits = whole && (!field->is_number_unsigned() || field->get<std::uint64_t>() <= kMaxAmountCents);
  if (!fits || field->get<std::int64_t>() < 0 || field->get<std::int64_t>() > kMaxAmountCents) {
    throw BadOrder(std::string(name) + " is not a whole number from 0 to " + std::to_string(kMaxAmountCents));
  }
  return field->get<std::int64_t>();
}

}  // namespace

Order parse_order(std::string_view payload) {
  // Without exceptions: the text of the library's own would quote the payload.
  const auto parsed = nlohmann::json::parse(payload, nullptr, false);
  if (!parsed.is_object()) throw BadOrder("the payload is not a JSON object");
  return {.id = text_field(parsed, "order_id"),
          .account = text_field(parsed, "account"),
          .amount_cents = amount_field(parsed, "amount_cents")};
}

std::string invoice_for(const Order& order) {
  return nlohmann::ordered_json{
      {"order_id", order.id}, {"account", order.account}, {"amount_cents", order.amount_cents}}
      .dump();
}
