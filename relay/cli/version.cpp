#include "relay/cli/version.hpp"

#include <txbox/kafka/settings.hpp>
#include <txbox/store/version.hpp>

namespace txbox::relay {

std::string version_text() {
  return std::string("outbox-relay ") + TXBOX_VERSION + " (librdkafka " + kafka::library_version() + ", SQLite " +
         store::library_version() + ")";
}

}  // namespace txbox::relay
