#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace txbox::bench {

/// The flags of one benchmark, `--name VALUE` each.
class Arguments {
 public:
  explicit Arguments(std::string purpose) : purpose_(std::move(purpose)) {}
  void text(const std::string& name, std::string& value, const std::string& help);
  void number(const std::string& name, std::int64_t& value, std::int64_t min, const std::string& help);
  /// Fills the values. Throws std::invalid_argument; false when --help was asked for (and printed).
  [[nodiscard]] bool parse(int argc, char** argv) const;

 private:
  struct Flag {
    std::string name;
    std::string help;
    std::function<void(const std::string&)> set;
  };
  std::string purpose_;
  std::vector<Flag> flags_;
};

/// Runs a benchmark's main part and turns what it throws into words on stderr and an exit code: 2 usage, 78 no
/// broker given, 75 a broker that does not answer, 1 anything else.
int run(const char* program, const std::function<void()>& benchmark);

/// Throws Error(configuration) when no broker was named: the benchmarks start none themselves.
void require_brokers(const std::string& brokers);

}  // namespace txbox::bench
