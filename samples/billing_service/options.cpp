#include "options.hpp"

#include <getopt.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

const char* const kUsage =
    R"(billing_service --db FILE --brokers LIST [--group G] [--topic T] [--invoices TOPIC] [-X k=v]... [--drain]

Credits the account of each order that comes from Kafka, once, however often the order comes.

  billing_service --db billing.db --brokers localhost:9092                       until SIGTERM or Ctrl-C
  billing_service --db billing.db --brokers localhost:9092 --drain               what is there now, then ends
  billing_service --db billing.db --brokers localhost:9092 --invoices invoices   and an invoice event for each

  --db FILE          made where it is missing, with every table it needs
  --brokers LIST     host:port,...
  --group GROUP      Kafka's consumer group (default billing)
  --topic TOPIC      where the orders are (default orders)
  --invoices TOPIC   where the invoices go, through the outbox in FILE; a relay publishes them
  -X NAME=VALUE      a librdkafka property; may be repeated; a secret in a file: -X sasl.password_file=PATH
  --drain            end when every partition was read to the end it had at the start and nothing waits for a retry
)";

namespace {

constexpr std::string_view kFileSuffix = "_file";

bool is_secret(std::string_view property) {
  constexpr std::array<std::string_view, 6> kEndings = {"password", "secret", "passphrase",
                                                        "key.pem",  "jwt",    "sasl.oauthbearer.config"};
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [property](std::string_view ending) { return property.ends_with(ending); });
}

std::string secret_from(const std::string& path, const std::string& property) {
  std::ifstream file(path);
  std::string secret(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open()) throw std::invalid_argument("-X " + property + ": the file it names cannot be read");
  while (secret.ends_with('\n')) secret.pop_back();  // Editors and echo add it.
  return secret;
}

std::pair<std::string, std::string> parse_property(std::string_view text) {
  const auto equals = text.find('=');
  // The text itself may be a secret that was typed wrongly, so it is not repeated.
  if (equals == 0 || equals == std::string_view::npos) throw std::invalid_argument("-X needs NAME=VALUE");
  const std::string name(text.substr(0, equals));
  const std::string value(text.substr(equals + 1));
  if (is_secret(name)) {
    throw std::invalid_argument("-X " + name + ": every user of this machine can read a command line; put the secret " +
                                "into a file and give -X " + name + "_file=PATH");
  }
  const std::string secret = name.ends_with(kFileSuffix) ? name.substr(0, name.size() - kFileSuffix.size()) : "";
  if (is_secret(secret)) return {secret, secret_from(value, name)};
  return {name, value};
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv) {
  const std::array<option, 8> known = {{{"db", required_argument, nullptr, 'd'},
                                        {"brokers", required_argument, nullptr, 'b'},
                                        {"group", required_argument, nullptr, 'g'},
                                        {"topic", required_argument, nullptr, 't'},
                                        {"invoices", required_argument, nullptr, 'i'},
                                        {"drain", no_argument, nullptr, 'D'},
                                        {"help", no_argument, nullptr, 'h'},
                                        {nullptr, 0, nullptr, 0}}};
  Options options;
  for (int found = 0; (found = getopt_long(argc, argv, "X:h", known.data(), nullptr)) != -1;) {
    switch (found) {
      case 'd': options.db = optarg; break;
      case 'b': options.brokers = optarg; break;
      case 'g': options.group = optarg; break;
      case 't': options.topic = optarg; break;
      case 'i': options.invoices = optarg; break;
      case 'X': options.kafka.push_back(parse_property(optarg)); break;
      case 'D': options.drain = true; break;
      case 'h': return std::nullopt;
      default: throw std::invalid_argument("try --help");  // getopt_long has named the option already.
    }
  }
  if (optind != argc) throw std::invalid_argument("unexpected argument '" + std::string(argv[optind]) + "'");
  if (options.db.empty()) throw std::invalid_argument("--db FILE is missing");
  if (options.brokers.empty()) throw std::invalid_argument("--brokers LIST is missing");
  return options;
}
