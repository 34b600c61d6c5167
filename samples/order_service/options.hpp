#pragma once

#include <cstdint>
#include <optional>
#include <string>

struct Options {
  std::string db;
  std::optional<std::int64_t> orders;  ///< None: until SIGTERM or SIGINT.
  double rate_per_second = 0;          ///< 0: as fast as the disk commits.
  std::int64_t accounts = 100;
  std::optional<std::uint64_t> seed;  ///< None: a new one.
  std::string topic = "orders";
};

/// Reads the command line. Throws std::invalid_argument, its text for the user; no Options when only help was wanted.
std::optional<Options> parse_options(int argc, char** argv);

extern const char* const kUsage;
