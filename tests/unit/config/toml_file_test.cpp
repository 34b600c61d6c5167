#include "relay/config/toml_file.hpp"

#include <algorithm>
#include <fstream>

#include <doctest/doctest.h>

#include <txbox/base/error.hpp>

#include "support/temp_dir.hpp"

namespace txbox::relay {

namespace {

std::string refusal(std::string_view text) {
  try {
    static_cast<void>(read_toml(text, "relay.toml"));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::configuration);
    return error.what();
  }
  return {};
}

const Setting& setting(const Settings& settings, std::string_view name) {
  const auto found = std::find_if(settings.begin(), settings.end(), [name](const auto& s) { return s.name == name; });
  REQUIRE(found != settings.end());
  return *found;
}

}  // namespace

TEST_CASE("a file's settings know their lines, and dots may nest or be quoted") {
  const Settings settings = read_toml(R"(db = ["a.db", "b/*.db"]
[kafka]
bootstrap.servers = "k1:9092,k2:9092"
"security.protocol" = "sasl_ssl"
linger.ms = 5
socket.keepalive.enable = true
sasl.mechanisms = ["PLAIN", "GSSAPI"]
[relay]
standby = true
window_bytes = "64MiB"
)",
                                      "relay.toml");
  CHECK(setting(settings, "db").values == std::vector<std::string>{"a.db", "b/*.db"});
  CHECK(setting(settings, "db").source.where == "relay.toml:1");
  CHECK(setting(settings, "db").source.layer == Layer::file);
  CHECK(setting(settings, "kafka.bootstrap.servers").values.front() == "k1:9092,k2:9092");
  CHECK(setting(settings, "kafka.bootstrap.servers").source.where == "relay.toml:3");
  CHECK(setting(settings, "kafka.security.protocol").values.front() == "sasl_ssl");
  CHECK(setting(settings, "kafka.linger.ms").values.front() == "5");
  CHECK(setting(settings, "kafka.socket.keepalive.enable").values.front() == "true");
  CHECK(setting(settings, "kafka.sasl.mechanisms").values.front() == "PLAIN,GSSAPI");
  CHECK(setting(settings, "relay.standby").values.front() == "true");
  CHECK(setting(settings, "relay.window_bytes").source.where == "relay.toml:10");
  CHECK(settings.size() == 8);
}

TEST_CASE("an unknown key is refused with its file, its line and the key that was meant") {
  CHECK(refusal("db = \"a\"\n[relay]\nstand_by = true\n") ==
        "relay.toml:3: relay.stand_by is no option; did you mean relay.standby?");
  CHECK(refusal("[log]\nlevle = \"info\"\n").find("relay.toml:2: log.levle is no option; did you mean log.level?") ==
        0);
  // In no section, in the wrong one, in one that does not exist, and an empty one that does not exist.
  CHECK(refusal("standby = true\n").find("did you mean relay.standby?") != std::string::npos);
  CHECK(refusal("[kafka]\nlinger.ms=1\n[log]\nid_header = \"x\"\n").find("did you mean relay.id_header?") !=
        std::string::npos);
  CHECK(refusal("\n\n[relais]\nstandby = true\n").find("relay.toml:4: relais.standby") == 0);
  CHECK(refusal("\n[zzz]\n").find("relay.toml:2: zzz is no option") == 0);
  // What belongs to one start is in no file.
  CHECK(refusal("drain = true\n").find("drain is no option") != std::string::npos);
  CHECK(refusal("config = \"other.toml\"\n").find("config is no option") != std::string::npos);
  CHECK(refusal("relay = 5\n").find("relay is a section") != std::string::npos);
  CHECK(refusal("[[kafka]]\nlinger.ms=1\n").find("kafka is a section") != std::string::npos);
}

TEST_CASE("the first fault by line is the one that is told") {
  CHECK(refusal("[relay]\nzz = 1\naa = 1\n").find("relay.toml:2:") == 0);
}

TEST_CASE("a value of the wrong type is refused with its line and what is wanted, and never repeated") {
  CHECK(refusal("[relay]\nstandby = \"true\"\n") == "relay.toml:2: relay.standby: true or false is wanted");
  CHECK(refusal("[relay]\n\nid_header = 5\n") == "relay.toml:3: relay.id_header: a text is wanted");
  CHECK(refusal("[relay]\nwindow_bytes = 64000000\n").find("a size such as 64KiB") != std::string::npos);
  CHECK(refusal("[log]\nlevel = \"hunter2\"\n") == "relay.toml:2: log.level: debug, info, warning or error is wanted");
  CHECK(refusal("db = [1]\n") == "relay.toml:1: db: a text, or a list of them is wanted");
  CHECK(refusal("db = [\"\"]\n").find("relay.toml:1: db:") == 0);
  CHECK(refusal("[kafka]\nlinger.ms = 0.5\n").find("relay.toml:2: kafka.linger.ms: a text, a whole number") == 0);
  CHECK(refusal("[kafka]\nlinger.ms = [1]\n").find("relay.toml:2: kafka.linger.ms:") == 0);
  CHECK(refusal("[kafka]\nlinger.ms = []\n").find("relay.toml:2: kafka.linger.ms:") == 0);
  CHECK(refusal("[kafka]\nlinger.ms = 1979-05-27\n").find("relay.toml:2: kafka.linger.ms:") == 0);
}

TEST_CASE("what is not TOML is refused with its line, and no value is repeated") {
  for (const char* text : {"[kafka]\nsasl.password = hunter2\n", "[kafka]\nsasl.password = \"hunter2\n",
                           "[kafka]\nsasl.password \"hunter2\"\n", "[kafka\nlinger.ms = 1\n",
                           "[kafka]\nlinger.ms = 1\nlinger.ms = 2\n", "db = \"\xff\"\n"}) {
    CAPTURE(text);
    const std::string told = refusal(text);
    CHECK(told.find("relay.toml:") == 0);
    CHECK(told.find("hunter") == std::string::npos);
  }
}

TEST_CASE("a file that cannot be read, or is none, is refused by its name") {
  const test::TempDir folder;
  const auto told = [](const std::string& path) -> std::string {
    try {
      static_cast<void>(read_toml_file(path));
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::configuration);
      return error.what();
    }
    return {};
  };
  CHECK(told(folder.file("missing.toml")).find("missing.toml: cannot be read: No such file") != std::string::npos);
  CHECK(told(folder.file("")).find("cannot be read: Is a directory") != std::string::npos);
  std::ofstream(folder.file("large.toml")) << std::string((1 << 20) + 1, '#');
  CHECK(told(folder.file("large.toml")).find("larger than 1 MiB") != std::string::npos);
  std::ofstream(folder.file("empty.toml")).close();
  CHECK(read_toml_file(folder.file("empty.toml")).empty());
}

}  // namespace txbox::relay
