#include <optional>
#include <set>

#include <txbox/base/base64.hpp>
#include <txbox/base/error.hpp>
#include <txbox/base/utf8.hpp>
#include <txbox/store/headers_json.hpp>

// Written by hand rather than with a JSON library because it must read exactly what the guard in the table accepts
// (bytes that are not UTF-8 pass through, repeated names stay, escapes as SQLite reads them), and because
// the shape is three levels deep: nothing recurses, whatever the text.

namespace txbox::store {

namespace {

[[noreturn]] void refuse(const char* why) {
  throw Error(ErrorCode::invalid_argument,
              std::string("headers are not what the outbox takes: ") + why +
                  R"(; write {"name":"value","other":null} or [["name","value"],["name",{"base64":"AAE="}]])");
}

int hex_digit(char letter) noexcept {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0U | (code >> 6U));
    put(0x80U | (code & 0x3fU));
  } else if (code < 0x10000) {
    put(0xe0U | (code >> 12U));
    put(0x80U | ((code >> 6U) & 0x3fU));
    put(0x80U | (code & 0x3fU));
  } else {
    put(0xf0U | (code >> 18U));
    put(0x80U | ((code >> 12U) & 0x3fU));
    put(0x80U | ((code >> 6U) & 0x3fU));
    put(0x80U | (code & 0x3fU));
  }
}

class Reader {
 public:
  Reader(std::string_view text, bool any_name) noexcept : text_(text), any_name_(any_name) {}

  Headers headers() {
    Headers result;
    if (take('{')) {
      for_each('}', [&] { member(result); });
    } else {
      expect('[', "it begins with neither { nor [");
      for_each(']', [&] { pair(result); });
    }
    skip_space();
    if (at_ != text_.size()) refuse("something follows its end");
    return result;
  }

 private:
  void skip_space() noexcept {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) ++at_;
  }

  /// Takes the letter where it comes next, after white space.
  bool take(char letter) noexcept {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != letter) return false;
    ++at_;
    return true;
  }

  void expect(char letter, const char* otherwise) {
    if (!take(letter)) refuse(otherwise);
  }

  template <typename Each>
  void for_each(char end, const Each& each) {
    if (take(end)) return;
    do {
      each();
    } while (take(','));
    expect(end, "a comma or a closing bracket is missing");
  }

  void member(Headers& result) {
    std::string name = string("a name is not a string");
    expect(':', "a colon is missing");
    Bytes value = null() ? Bytes() : Bytes(string("a value is neither a string nor null"));
    result.add(std::move(name), std::move(value));
  }

  void pair(Headers& result) {
    expect('[', "a pair is not an array");
    std::string name = pair_name();
    expect(',', "a pair has no value");
    Bytes value = pair_value();
    expect(']', "a pair has more than a name and a value");
    result.add(std::move(name), std::move(value));
  }

  std::string pair_name() {
    if (any_name_ && take('{')) return bytes();
    return string("a name is not a string");
  }

  Bytes pair_value() {
    if (null()) return {};
    if (take('{')) return bytes();
    return string("a value is neither a string nor null nor {\"base64\":\"...\"}");
  }

  /// Of {"base64":"..."}, behind its first brace.
  std::string bytes() {
    if (string("a value is no {\"base64\":\"...\"}") != "base64") refuse("a value is no {\"base64\":\"...\"}");
    expect(':', "a colon is missing");
    auto decoded = base::base64_decode(string("base64 is not a string"));
    if (!decoded) refuse("a value is not base64 as RFC 4648 writes it, padded");
    expect('}', "a value is no {\"base64\":\"...\"}");
    return std::move(*decoded);
  }

  bool null() noexcept {
    skip_space();
    if (text_.substr(at_, 4) != "null") return false;
    at_ += 4;
    return true;
  }

  std::string string(const char* otherwise) {
    expect('"', otherwise);
    std::string value;
    while (true) {
      if (at_ >= text_.size()) refuse("a string has no end");
      const char letter = text_[at_++];
      if (letter == '"') return value;
      if (static_cast<unsigned char>(letter) < 0x20) refuse("a string has a raw control character");
      if (letter == '\\') {
        escape(value);
      } else {
        value += letter;
      }
    }
  }

  void escape(std::string& value) {
    const char letter = at_ < text_.size() ? text_[at_++] : '\0';
    switch (letter) {
      case '"':
      case '\\':
      case '/': value += letter; return;
      case 'b': value += '\b'; return;
      case 'f': value += '\f'; return;
      case 'n': value += '\n'; return;
      case 'r': value += '\r'; return;
      case 't': value += '\t'; return;
      case 'u': append_utf8(value, code_point()); return;
      default: refuse("a string has an unknown escape");
    }
  }

  /// After \u. A surrogate without its partner stands for nothing and becomes U+FFFD.
  std::uint32_t code_point() {
    static constexpr std::uint32_t kReplacement = 0xfffd;
    const std::uint32_t high = unit();
    if (high < 0xd800 || high > 0xdfff) return high;
    if (high > 0xdbff || text_.substr(at_, 2) != "\\u") return kReplacement;
    const std::size_t before = at_;
    at_ += 2;
    const std::uint32_t low = unit();
    if (low < 0xdc00 || low > 0xdfff) {
      at_ = before;
      return kReplacement;
    }
    return 0x10000 + ((high - 0xd800) << 10U) + (low - 0xdc00);
  }

  std::uint32_t unit() {
    std::uint32_t value = 0;
    for (int digit = 0; digit < 4; ++digit) {
      const int number = at_ < text_.size() ? hex_digit(text_[at_++]) : -1;
      if (number < 0) refuse("a string has an unknown escape");
      value = value * 16 + static_cast<std::uint32_t>(number);
    }
    return value;
  }

  std::string_view text_;
  bool any_name_;  ///< A name may be {"base64":"..."}.
  std::size_t at_ = 0;
};

void append_string(std::string& out, std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += '"';
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') out += '\\';
    if (byte < 0x20) {
      out += "\\u00";
      out += kDigits[byte >> 4U];
      out += kDigits[byte & 15U];
    } else {
      out += letter;
    }
  }
  out += '"';
}

/// JSON text cannot carry other bytes; a NUL would end the string for whoever reads it with SQL.
bool needs_base64(BytesView value) {
  return !value.is_null() && (!base::is_utf8(value.view()) || value.view().find('\0') != std::string_view::npos);
}

void require_name(std::string_view name, bool as_is) {
  const auto invalid = [](const std::string& text) { throw Error(ErrorCode::invalid_argument, text); };
  if (!base::is_utf8(name) || name.find('\0') != std::string_view::npos)
    invalid("a header's name must be UTF-8 without NUL");
  if (!as_is && (name == "id" || name.substr(0, 6) == "txbox-")) {
    invalid("txbox: header names id and txbox-* are reserved: choose another name (the event id has its own field)");
  }
}

void append_value(std::string& out, BytesView value) {
  if (value.is_null()) {
    out += "null";
  } else if (needs_base64(value)) {
    out += R"({"base64":")" + base::base64_encode(value.view()) + R"("})";
  } else {
    append_string(out, value.view());
  }
}

}  // namespace

std::string headers_to_json(const Headers& headers, bool as_is) {
  std::set<std::string_view> names;
  bool plain = true;
  for (const Header& header : headers) {
    require_name(header.name, as_is);
    plain = plain && names.insert(header.name).second && !needs_base64(header.value);
  }
  std::string out(1, plain ? '{' : '[');
  for (const Header& header : headers) {
    if (out.size() > 1) out += ',';
    if (!plain) out += '[';
    append_string(out, header.name);
    out += plain ? ':' : ',';
    append_value(out, header.value);
    if (!plain) out += ']';
  }
  out += plain ? '}' : ']';
  return out;
}

std::string foreign_headers_to_json(const Headers& headers) {
  std::string out(1, '[');
  for (const Header& header : headers) {
    out += out.size() > 1 ? ",[" : "[";
    append_value(out, BytesView(std::string_view(header.name)));
    out += ',';
    append_value(out, header.value);
    out += ']';
  }
  out += ']';
  return out;
}

Headers headers_from_json(std::string_view json) { return Reader(json, false).headers(); }

Headers foreign_headers_from_json(std::string_view json) { return Reader(json, true).headers(); }

}  // namespace txbox::store
