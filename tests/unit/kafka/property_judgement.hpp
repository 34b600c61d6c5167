#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <txbox/kafka/settings.hpp>

namespace txbox::test {

/// What breaks a promise: values that are refused, and some that may be said aloud.
struct Promise {
  std::vector<std::string> refused;
  std::vector<std::string> allowed;
};
using Promises = std::map<std::string, Promise>;
using Check = void (*)(const kafka::Properties& properties);

/// The reason why a property is refused; empty when it may pass.
[[nodiscard]] std::string refusal(Check check, const std::string& property, const std::string& value);
[[nodiscard]] bool contains(std::string_view text, std::string_view part);

void check_promises(Check check, const Promises& promises);
/// Each property that the linked librdkafka knows is a promise's, or is harmless (those of the list, and what is
/// harmless to every client), and a harmless one's default passes.
void check_that_all_are_judged(Check check, const Promises& promises,
                               const std::set<std::string, std::less<>>& harmless);

}  // namespace txbox::test
