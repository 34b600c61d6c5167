#include "libinbox/src/consumer/dead_letter.hpp"

#include <algorithm>

namespace txbox::inbox::consumer {

namespace {
bool of_a_dead_letter(const Header& header) noexcept {
  return std::string_view(header.name).starts_with(kDeadLetterPrefix);
}
}  // namespace

Headers dead_letter_headers(const Message& message, const DeadLetterFacts& facts) {
  Headers headers;
  for (const Header& header : message.headers) {
    if (!of_a_dead_letter(header)) headers.add(header.name, header.value);
  }
  const auto add = [&headers](std::string_view name, Bytes value) {
    headers.add(std::string(kDeadLetterPrefix).append(name), std::move(value));
  };
  add("topic", message.topic);
  add("partition", std::to_string(message.partition));
  add("offset", std::to_string(message.offset));
  add("message", facts.reason);
  add("attempts", std::to_string(facts.attempts));
  add("group", facts.group);
  add("time", std::to_string(facts.now_ms));
  return headers;
}

bool was_dead_letter(const Headers& headers) noexcept {
  return std::any_of(headers.begin(), headers.end(), of_a_dead_letter);
}

}  // namespace txbox::inbox::consumer
