#include <txbox/kafka/errors.hpp>

#include <librdkafka/rdkafka.h>

namespace txbox::kafka {

ErrorScope scope_of(int code) noexcept {
  switch (static_cast<rd_kafka_resp_err_t>(code)) {
#define TXBOX_ERROR_SCOPE(scope, name) \
  case RD_KAFKA_RESP_ERR_##name:       \
    return ErrorScope::scope;
#include "error_scopes.def"
#undef TXBOX_ERROR_SCOPE
  }
  // A code that a newer broker sends and this librdkafka passes on without knowing it.
  return ErrorScope::other;
}

std::string describe(int code) {
  const auto error = static_cast<rd_kafka_resp_err_t>(code);
  return std::string(rd_kafka_err2name(error)) + ": " + rd_kafka_err2str(error);
}

}  // namespace txbox::kafka
