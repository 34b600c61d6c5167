#pragma once

#include <string>

namespace txbox::relay {

/// docs/configuration.md, whole: every option, the properties of librdkafka that are refused and why.
[[nodiscard]] std::string configuration_reference();

/// What `config init` prints: a file that says of each option what it does. It can be used as it is, and each of its
/// lines that is commented out may be used too.
[[nodiscard]] std::string configuration_example();

}  // namespace txbox::relay
