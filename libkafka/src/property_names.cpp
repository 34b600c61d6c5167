#include <txbox/kafka/settings.hpp>

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

struct Row {
  std::string name;
  std::string alias_of;  ///< Empty where it is none.
};

std::string alias_in(const std::string& line) {
  constexpr std::string_view kWords = "Alias for `";
  const std::size_t found = line.find(kWords);
  if (found == std::string::npos) return {};
  const std::size_t begin = found + kWords.size();
  return line.substr(begin, line.find('`', begin) - begin);
}

std::vector<Row> read_rows() {
  std::vector<Row> rows;
  std::istringstream table(property_table());
  for (std::string line; std::getline(table, line);) {
    const std::size_t end = line.find_first_of(" |");
    if (line.find('|') == std::string::npos || end == std::string::npos || end == 0) continue;
    std::string name = line.substr(0, end);
    if (name == "Property" || name.front() == '-') continue;
    rows.push_back({std::move(name), alias_in(line)});
  }
  return rows;
}

/// The table is printed by the library, and parsing it for every question would be most of what they cost.
const std::vector<Row>& rows() {
  static const std::vector<Row> read = read_rows();
  return read;
}

}  // namespace

std::vector<std::string> property_names() {
  std::vector<std::string> names;
  for (const Row& row : rows()) names.push_back(row.name);
  return names;
}

std::string first_name(const std::string& property) {
  for (const Row& row : rows()) {
    if (row.name == property && !row.alias_of.empty()) return row.alias_of;
  }
  return property;
}

}  // namespace txbox::kafka
