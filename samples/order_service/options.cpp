#include "options.hpp"

#include <getopt.h>

#include <array>
#include <charconv>
#include <stdexcept>
#include <string_view>
#include <system_error>

const char* const kUsage =
    R"(order_service --db FILE [--orders N] [--rate PER_SECOND] [--accounts A] [--seed S] [--topic TOPIC]

Places orders: each one is a row of the table orders and an event in the outbox, in one transaction.

  order_service --db shop.db --orders 1000           a thousand orders, as fast as the disk commits
  order_service --db shop.db --rate 50               fifty a second until SIGTERM or Ctrl-C

  --db FILE       made where it is missing, with every table it needs
  --orders N      how many (default: until SIGTERM)
  --rate R        orders a second (default: as fast as possible with --orders, else 100)
  --accounts A    how many accounts order (default 100)
  --seed S        the same accounts and amounts again (default: new ones each time)
  --topic TOPIC   where the events go (default orders)
)";

namespace {

template <typename Number>
Number parse_number(std::string_view option, std::string_view text, Number min) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= min)) {
    throw std::invalid_argument("--" + std::string(option) + " needs a number that is not below " +
                                std::to_string(min) + ", not '" + std::string(text) + "'");
  }
  return value;
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv) {
  const std::array<option, 8> known = {{{"db", required_argument, nullptr, 'd'},
                                        {"orders", required_argument, nullptr, 'n'},
                                        {"rate", required_argument, nullptr, 'r'},
                                        {"accounts", required_argument, nullptr, 'a'},
                                        {"seed", required_argument, nullptr, 's'},
                                        {"topic", required_argument, nullptr, 't'},
                                        {"help", no_argument, nullptr, 'h'},
                                        {nullptr, 0, nullptr, 0}}};
  Options options;
  std::optional<double> rate;
  for (int found = 0; (found = getopt_long(argc, argv, "h", known.data(), nullptr)) != -1;) {
    switch (found) {
      case 'd': options.db = optarg; break;
      case 'n': options.orders = parse_number<std::int64_t>("orders", optarg, 0); break;
      case 'r': rate = parse_number<double>("rate", optarg, 0.0); break;
      case 'a': options.accounts = parse_number<std::int64_t>("accounts", optarg, 1); break;
      case 's': options.seed = parse_number<std::uint64_t>("seed", optarg, 0); break;
      case 't': options.topic = optarg; break;
      case 'h': return std::nullopt;
      default: throw std::invalid_argument("try --help");  // getopt_long has named the option already.
    }
  }
  if (optind != argc) throw std::invalid_argument("unexpected argument '" + std::string(argv[optind]) + "'");
  if (options.db.empty()) throw std::invalid_argument("--db FILE is missing");
  // A service that was given neither limit should not fill the disk.
  options.rate_per_second = rate.value_or(options.orders ? 0.0 : 100.0);
  return options;
}
