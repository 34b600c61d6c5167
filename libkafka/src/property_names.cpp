#include "property_names.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string_view>

#include <librdkafka/rdkafka.h>

#include <txbox/base/error.hpp>

namespace txbox::kafka {
namespace {

struct FreedByC {
  void operator()(char* text) const noexcept { std::free(text); }
};

/// rd_kafka_conf_dump() leaves out what has no value (bootstrap.servers, sasl.password) and every alias;
/// the table that librdkafka prints for its manual has them all.
std::string property_table() {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  if (stream == nullptr) throw Error(ErrorCode::failure, "cannot list librdkafka's properties: out of memory");
  rd_kafka_conf_properties_show(stream);
  std::fclose(stream);
  const std::unique_ptr<char, FreedByC> owner(text);
  return {text, size};
}

}  // namespace

std::vector<std::string> property_names() {
  std::vector<std::string> names;
  std::istringstream table(property_table());
  for (std::string line; std::getline(table, line);) {
    const std::size_t end = line.find_first_of(" |");
    if (line.find('|') == std::string::npos || end == std::string::npos || end == 0) continue;
    const std::string_view name = std::string_view(line).substr(0, end);
    if (name == "Property" || name.front() == '-') continue;
    names.emplace_back(name);
  }
  return names;
}

}  // namespace txbox::kafka
