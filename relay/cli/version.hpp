#pragma once

#include <string>

namespace txbox::relay {

/// Own version, and those of the libraries linked at run time: "outbox-relay 0.1.0 (librdkafka 2.0.2, SQLite 3.40.1)".
[[nodiscard]] std::string version_text();

}  // namespace txbox::relay
