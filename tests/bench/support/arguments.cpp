#include "tests/bench/support/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <stdexcept>
#include <system_error>

#include <txbox/base/error.hpp>

namespace txbox::bench {

void Arguments::text(const std::string& name, std::string& value, const std::string& help) {
  flags_.push_back({name, help, [&value](const std::string& given) { value = given; }});
}

void Arguments::number(const std::string& name, std::int64_t& value, std::int64_t min, const std::string& help) {
  const auto set = [&value, name, min](const std::string& given) {
    const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
    if (error != std::errc() || end != given.data() + given.size() || value < min) {
      throw std::invalid_argument(name + " needs a number that is not below " + std::to_string(min));
    }
  };
  flags_.push_back({name, help + " (default " + std::to_string(value) + ")", set});
}

bool Arguments::parse(int argc, char** argv) const {
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--help") {
      std::printf("%s\n\n", purpose_.c_str());
      for (const Flag& flag : flags_) std::printf("  %-14s %s\n", flag.name.c_str(), flag.help.c_str());
      return false;
    }
    const auto flag = std::find_if(flags_.begin(), flags_.end(), [&](const Flag& known) { return known.name == name; });
    if (flag == flags_.end()) throw std::invalid_argument("unknown argument " + name + "; try --help");
    if (i + 1 == argc) throw std::invalid_argument(name + " needs a value");
    flag->set(argv[i + 1]);
  }
  return true;
}

int run(const char* program, const std::function<void()>& benchmark) {
  constexpr int kFailure = 1;
  constexpr int kUsage = 2;
  constexpr int kTryLater = 75;
  constexpr int kConfiguration = 78;
  try {
    benchmark();
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return kUsage;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    if (error.code() == ErrorCode::configuration) return kConfiguration;
    return error.code() == ErrorCode::broker_unavailable ? kTryLater : kFailure;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return kFailure;
  }
}

void require_brokers(const std::string& brokers) {
  if (!brokers.empty()) return;
  throw Error(ErrorCode::configuration,
              "--brokers is missing: this benchmark needs a real Kafka (scripts/kafka start)");
}

}  // namespace txbox::bench
