#include "relay/config/option.hpp"

#include <algorithm>
#include <array>

#include "relay/config/duration.hpp"
#include "relay/config/listen_address.hpp"
#include "relay/config/size.hpp"
#include "relay/config/topic_shape.hpp"
#include "relay/config/truth.hpp"

namespace txbox::relay {

namespace {

std::string header_objection(std::string_view name) {
  if (name.empty()) return "the name of a header is wanted";
  return name.starts_with("txbox-") ? "another name is wanted: the relay's own headers begin with txbox-" : "";
}

std::string shape_objection(std::string_view text) {
  return text == "off" || parse_topic_shape(text) ? "" : "PARTITIONS or PARTITIONS:REPLICAS, or off, is wanted";
}

std::string window_objection(std::string_view text) {
  const auto bytes = parse_size(std::string(text));
  return bytes && *bytes >= (std::int64_t{1} << 20) ? "" : "at least 1MiB is wanted, so that a large row fits";
}

std::string listen_objection(std::string_view text) {
  if (text == "off" || parse_listen_address(text)) return {};
  return "an address in digits and a port such as 127.0.0.1:9464 or [::1]:9464, unix:/PATH, or off is wanted";
}

constexpr std::array kOptions{
    Option{.name = "db",
           .flag = "--db",
           .variable = "OUTBOX_RELAY_DB",
           .type = OptionType::list,
           .example = R"(["/var/lib/shop/shop.db"])",
           .help = "The database file; may be repeated, and may be a pattern in quotes, whose files may come later"},
    Option{.name = "kafka.bootstrap.servers",
           .flag = "--brokers",
           .variable = "OUTBOX_RELAY_BROKERS",
           .example = R"("kafka-1:9092,kafka-2:9092")",
           .help = "Kafka's bootstrap servers: HOST:PORT[,HOST:PORT...]",
           .while_running = true},
    Option{.name = "relay.standby",
           .flag = "--standby",
           .variable = "OUTBOX_RELAY_STANDBY",
           .type = OptionType::truth,
           .standard = "false",
           .help = "Wait while another relay holds the file"},
    Option{.name = "relay.on_refusal",
           .flag = "--on-refusal",
           .variable = "OUTBOX_RELAY_ON_REFUSAL",
           .type = OptionType::word,
           .words = "block|skip",
           .standard = "block",
           .help = "What becomes of the key of a row that Kafka refuses, once the row is parked: it waits (block), or "
                   "goes on without it (skip)",
           .while_running = true},
    Option{.name = "relay.keep_sent",
           .flag = "--keep-sent",
           .variable = "OUTBOX_RELAY_KEEP_SENT",
           .type = OptionType::keep,
           .standard = "7d",
           .help = "How long rows that Kafka acknowledged stay in the database before the relay deletes them; 0s: no "
                   "longer than it takes, forever: until prune",
           .while_running = true},
    Option{.name = "relay.keep_skipped",
           .flag = "--keep-skipped",
           .variable = "OUTBOX_RELAY_KEEP_SKIPPED",
           .type = OptionType::keep,
           .standard = "forever",
           .help = "Likewise for rows that a person skipped, from when they were written",
           .while_running = true},
    Option{.name = "relay.create_topics",
           .flag = "--create-topics",
           .variable = "OUTBOX_RELAY_CREATE_TOPICS",
           .standard = "off",
           .help =
               "For development: make a topic that is missing, with PARTITIONS[:REPLICAS] such as 6:3; else its rows "
               "wait until somebody made it",
           .objection = shape_objection},
    Option{.name = "relay.id_header",
           .flag = "--id-header",
           .variable = "OUTBOX_RELAY_ID_HEADER",
           .standard = "id",
           .help = "Header that carries the event id",
           .objection = header_objection},
    Option{.name = "relay.window_bytes",
           .variable = "OUTBOX_RELAY_WINDOW_BYTES",
           .type = OptionType::size,
           .standard = "16MiB",
           .help = "Bytes that are given to Kafka's client and not yet acknowledged; bounds the memory in an outage",
           .objection = window_objection},
    Option{.name = "http.listen",
           .flag = "--http",
           .variable = "OUTBOX_RELAY_HTTP",
           .standard = "off",
           .help = "Where to serve /metrics, /livez, /readyz, /status.json and a page for people: ADDRESS:PORT such as "
                   "127.0.0.1:9464, or unix:/PATH",
           .objection = listen_objection},
    Option{.name = "http.allow_any_address",
           .flag = "--http-any-address",
           .variable = "OUTBOX_RELAY_HTTP_ANY_ADDRESS",
           .type = OptionType::truth,
           .standard = "false",
           .help = "Let http.listen be an address that other machines reach; there is neither TLS nor a password"},
    Option{.name = "http.allowed_hosts",
           .variable = "OUTBOX_RELAY_HTTP_ALLOWED_HOSTS",
           .type = OptionType::list,
           .standard = "localhost",
           .example = R"(["localhost"])",
           .help = "Names under which the pages may be asked for, beside the address itself; others are refused, since "
                   "a web site could lead its visitors' browsers here by its own name"},
    Option{.name = "log.level",
           .flag = "--log-level",
           .variable = "OUTBOX_RELAY_LOG_LEVEL",
           .type = OptionType::word,
           .words = "debug|info|warning|error",
           .standard = "info",
           .help = "Least level of the log",
           .while_running = true},
    Option{.name = "log.format",
           .flag = "--log-format",
           .variable = "OUTBOX_RELAY_LOG_FORMAT",
           .type = OptionType::word,
           .words = "text|json",
           .standard = "text",
           .help = "How the log is written"},
    Option{.name = "drain",
           .in_file = false,
           .flag = "--drain",
           .variable = "OUTBOX_RELAY_DRAIN",
           .type = OptionType::truth,
           .standard = "false",
           .help = "Stop when all that was there at the start is sent, held or not yet due"},
    Option{.name = "timeout",
           .in_file = false,
           .flag = "--timeout",
           .variable = "OUTBOX_RELAY_TIMEOUT",
           .type = OptionType::duration,
           .help = "With --drain: exit 75 after this long"},
    Option{.name = "config",
           .in_file = false,
           .flag = "--config",
           .variable = "OUTBOX_RELAY_CONFIG",
           .help = "A configuration file (TOML); flags and environment win over it"},
};

std::string words_with_or(std::string_view words) {
  std::string text;
  for (;;) {
    const std::size_t end = words.find('|');
    const bool last = end == std::string_view::npos;
    if (!text.empty()) text += last ? " or " : ", ";
    text += words.substr(0, end);
    if (last) return text;
    words.remove_prefix(end + 1);
  }
}

bool is_among(std::string_view words, std::string_view value) {
  return !value.empty() && value.find('|') == std::string_view::npos &&
         ("|" + std::string(words) + "|").find("|" + std::string(value) + "|") != std::string::npos;
}

bool is_of_type(const Option& option, const std::string& value) {
  switch (option.type) {
    case OptionType::text:
    case OptionType::list: return !value.empty();
    case OptionType::word: return is_among(option.words, value);
    case OptionType::truth: return parse_truth(value).has_value();
    case OptionType::duration: return parse_duration(value).has_value();
    case OptionType::keep: return value == kForever || parse_duration(value).has_value();
    case OptionType::size: return parse_size(value).has_value();
  }
  return false;
}

}  // namespace

std::span<const Option> options() noexcept { return kOptions; }

const Option* find_option(std::string_view name) noexcept {
  const auto found = std::find_if(kOptions.begin(), kOptions.end(), [name](const Option& o) { return o.name == name; });
  return found == kOptions.end() ? nullptr : found;
}

std::string expected_value(const Option& option) {
  switch (option.type) {
    case OptionType::text: return "a text";
    case OptionType::list: return "a text, or a list of them";
    case OptionType::word: return words_with_or(option.words);
    case OptionType::truth: return "true or false";
    case OptionType::duration: return "a duration such as 500ms, 30s, 5m, 2h or 7d";
    case OptionType::keep: return "forever, or a duration such as 30s, 5m, 2h or 7d";
    case OptionType::size: return "a size such as 64KiB, 16MiB or 1GiB";
  }
  return {};
}

std::string value_objection(const Option& option, const std::string& value) {
  if (option.objection != nullptr) {
    if (std::string text = option.objection(value); !text.empty()) return text;
  }
  return is_of_type(option, value) ? std::string() : expected_value(option) + " is wanted";
}

}  // namespace txbox::relay
