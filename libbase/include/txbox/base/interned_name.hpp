#pragma once

#include <string>
#include <string_view>

namespace txbox {

/// A name that costs a pointer to copy and to compare, for what goes from hand to hand with every message. The texts
/// are kept for the life of the process, each once: for names that the application chooses, a topic's for example,
/// never for what comes out of messages. Any thread.
class InternedName {
 public:
  InternedName() : InternedName(std::string_view()) {}
  InternedName(std::string_view text) : text_(keep(text)) {}
  InternedName(const std::string& text) : InternedName(std::string_view(text)) {}
  InternedName(const char* text) : InternedName(std::string_view(text)) {}

  [[nodiscard]] const std::string& text() const noexcept { return *text_; }
  operator const std::string&() const noexcept { return *text_; }

  friend bool operator==(InternedName left, InternedName right) noexcept { return left.text_ == right.text_; }
  /// By the text, so that an order of places does not change from one process to the next.
  friend bool operator<(InternedName left, InternedName right) noexcept {
    return left.text_ != right.text_ && *left.text_ < *right.text_;
  }

 private:
  static const std::string* keep(std::string_view text);

  const std::string* text_;
};

}  // namespace txbox
