#include "relay/config/kafka_settings.hpp"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include <txbox/base/error.hpp>

#include "support/temp_dir.hpp"

namespace txbox::relay {

namespace {

Setting given(const std::string& property, const std::string& value, const std::string& where = "relay.toml:3") {
  return {"kafka." + property, {value}, {Layer::file, where}};
}

std::string refusal(const Setting& setting) {
  try {
    static_cast<void>(kafka_settings({&setting, 1}));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::configuration);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a property that breaks a promise is refused with the reason and the place, wherever it came from") {
  for (const char* where : {"relay.toml:3", "OUTBOX_RELAY_KAFKA_ACKS", "-X"}) {
    const std::string told = refusal(given("acks", "1", where));
    CHECK(told.find(std::string(where) + ": kafka property acks: ") == 0);
    CHECK(told.find("in-sync replicas") != std::string::npos);
  }
  CHECK(refusal(given("linger.mss", "1")).find("did you mean linger.ms?") != std::string::npos);
  CHECK(refusal(given("linger.ms", "soon")).find("relay.toml:3: kafka property linger.ms") == 0);
  CHECK(refusal(given("linger.ms", "5")).empty());
}

TEST_CASE("a secret is refused by the name of its file key and never repeated, wherever it came from") {
  for (const char* where : {"relay.toml:3", "OUTBOX_RELAY_KAFKA_SASL_PASSWORD", "-X"}) {
    for (const char* secret : {"sasl.password", "ssl.key.password", "ssl.keystore.password"}) {
      const std::string told = refusal(given(secret, "hunter2", where));
      CHECK(told.find(std::string(where) + ": ") == 0);
      CHECK(told.find(std::string(secret) + "_file") != std::string::npos);
      CHECK(told.find("hunter2") == std::string::npos);
    }
  }
}

TEST_CASE("a secret is read from its file, without the line end that editors add") {
  const test::TempDir folder;
  const std::string path = folder.file("password");
  for (const char* content : {"hunter2", "hunter2\n", "hunter2\r\n"}) {
    std::ofstream(path) << content;
    const Setting setting = given("sasl.password_file", path);
    const KafkaSettings settings = kafka_settings({&setting, 1});
    REQUIRE(settings.properties.size() == 1);
    CHECK(settings.properties[0] == std::pair<std::string, std::string>("sasl.password", "hunter2"));
  }
}

TEST_CASE("a secret's file that everybody may read is a warning that names it") {
  const test::TempDir folder;
  const std::string path = folder.file("password");
  std::ofstream(path) << "hunter2\n";
  const Setting setting = given("sasl.password_file", path);
  std::filesystem::permissions(path, std::filesystem::perms{0640});
  CHECK(kafka_settings({&setting, 1}).warnings.empty());
  for (const unsigned mode : {0644U, 0602U}) {
    std::filesystem::permissions(path, std::filesystem::perms{mode});
    const KafkaSettings settings = kafka_settings({&setting, 1});
    REQUIRE(settings.warnings.size() == 1);
    CHECK(settings.warnings[0].find("relay.toml:3: sasl.password_file") == 0);
    CHECK(settings.warnings[0].find(path) != std::string::npos);
    CHECK(settings.warnings[0].find("hunter2") == std::string::npos);
  }
}

TEST_CASE("a secret's file that is missing, empty or far too large is refused, and its name is not repeated") {
  const test::TempDir folder;
  // Somebody may have written the secret itself where its file belongs.
  const std::string missing = refusal(given("sasl.password_file", "hunter2"));
  CHECK(missing.find("relay.toml:3: sasl.password_file: the file that it names cannot be read: No such file") == 0);
  CHECK(missing.find("hunter2") == std::string::npos);
  std::ofstream(folder.file("empty")) << "\n";
  CHECK(refusal(given("sasl.password_file", folder.file("empty"))).find("empty") != std::string::npos);
  std::ofstream(folder.file("large")) << std::string((64 << 10) + 1, 'x');
  CHECK(refusal(given("sasl.password_file", folder.file("large"))).find("larger than 64 KiB") != std::string::npos);
  CHECK(refusal(given("sasl.password_file", folder.file(""))).find("cannot be read") != std::string::npos);
}

TEST_CASE("a wrong name of a secret's file is answered with the right one") {
  CHECK(refusal(given("sasl.pasword_file", "x")).find("did you mean sasl.password_file?") != std::string::npos);
}

TEST_CASE("a property of a flag keeps every character after the first =, and a flag without NAME= is not repeated") {
  CHECK(property_of_flag("client.rack=a=b").name == "kafka.client.rack");
  CHECK(property_of_flag("client.rack=a=b").values.front() == "a=b");
  for (const char* flag : {"hunter2", "=hunter2"}) {
    try {
      static_cast<void>(property_of_flag(flag));
      FAIL("a flag without a name was accepted");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::configuration);
      CHECK(std::string(error.what()).find("hunter2") == std::string::npos);
    }
  }
}

}  // namespace txbox::relay
