#include "relay/cli/client_check.hpp"

#include <txbox/kafka/producer.hpp>

namespace txbox::relay {

void check_client(const kafka::Properties& properties) {
  kafka::ProducerOptions options;
  options.properties = properties;
  const kafka::Producer client(options);
}

}  // namespace txbox::relay
