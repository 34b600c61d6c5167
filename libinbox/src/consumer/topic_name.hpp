#pragma once

#include <string>
#include <string_view>

namespace txbox::inbox::consumer {

/// A topic's name that costs a pointer to copy and to compare: every message carries its place from hand to hand
/// several times. The texts are kept for the life of the process, each once; there are as many as topics were ever
/// subscribed to. Any thread.
class TopicName {
 public:
  TopicName() : TopicName(std::string_view()) {}
  TopicName(std::string_view text) : text_(keep(text)) {}
  TopicName(const std::string& text) : TopicName(std::string_view(text)) {}
  TopicName(const char* text) : TopicName(std::string_view(text)) {}

  [[nodiscard]] const std::string& text() const noexcept { return *text_; }
  operator const std::string&() const noexcept { return *text_; }

  friend bool operator==(TopicName left, TopicName right) noexcept { return left.text_ == right.text_; }
  /// By the text, so that an order of places does not change from one process to the next.
  friend bool operator<(TopicName left, TopicName right) noexcept {
    return left.text_ != right.text_ && *left.text_ < *right.text_;
  }

 private:
  static const std::string* keep(std::string_view text);

  const std::string* text_;
};

}  // namespace txbox::inbox::consumer
