#include "relay/config/toml_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include <toml++/toml.h>

#include <txbox/base/error.hpp>
#include <txbox/base/nearest_word.hpp>

#include "relay/config/option.hpp"

namespace txbox::relay {

namespace {

// A configuration is a page or two; what is larger is some other file.
constexpr std::size_t kFileBytesMax = 1 << 20;

struct Leaf {
  std::string key;
  const toml::node* node = nullptr;
  std::uint32_t line = 0;
};

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::configuration, text); }

std::string place(const std::string& path, std::uint32_t line) { return path + ":" + std::to_string(line); }

bool is_section(const std::string& key) {
  const std::string prefix = key + ".";
  return prefix.starts_with(kKafkaSection) ||
         std::any_of(options().begin(), options().end(),
                     [&](const Option& option) { return option.in_file && option.name.starts_with(prefix); });
}

/// Tables are looked into; one without content counts as a leaf, so that its name is judged too.
void collect(const toml::table& table, const std::string& prefix, std::vector<Leaf>& leaves) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    if (const toml::table* inner = node.as_table(); inner != nullptr && (!inner->empty() || is_section(name))) {
      collect(*inner, name + ".", leaves);
    } else {
      leaves.push_back({name, &node, key.source().begin.line});
    }
  }
}

std::string nearest_option(const std::string& key) {
  std::vector<std::string> known;
  for (const Option& option : options()) {
    if (!option.in_file) continue;
    known.emplace_back(option.name);
    // The right name in the wrong section, or in none.
    const auto leaf = [](std::string_view name) { return name.substr(name.rfind('.') + 1); };
    if (leaf(option.name) == leaf(key)) return known.back();
  }
  return base::nearest_word(key, known);
}

/// A scalar as a person would write it in a flag; nullopt for tables, times and numbers with a fraction.
std::optional<std::string> text_of(const toml::node& node) {
  if (auto text = node.value_exact<std::string>()) return text;
  if (const auto number = node.value_exact<std::int64_t>()) return std::to_string(*number);
  if (const auto truth = node.value_exact<bool>()) return *truth ? "true" : "false";
  return std::nullopt;
}

std::optional<std::vector<std::string>> texts_of(const toml::node& node) {
  std::vector<std::string> texts;
  const toml::array* array = node.as_array();
  if (array == nullptr) {
    if (!node.is_string()) return std::nullopt;
    texts.push_back(*text_of(node));
    return texts;
  }
  for (const toml::node& element : *array) {
    if (!element.is_string()) return std::nullopt;
    texts.push_back(*text_of(element));
  }
  return texts;
}

std::string kafka_value(const Leaf& leaf, const std::string& where) {
  if (const auto text = text_of(*leaf.node)) return *text;
  // librdkafka's own lists are texts with commas.
  const auto texts = leaf.node->is_array() ? texts_of(*leaf.node) : std::nullopt;
  if (!texts || texts->empty()) refuse(where + ": " + leaf.key + ": a text, a whole number, true or false is wanted");
  std::string joined;
  for (const std::string& text : *texts) joined += (joined.empty() ? "" : ",") + text;
  return joined;
}

/// TOML has types of its own, and a text where a truth is wanted would only look like one.
bool fits_type(const Option& option, const toml::node& node) {
  switch (option.type) {
    case OptionType::truth: return node.is_boolean();
    case OptionType::list: return texts_of(node).has_value();
    default: return node.is_string();
  }
}

std::vector<std::string> option_values(const Option& option, const Leaf& leaf, const std::string& where) {
  const std::string begin = where + ": " + leaf.key + ": ";
  if (!fits_type(option, *leaf.node)) refuse(begin + expected_value(option) + " is wanted");
  std::vector<std::string> values =
      option.type == OptionType::list ? *texts_of(*leaf.node) : std::vector<std::string>{*text_of(*leaf.node)};
  for (const std::string& value : values) {
    if (const std::string objection = value_objection(option, value); !objection.empty()) refuse(begin + objection);
  }
  return values;
}

Setting setting_of(const Leaf& leaf, const std::string& where) {
  Setting setting{leaf.key, {}, {Layer::file, where}};
  const Option* option = find_option(leaf.key);
  if (option != nullptr && option->in_file && !leaf.key.starts_with(kKafkaSection)) {
    setting.values = option_values(*option, leaf, where);
  } else if (leaf.key.starts_with(kKafkaSection)) {
    setting.values = {kafka_value(leaf, where)};
  } else if (is_section(leaf.key)) {
    refuse(where + ": " + leaf.key + " is a section: write [" + leaf.key + "] and its options below");
  } else {
    refuse(where + ": " + leaf.key + " is no option" + did_you_mean(nearest_option(leaf.key)));
  }
  return setting;
}

}  // namespace

Settings read_toml(std::string_view text, const std::string& path) {
  toml::table table;
  try {
    table = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    refuse(place(path, error.source().begin.line) + ": " + std::string(error.description()));
  }
  std::vector<Leaf> leaves;
  collect(table, "", leaves);
  std::stable_sort(leaves.begin(), leaves.end(), [](const Leaf& a, const Leaf& b) { return a.line < b.line; });
  Settings settings;
  for (const Leaf& leaf : leaves) settings.push_back(setting_of(leaf, place(path, leaf.line)));
  return settings;
}

Settings read_toml_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kFileBytesMax + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) refuse(path + ": cannot be read: " + std::strerror(errno));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kFileBytesMax) refuse(path + ": is no configuration file (larger than 1 MiB)");
  return read_toml(text, path);
}

}  // namespace txbox::relay
