#include "relay/cli/help_examples.hpp"

#include <memory>
#include <utility>

#include <CLI/CLI.hpp>

namespace txbox::relay {

namespace {

/// The description would do, but the list of all commands prints it whole.
class ExamplesFormatter : public CLI::Formatter {
 public:
  explicit ExamplesFormatter(std::string examples) : examples_(std::move(examples)) {}
  std::string make_usage(const CLI::App* command, std::string name) const override {
    return "\n" + examples_ + "\n\n" + Formatter::make_usage(command, std::move(name));
  }

 private:
  std::string examples_;
};

}  // namespace

void show_examples(CLI::App& command, std::string examples) {
  command.formatter(std::make_shared<ExamplesFormatter>(std::move(examples)));
}

}  // namespace txbox::relay
