#include "relay/config/reference.hpp"

#include <fstream>
#include <iterator>
#include <sstream>

#include <doctest/doctest.h>

#include "relay/config/option.hpp"
#include "relay/config/toml_file.hpp"

namespace txbox::relay {

TEST_CASE("docs/configuration.md is what the table of options says") {
  std::ifstream file(TXBOX_REFERENCE_PATH);
  const std::string stands{std::istreambuf_iterator<char>(file), {}};
  INFO("build/bin/configuration_reference > docs/configuration.md writes it anew");
  CHECK((stands == configuration_reference()));
}

TEST_CASE("the example has every option of a file, and is read without a word") {
  const Settings settings = read_toml(configuration_example(), "example.toml");
  CHECK_FALSE(settings.empty());
  for (const Option& option : options()) {
    if (!option.in_file) continue;
    CAPTURE(option.name);
    const std::string key(option.name.substr(option.name.find('.') + 1));
    CHECK(configuration_example().find(key + " = ") != std::string::npos);
  }
}

TEST_CASE("what is commented out in the example may be used as it stands") {
  std::istringstream example(configuration_example());
  std::string all;
  for (std::string line; std::getline(example, line);) {
    const bool commented = line.starts_with("# ") && line.find(" = ") != std::string::npos;
    all += (commented ? line.substr(2) : line) + "\n";
  }
  std::size_t in_file = 0;
  for (const Option& option : options()) in_file += option.in_file ? 1 : 0;
  CHECK(read_toml(all, "example.toml").size() >= in_file);
}

}  // namespace txbox::relay
