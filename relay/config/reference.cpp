#include "relay/config/reference.hpp"

#include <string_view>

#include <txbox/kafka/settings.hpp>

#include "relay/config/option.hpp"
#include "relay/config/setting.hpp"

namespace txbox::relay {

namespace {

constexpr std::string_view kIntroduction = R"(# Configuration of `outbox-relay run`

This page is written by the program's own table of options:
`build/bin/configuration_reference > docs/configuration.md`.

A value comes from a flag, else from the environment (`OUTBOX_RELAY_...`), else from the file that `--config` or
`OUTBOX_RELAY_CONFIG` names (TOML), else it is the default. An empty variable counts as none. A list is taken whole
from the strongest place that has it. What is wrong stops the start with exit code 78 (2 where a flag
or its word is not known; a Kafka property that `-X` gives wrong is 78 as anywhere), and the text says where it stands.

- `outbox-relay config init > relay.toml` writes a file to begin with.
- `outbox-relay config check --config relay.toml` says what is wrong with it, without starting anything.
- `outbox-relay config show --config relay.toml` prints every value with where it came from; secrets are masked. Give it
  the flags and the environment of the relay. `--json` is for programs.

```toml
)";

constexpr std::string_view kOptionsHead = R"(```

Paths are as the relay's working directory sees them.

## Options

"Reload": a changed value takes effect with SIGHUP; others at the next start.

| key in the file | flag | variable | value | default | reload | what it is |
|---|---|---|---|---|---|---|
)";

constexpr std::string_view kKafkaText = R"(
`drain`, `timeout` and `config` are about one start, so a file does not have them.

Durations are a whole number and a unit: `500ms`, `30s`, `5m`, `2h`, `7d`. Sizes too: `512B`, `64KiB`, `16MiB`,
`1GiB` (powers of 1024), `64kB`, `16MB`, `1GB` (of 1000). In a variable or a flag, true may be written `1`, `yes` or
`on`.

## Properties of librdkafka

Every [property of librdkafka](https://github.com/confluentinc/librdkafka/blob/v2.0.2/CONFIGURATION.md) that a
producer has passes through: in `[kafka]` of the file under its own name, as the flag `-X NAME=VALUE`, and as the
variable `OUTBOX_RELAY_KAFKA_` with the name in capitals and underscores (`OUTBOX_RELAY_KAFKA_LINGER_MS` is
`linger.ms`; which underscores are dots is looked up). In the file, texts, whole numbers, `true` and `false` are
taken, and a list of texts becomes one with commas. `max.in.flight` beside `max.in.flight.requests.per.connection`
must be quoted, as TOML has it; they are one property.

### Secrets

`sasl.password`, `ssl.key.password` and whatever else is a secret is refused as such, in flags, in the environment
and in the configuration file, since others may read those. A file of its own holds it, and `NAME_file` names that
file:

```toml
[kafka]
security.protocol = "sasl_ssl"
sasl.mechanism = "PLAIN"
sasl.username = "shop"
sasl.password_file = "/run/credentials/kafka-password"
```

The secrets are `sasl.password`, `ssl.key.password`, `ssl.key.pem`, `ssl.keystore.password`,
`sasl.oauthbearer.config` and `sasl.oauthbearer.client.secret`. The line end at the end of a secret's file is not
part of it. A file that everybody may read or write is a warning. SIGHUP reads it again, so that a password can be
rotated without a stop.
)";

constexpr std::string_view kRulesHead = R"(
### Refused

A value that breaks a promise of the relay stops the start, wherever it came from.

| property | why |
|---|---|
)";

constexpr std::string_view kOwnHead = R"(
### Set by the relay

What nobody sets is librdkafka's default, but for these:

| property | value |
|---|---|
)";

constexpr std::string_view kReloadText = R"(
## SIGHUP

The relay reads the file, the environment that it was started with and the files of secrets again. Where the new
configuration is wrong, one error line says why and the old one stays. What can change while running takes effect:
see the column "reload"; properties of librdkafka come into use with a new producer, for which what is in flight is
waited for a few seconds. An option that cannot change is named in the log and waits for the next start.

## SASL and TLS

SASL PLAIN, TLS and mTLS are tested against a real broker. SCRAM does not work between librdkafka before 2.6.1
(Debian 12 has 2.0.2) and Kafka 4: the right password is refused as invalid. Wrong credentials cost no row an
attempt: rows wait, and the log tells them apart from a broker that is down: "Kafka refuses the credentials", "TLS
to Kafka fails", "Kafka cannot be reached".
)";

std::string or_dash(std::string_view text) { return text.empty() ? "-" : "`" + std::string(text) + "`"; }

std::string value_words(const Option& option) {
  std::string text = expected_value(option);
  return text.substr(0, text.find(" such as"));
}

std::string option_row(const Option& option) {
  return "| " + or_dash(option.in_file ? option.name : "") + " | " + or_dash(option.flag) + " | " +
         or_dash(option.variable) + " | " + value_words(option) + " | " + or_dash(option.standard) + " | " +
         (option.while_running ? "yes" : "-") + " | " + std::string(option.help) + " |\n";
}

std::string section_of(std::string_view name) { return std::string(name.substr(0, name.find('.'))); }

std::string quoted(const Option& option) {
  if (!option.example.empty()) return std::string(option.example);
  if (option.type == OptionType::truth) return std::string(option.standard);
  return "\"" + std::string(option.standard) + "\"";
}

constexpr std::string_view kKafkaExample = R"(
# Any property of librdkafka may follow under its own name. Secrets come from files only.
# security.protocol = "sasl_ssl"
# sasl.mechanism = "PLAIN"
# sasl.username = "shop"
# sasl.password_file = "/run/credentials/kafka-password"
# compression.type = "lz4"
)";

}  // namespace

std::string configuration_example() {
  std::string text = "# outbox-relay run --config FILE. What is commented out shows the default.\n";
  std::string section;
  for (const Option& option : options()) {
    if (!option.in_file) continue;
    if (option.name.find('.') != std::string_view::npos && section_of(option.name) != section) {
      if (section + "." == kKafkaSection) text += kKafkaExample;
      section = section_of(option.name);
      text += "\n[" + section + "]\n";
    }
    // What has no default has to be set, so it is not commented out.
    const std::string key(option.name.substr(option.name.find('.') + 1));
    text += "# " + std::string(option.help) + ".\n";
    text += (option.standard.empty() ? "" : "# ") + key + " = " + quoted(option) + "\n";
  }
  return text;
}

std::string configuration_reference() {
  std::string text(kIntroduction);
  text += configuration_example();
  text += kOptionsHead;
  for (const Option& option : options()) text += option_row(option);
  text += kKafkaText;
  text += kRulesHead;
  for (const auto& [property, reason] : kafka::producer_rules())
    text.append("| `").append(property).append("` | ").append(reason).append(" |\n");
  text += kOwnHead;
  for (const auto& [property, value] : kafka::producer_settings())
    text.append("| `").append(property).append("` | `").append(value).append("` |\n");
  text += kReloadText;
  return text;
}

}  // namespace txbox::relay
