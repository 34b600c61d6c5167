#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "relay/config/setting.hpp"

namespace CLI {
class App;
}

namespace txbox::relay {

/// The flags of the table of options, and -X, on a command; what the person gave is asked for when parsing is over. The
/// environment is not read here. Lives as long as the command.
class OptionFlags {
 public:
  using Names = std::vector<std::string_view>;

  explicit OptionFlags(CLI::App& command);
  /// Of the table only the options of these names.
  OptionFlags(CLI::App& command, const Names& names);
  OptionFlags(const OptionFlags&) = delete;
  OptionFlags& operator=(const OptionFlags&) = delete;
  ~OptionFlags();

  /// Only what was given, -X before the rest. Throws configuration for -X without NAME=VALUE.
  [[nodiscard]] Settings settings() const;

 private:
  void add(CLI::App& command, const Names* names);
  struct Flag;
  std::vector<std::unique_ptr<Flag>> flags_;
  std::vector<std::string> properties_;
};

}  // namespace txbox::relay
