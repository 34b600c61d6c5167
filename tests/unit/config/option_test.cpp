#include "relay/config/option.hpp"

#include <cctype>
#include <set>
#include <string>

#include <doctest/doctest.h>

namespace txbox::relay {

TEST_CASE("every option of the table has a name, a variable and a flag of its own, and a sentence") {
  std::set<std::string_view> names;
  for (const Option& option : options()) {
    CAPTURE(option.name);
    CHECK(names.insert(option.name).second);
    if (!option.flag.empty()) CHECK(names.insert(option.flag).second);
    CHECK(names.insert(option.variable).second);
    CHECK(option.variable.starts_with("OUTBOX_RELAY_"));
    // That begins the properties of librdkafka.
    CHECK_FALSE(option.variable.starts_with("OUTBOX_RELAY_KAFKA_"));
    REQUIRE_FALSE(option.help.empty());
    CHECK(std::isupper(static_cast<unsigned char>(option.help.front())) != 0);
    CHECK(option.help.back() != '.');
    CHECK(find_option(option.name) == &option);
  }
  CHECK(find_option("relay.no_such_option") == nullptr);
}

TEST_CASE("every default is a value that its option takes") {
  for (const Option& option : options()) {
    CAPTURE(option.name);
    if (!option.standard.empty()) CHECK(value_objection(option, std::string(option.standard)).empty());
    if (option.type == OptionType::truth) CHECK_FALSE(option.standard.empty());
  }
}

TEST_CASE("a value that does not fit is answered with what is expected, and not repeated") {
  const auto objection = [](std::string_view name, const std::string& value) {
    return value_objection(*find_option(name), value);
  };
  CHECK(objection("log.level", "verbose") == "debug, info, warning or error is wanted");
  CHECK(objection("log.level", "debug|info") == "debug, info, warning or error is wanted");
  CHECK(objection("log.level", "") == "debug, info, warning or error is wanted");
  CHECK(objection("timeout", "5").find("500ms, 30s") != std::string::npos);
  CHECK(objection("relay.window_bytes", "5MiB").empty());
  CHECK_FALSE(objection("relay.window_bytes", "5B").empty());
  CHECK(objection("relay.keep_sent", "forever").empty());
  CHECK(objection("relay.keep_sent", "0s").empty());
  CHECK(objection("relay.keep_sent", "never") == "forever, or a duration such as 30s, 5m, 2h or 7d is wanted");
  CHECK(objection("relay.standby", "perhaps") == "true or false is wanted");
  CHECK(objection("relay.id_header", "txbox-created-at").find("txbox-") != std::string::npos);
  CHECK_FALSE(objection("relay.id_header", "").empty());
}

}  // namespace txbox::relay
