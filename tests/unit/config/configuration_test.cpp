#include "relay/config/configuration.hpp"

#include <algorithm>
#include <fstream>

#include <doctest/doctest.h>

#include <txbox/base/error.hpp>

#include "relay/config/kafka_settings.hpp"
#include "relay/config/option.hpp"
#include "support/temp_dir.hpp"

namespace txbox::relay {

namespace {

struct File {
  explicit File(const std::string& text) : path(folder.file("relay.toml")) { std::ofstream(path) << text; }
  test::TempDir folder;
  std::string path;
};

Setting flag(const std::string& name, const std::string& value) { return {name, {value}, {Layer::flag, "--flag"}}; }

std::string last_value(const kafka::Properties& properties, const std::string& name) {
  const auto found =
      std::find_if(properties.rbegin(), properties.rend(), [&](const auto& entry) { return entry.first == name; });
  return found == properties.rend() ? "(none)" : found->second;
}

EffectiveSetting told(const Configuration& configuration, const std::string& name) {
  const auto all = configuration.effective();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& setting) { return setting.name == name; });
  REQUIRE(found != all.end());
  return *found;
}

std::string refusal(const Configuration& configuration) {
  try {
    require_runnable(configuration);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::configuration);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("flags win over the environment, that over the file, that over the defaults") {
  const File file(
      "[log]\nlevel = \"debug\"\n[relay]\nid_header = \"file\"\n[kafka]\nlinger.ms = 1\nclient.id = \"f\"\n");
  const std::vector<std::string> environment{"OUTBOX_RELAY_LOG_LEVEL=warning", "OUTBOX_RELAY_KAFKA_LINGER_MS=2"};
  const Configuration nothing({}, {});
  CHECK(nothing.text("log.level") == "info");
  CHECK(nothing.file().empty());
  const Configuration with_file({flag("config", file.path)}, {});
  CHECK(with_file.text("log.level") == "debug");
  CHECK(last_value(with_file.kafka(), "linger.ms") == "1");
  const Configuration with_environment({flag("config", file.path)}, environment);
  CHECK(with_environment.text("log.level") == "warning");
  CHECK(with_environment.text("relay.id_header") == "file");
  CHECK(last_value(with_environment.kafka(), "linger.ms") == "2");
  const Configuration with_flags(
      {flag("config", file.path), property_of_flag("linger.ms=3"), flag("log.level", "error")}, environment);
  CHECK(with_flags.text("log.level") == "error");
  CHECK(last_value(with_flags.kafka(), "linger.ms") == "3");
  CHECK(last_value(with_flags.kafka(), "client.id") == "f");
}

TEST_CASE("the file is named by a flag before the variable") {
  const File named("[log]\nlevel = \"debug\"\n");
  const std::vector<std::string> environment{"OUTBOX_RELAY_CONFIG=/nowhere/relay.toml"};
  CHECK(Configuration({flag("config", named.path)}, environment).text("log.level") == "debug");
  CHECK(Configuration({}, {"OUTBOX_RELAY_CONFIG=" + named.path}).file() == named.path);
  CHECK_THROWS_AS(Configuration({}, environment), Error);
}

TEST_CASE("values have their types") {
  const File file("db = [\"a.db\", \"b.db\"]\n[relay]\nstandby = true\nwindow_bytes = \"2MiB\"\n");
  const Configuration configuration({flag("config", file.path), flag("timeout", "5m")}, {});
  CHECK(configuration.list("db") == std::vector<std::string>{"a.db", "b.db"});
  CHECK(configuration.truth("relay.standby"));
  CHECK_FALSE(configuration.truth("drain"));
  CHECK(configuration.size("relay.window_bytes") == 2 << 20);
  CHECK(configuration.duration("timeout") == std::chrono::minutes(5));
  CHECK_FALSE(Configuration({}, {}).duration("timeout").has_value());
  // A list is one value: a stronger one takes its place whole.
  CHECK(Configuration({flag("config", file.path), flag("db", "c.db")}, {}).list("db") ==
        std::vector<std::string>{"c.db"});
}

TEST_CASE("each value is told with where it came from and what it is stronger than") {
  const File file("[log]\nlevel = \"debug\"\n[kafka]\nqueue.buffering.max.ms = 1\n");
  const Configuration configuration({flag("config", file.path), property_of_flag("linger.ms=3")},
                                    {"OUTBOX_RELAY_LOG_LEVEL=warning"});
  const EffectiveSetting level = told(configuration, "log.level");
  CHECK(level.values.front() == "warning");
  CHECK(level.source.where == "OUTBOX_RELAY_LOG_LEVEL");
  CHECK(level.overridden == std::vector<std::string>{file.path + ":2"});
  CHECK(told(configuration, "relay.standby").source.where == "default");
  CHECK(told(configuration, "db").values.empty());
  // Another name of one property is that property.
  const EffectiveSetting linger = told(configuration, "kafka.linger.ms");
  CHECK(linger.values.front() == "3");
  CHECK(linger.source.where == "-X");
  CHECK(linger.overridden == std::vector<std::string>{file.path + ":4"});
  // What the relay sets by itself is told too.
  CHECK(told(configuration, "kafka.enable.idempotence").source.layer == Layer::standard);
  const auto all = configuration.effective();
  const auto is_linger = [](const EffectiveSetting& setting) {
    return setting.name == "kafka.linger.ms" || setting.name == "kafka.queue.buffering.max.ms";
  };
  CHECK(std::count_if(all.begin(), all.end(), is_linger) == 1);
}

TEST_CASE("a secret is told without its value") {
  const test::TempDir folder;
  std::ofstream(folder.file("secret")) << "hunter2\n";
  const Configuration configuration({property_of_flag("sasl.password_file=" + folder.file("secret"))}, {});
  CHECK(last_value(configuration.kafka(), "sasl.password") == "hunter2");
  const EffectiveSetting secret = told(configuration, "kafka.sasl.password");
  CHECK(secret.secret);
  CHECK(secret.values.empty());
  CHECK(secret.source.where == "-X, from the file " + folder.file("secret"));
  for (const EffectiveSetting& setting : configuration.effective()) {
    for (const std::string& value : setting.values) CHECK(value.find("hunter2") == std::string::npos);
  }
}

TEST_CASE("a start needs a database and brokers, whichever way they are named") {
  CHECK(refusal(Configuration({}, {})).find("no database") != std::string::npos);
  CHECK(refusal(Configuration({flag("db", "a.db")}, {})).find("no Kafka") != std::string::npos);
  for (const char* name : {"bootstrap.servers", "metadata.broker.list"}) {
    CHECK(refusal(Configuration({flag("db", "a.db"), property_of_flag(std::string(name) + "=b:1")}, {})).empty());
  }
  const std::vector<std::string> both{"OUTBOX_RELAY_DB=a.db", "OUTBOX_RELAY_BROKERS=b:1"};
  CHECK(refusal(Configuration({}, both)).empty());
  CHECK(refusal(Configuration({}, {"OUTBOX_RELAY_DB=a.db", "OUTBOX_RELAY_KAFKA_BOOTSTRAP_SERVERS=b:1"})).empty());
  CHECK(refusal(Configuration({flag("timeout", "5s")}, both)).find("--drain") != std::string::npos);
  const File file("db = \"a.db\"\n[kafka]\nbootstrap.servers = \"b:1\"\n");
  CHECK(refusal(Configuration({flag("config", file.path)}, {})).empty());
}

TEST_CASE("what a reload cannot change is named, and what it can is not") {
  const Configuration before({flag("db", "a.db")}, {});
  CHECK(changes_for_next_start(before, before).empty());
  CHECK(changes_for_next_start(before, Configuration({flag("db", "b.db"), flag("log.level", "debug")}, {})) ==
        std::vector<std::string>{"db"});
}

}  // namespace txbox::relay
