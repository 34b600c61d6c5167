#include "relay/cli/config_output.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace txbox::relay {

namespace {

std::vector<EffectiveSetting> some_settings() {
  return {{"db", {"a.db", "\x1b[31m\".db"}, false, {Layer::flag, "--db"}, {}},
          {"relay.standby", {"true"}, false, {Layer::environment, "OUTBOX_RELAY_STANDBY"}, {"relay.toml:3"}},
          {"timeout", {}, false, {Layer::standard, "default"}, {}},
          {"kafka.sasl.password", {}, true, {Layer::file, "relay.toml:4, from the file secret"}, {"-X", "A"}}};
}

}  // namespace

TEST_CASE("settings are shown with where they came from, and no value can drive a terminal") {
  const std::string text = settings_as_text(some_settings());
  CHECK(text.find(R"(db = ["a.db", "\x1b[31m\".db"])") != std::string::npos);
  CHECK(text.find("# --db\n") != std::string::npos);
  CHECK(text.find("relay.standby = true") != std::string::npos);
  CHECK(text.find("# OUTBOX_RELAY_STANDBY, before relay.toml:3\n") != std::string::npos);
  CHECK(text.find("timeout = (not set)") != std::string::npos);
  CHECK(text.find("kafka.sasl.password = ********") != std::string::npos);
  CHECK(text.find("# relay.toml:4, from the file secret, before -X, A\n") != std::string::npos);
}

TEST_CASE("as JSON they have the same, for programs") {
  const auto json = nlohmann::json::parse(settings_as_json(some_settings()));
  const auto& list = json.at("options");
  REQUIRE(list.size() == 4);
  CHECK(list[0].at("values").size() == 2);
  CHECK(list[1].at("source") == "environment");
  CHECK(list[1].at("overrides") == nlohmann::json::array({"relay.toml:3"}));
  CHECK(list[3].at("secret") == true);
  CHECK(list[3].at("values").empty());
}

}  // namespace txbox::relay
