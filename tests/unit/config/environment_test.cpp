#include "relay/config/environment.hpp"

#include <map>
#include <set>

#include <doctest/doctest.h>

#include <txbox/base/error.hpp>
#include <txbox/kafka/settings.hpp>

#include "relay/config/kafka_settings.hpp"

namespace txbox::relay {

namespace {

std::string refusal(const std::vector<std::string>& environment) {
  try {
    static_cast<void>(from_environment(environment));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::configuration);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a variable is its option, and what is not ours is left alone") {
  const Settings settings = from_environment(
      {"PATH=/bin", "OUTBOX_RELAY_LOG_LEVEL=debug", "OUTBOX_RELAY_DB=a=b.db", "OUTBOX_RELAY_STANDBY=", "HOME"});
  REQUIRE(settings.size() == 2);
  CHECK(settings[0].name == "db");
  CHECK(settings[0].values == std::vector<std::string>{"a=b.db"});
  CHECK(settings[0].source.where == "OUTBOX_RELAY_DB");
  CHECK(settings[1].name == "log.level");
}

TEST_CASE("a variable that no option has is refused, naming the nearest, even with no value") {
  CHECK(refusal({"OUTBOX_RELAY_BROKER=b:1"}).find("OUTBOX_RELAY_BROKERS?") != std::string::npos);
  CHECK(refusal({"OUTBOX_RELAY_LOG_LEVLE="}).find("OUTBOX_RELAY_LOG_LEVEL?") != std::string::npos);
}

TEST_CASE("a value that does not fit is refused by its variable, and never repeated") {
  CHECK(refusal({"OUTBOX_RELAY_LOG_LEVEL=hunter2"}) ==
        "OUTBOX_RELAY_LOG_LEVEL: debug, info, warning or error is wanted");
  CHECK(refusal({"OUTBOX_RELAY_DRAIN=maybe"}) == "OUTBOX_RELAY_DRAIN: true or false is wanted");
}

TEST_CASE("underscores of a variable become what the property of that name has") {
  CHECK(property_of_variable("OUTBOX_RELAY_KAFKA_LINGER_MS") == "linger.ms");
  CHECK(property_of_variable("OUTBOX_RELAY_KAFKA_LOG_LEVEL") == "log_level");
  CHECK(property_of_variable("OUTBOX_RELAY_KAFKA_ENABLED_EVENTS") == "enabled_events");
  CHECK(property_of_variable("OUTBOX_RELAY_KAFKA_SSL_CERTIFICATE_VERIFY_CB") == "ssl.certificate.verify_cb");
  CHECK(property_of_variable("OUTBOX_RELAY_KAFKA_SASL_PASSWORD_FILE") == "sasl.password_file");
  CHECK(property_of_variable("OUTBOX_RELAY_KAFKA_NO_SUCH_PROPERTY") == "no.such.property");
}

TEST_CASE("every property and every secret's file has a variable that means it alone") {
  const auto shell = [](std::string name) {
    for (char& c : name) c = c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return name;
  };
  std::vector<std::string> names = kafka::property_names();
  const std::vector<std::string> files = secret_file_names();
  CHECK(files.size() >= 3);
  names.insert(names.end(), files.begin(), files.end());
  std::map<std::string, std::set<std::string>> by_variable;
  for (const std::string& name : names) by_variable[shell(name)].insert(name);
  for (const auto& [variable, meant] : by_variable) {
    CAPTURE(variable);
    CHECK(meant.size() == 1);
    CHECK(property_of_variable("OUTBOX_RELAY_KAFKA_" + variable) == *meant.begin());
  }
}

TEST_CASE("of two variables for one thing the relay's own wins, whatever their order") {
  for (const bool reversed : {false, true}) {
    std::vector<std::string> environment{"OUTBOX_RELAY_BROKERS=ours:1",
                                         "OUTBOX_RELAY_KAFKA_BOOTSTRAP_SERVERS=theirs:1"};
    if (reversed) std::swap(environment[0], environment[1]);
    const Settings settings = from_environment(environment);
    REQUIRE(settings.size() == 2);
    CHECK(settings.back().source.where == "OUTBOX_RELAY_BROKERS");
  }
}

}  // namespace txbox::relay
