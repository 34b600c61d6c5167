#include "relay/cli/kafka_properties.hpp"

#include <algorithm>
#include <fstream>

#include <doctest/doctest.h>

#include <txbox/base/error.hpp>

#include "support/temp_dir.hpp"

namespace txbox::relay {

namespace {

std::string refusal(const std::vector<std::string>& environment, const std::vector<std::string>& flags) {
  try {
    static_cast<void>(gather_properties(environment, flags, "b:9092"));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::configuration);
    return error.what();
  }
  return {};
}

std::string last_value(const kafka::Properties& properties, const std::string& name) {
  const auto found =
      std::find_if(properties.rbegin(), properties.rend(), [&](const auto& entry) { return entry.first == name; });
  return found == properties.rend() ? "(none)" : found->second;
}

}  // namespace

TEST_CASE("flags win over the environment, and a property keeps every character after the first =") {
  const auto properties =
      gather_properties({"PATH=/bin", "OUTBOX_RELAY_KAFKA_LINGER_MS=5", "OUTBOX_RELAY_KAFKA_CLIENT_ID=env"},
                        {"linger.ms=1", "client.rack=a=b"}, "b:9092");
  CHECK(last_value(properties, "linger.ms") == "1");
  CHECK(last_value(properties, "client.id") == "env");
  CHECK(last_value(properties, "client.rack") == "a=b");
  CHECK(last_value(properties, "bootstrap.servers") == "b:9092");
}

TEST_CASE("a start without brokers is refused, whichever way they may be given") {
  CHECK_THROWS_AS(static_cast<void>(gather_properties({}, {}, "")), Error);
  CHECK_NOTHROW(static_cast<void>(gather_properties({}, {"bootstrap.servers=b:1"}, "")));
  CHECK_NOTHROW(static_cast<void>(gather_properties({"OUTBOX_RELAY_KAFKA_BOOTSTRAP_SERVERS=b:1"}, {}, "")));
}

TEST_CASE("a secret in a flag or in the environment is refused by the name of its file key and never repeated") {
  const std::string of_flag = refusal({}, {"sasl.password=hunter2"});
  CHECK(of_flag.find("sasl.password_file") != std::string::npos);
  CHECK(of_flag.find("hunter2") == std::string::npos);
  const std::string of_variable = refusal({"OUTBOX_RELAY_KAFKA_SSL_KEY_PASSWORD=hunter2"}, {});
  CHECK(of_variable.find("ssl.key.password_file") != std::string::npos);
  CHECK(of_variable.find("hunter2") == std::string::npos);
}

TEST_CASE("a secret is read from its file, without the line end that editors add") {
  const test::TempDir folder;
  const std::string path = folder.file("password");
  std::ofstream(path) << "hunter2\n";
  CHECK(last_value(gather_properties({}, {"sasl.password_file=" + path}, "b:1"), "sasl.password") == "hunter2");
  CHECK(last_value(gather_properties({"OUTBOX_RELAY_KAFKA_SASL_PASSWORD_FILE=" + path}, {}, "b:1"), "sasl.password") ==
        "hunter2");
  CHECK(refusal({}, {"sasl.password_file=" + folder.file("missing")}).find("sasl.password_file") != std::string::npos);
}

TEST_CASE("a flag without NAME=VALUE is refused and not repeated") {
  for (const char* flag : {"hunter2", "=hunter2"}) {
    const std::string text = refusal({}, {flag});
    CHECK(!text.empty());
    CHECK(text.find("hunter2") == std::string::npos);
  }
}

TEST_CASE("a variable that no option has is refused, naming the nearest") {
  const std::vector<std::string> known{"OUTBOX_RELAY_DB", "OUTBOX_RELAY_BROKERS"};
  CHECK_NOTHROW(check_environment({"HOME=/", "OUTBOX_RELAY_DB=a", "OUTBOX_RELAY_KAFKA_ACKS=all"}, known));
  try {
    check_environment({"OUTBOX_RELAY_BROKER=b:1"}, known);
    FAIL("a typo was accepted");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("OUTBOX_RELAY_BROKERS?") != std::string::npos);
  }
}

}  // namespace txbox::relay
