#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

struct Options {
  std::string db;
  std::string brokers;
  std::string group = "billing";
  std::string topic = "orders";
  std::optional<std::string> invoices;                     ///< None: no invoices.
  std::vector<std::pair<std::string, std::string>> kafka;  ///< More librdkafka properties.
  bool drain = false;
};

/// Reads the command line. Throws std::invalid_argument, its text for the user; no Options when only help was wanted.
std::optional<Options> parse_options(int argc, char** argv);

extern const char* const kUsage;
