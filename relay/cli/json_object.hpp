#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <txbox/base/bytes.hpp>

namespace txbox::relay {

/// One JSON object on one line, with its names in the order in which they are added: the contract's, not the
/// alphabet's. Bytes that are UTF-8 become a string, others {"base64":"..."}, null stays null; text columns, which are
/// UTF-8 by contract, go the same way, since a file may break it. Everything that a terminal takes for a command is
/// escaped, DEL and U+0080 to U+009F too, which JSON would allow. Names are the program's own. Not for reading.
class JsonObject {
 public:
  JsonObject& number(std::string_view name, std::int64_t value);
  JsonObject& number(std::string_view name, std::optional<std::int64_t> value);
  JsonObject& real(std::string_view name, std::optional<double> value);
  JsonObject& truth(std::string_view name, bool value);
  JsonObject& text(std::string_view name, std::string_view value);
  JsonObject& text_or_null(std::string_view name, const std::optional<std::string>& value);
  JsonObject& bytes(std::string_view name, BytesView value);
  /// A list of objects.
  JsonObject& list(std::string_view name, std::span<const JsonObject> values);
  JsonObject& texts(std::string_view name, std::span<const std::string> values);
  /// A list of words of the program's own.
  JsonObject& words(std::string_view name, std::span<const std::string_view> values);

  [[nodiscard]] std::string str() const { return "{" + members_ + "}"; }

 private:
  JsonObject& add(std::string_view name, const std::string& value);

  std::string members_;
};

}  // namespace txbox::relay
