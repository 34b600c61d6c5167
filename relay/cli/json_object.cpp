#include "relay/cli/json_object.hpp"

#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

#include <txbox/base/base64.hpp>
#include <txbox/base/utf8.hpp>

namespace txbox::relay {

namespace {

std::string quoted(std::string_view utf8) {
  const std::string plain = nlohmann::json(utf8).dump();
  std::string text;
  text.reserve(plain.size());
  for (std::size_t at = 0; at < plain.size(); ++at) {
    const auto byte = static_cast<unsigned char>(plain[at]);
    const auto next = static_cast<unsigned char>(at + 1 < plain.size() ? plain[at + 1] : '\0');
    const bool control = byte == 0xC2 && next >= 0x80 && next < 0xA0;
    if (byte != 0x7F && !control) {
      text += plain[at];
      continue;
    }
    std::array<char, 8> escaped{};
    std::snprintf(escaped.data(), escaped.size(), "\\u%04x", control ? next : byte);
    text += escaped.data();
    if (control) ++at;
  }
  return text;
}

std::string bytes_value(BytesView bytes) {
  if (bytes.is_null()) return "null";
  if (base::is_utf8(bytes.view())) return quoted(bytes.view());
  return R"({"base64":")" + base::base64_encode(bytes.view()) + "\"}";
}

}  // namespace

JsonObject& JsonObject::add(std::string_view name, const std::string& value) {
  if (!members_.empty()) members_ += ',';
  members_.append("\"").append(name).append("\":").append(value);
  return *this;
}

JsonObject& JsonObject::number(std::string_view name, std::int64_t value) { return add(name, std::to_string(value)); }

JsonObject& JsonObject::number(std::string_view name, std::optional<std::int64_t> value) {
  return value ? number(name, *value) : add(name, "null");
}

JsonObject& JsonObject::real(std::string_view name, std::optional<double> value) {
  return add(name, value ? nlohmann::json(*value).dump() : "null");
}

JsonObject& JsonObject::truth(std::string_view name, bool value) { return add(name, value ? "true" : "false"); }

JsonObject& JsonObject::text(std::string_view name, std::string_view value) {
  return add(name, bytes_value(BytesView(value)));
}

JsonObject& JsonObject::text_or_null(std::string_view name, const std::optional<std::string>& value) {
  return value ? text(name, std::string_view(*value)) : add(name, "null");
}

JsonObject& JsonObject::bytes(std::string_view name, BytesView value) { return add(name, bytes_value(value)); }

JsonObject& JsonObject::list(std::string_view name, std::span<const JsonObject> values) {
  std::string items;
  for (const JsonObject& value : values) {
    if (!items.empty()) items += ',';
    items += value.str();
  }
  return add(name, "[" + items + "]");
}

JsonObject& JsonObject::texts(std::string_view name, std::span<const std::string> values) {
  std::string items;
  for (const std::string& value : values) {
    if (!items.empty()) items += ',';
    items += bytes_value(BytesView(std::string_view(value)));
  }
  return add(name, "[" + items + "]");
}

JsonObject& JsonObject::words(std::string_view name, std::span<const std::string_view> values) {
  std::string items;
  for (const std::string_view value : values) {
    if (!items.empty()) items += ',';
    items += quoted(value);
  }
  return add(name, "[" + items + "]");
}

}  // namespace txbox::relay
