#include <utility>

#include <txbox/kafka/consumer_event.hpp>

#include "handles.hpp"

namespace txbox::kafka {
namespace {

BytesView view_of(const void* data, std::size_t size) { return data == nullptr ? BytesView() : BytesView(data, size); }

/// Parsed when first asked for; null when the record has none.
rd_kafka_headers_t* headers_of(const rd_kafka_message_t* message) {
  rd_kafka_headers_t* headers = nullptr;
  return rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR ? headers : nullptr;
}

}  // namespace

void ConsumedRecord::Destroy::operator()(rd_kafka_message_s* message) const noexcept {
  rd_kafka_message_destroy(message);
}

ConsumedRecord::ConsumedRecord(rd_kafka_message_s* message, std::shared_ptr<const void> client) noexcept
    : client_(std::move(client)), message_(message) {}

ConsumedRecord& ConsumedRecord::operator=(ConsumedRecord&& other) noexcept {
  // The old message goes before its client may.
  message_ = std::move(other.message_);
  client_ = std::move(other.client_);
  return *this;
}

std::string_view ConsumedRecord::topic() const noexcept { return rd_kafka_topic_name(message_->rkt); }

std::int32_t ConsumedRecord::partition() const noexcept { return message_->partition; }

std::int64_t ConsumedRecord::offset() const noexcept { return message_->offset; }

std::int64_t ConsumedRecord::timestamp_ms() const noexcept {
  rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  const std::int64_t timestamp_ms = rd_kafka_message_timestamp(message_.get(), &type);
  return type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE ? -1 : timestamp_ms;
}

BytesView ConsumedRecord::key() const noexcept { return view_of(message_->key, message_->key_len); }

BytesView ConsumedRecord::payload() const noexcept { return view_of(message_->payload, message_->len); }

std::optional<BytesView> ConsumedRecord::last_header(const std::string& name) const {
  const rd_kafka_headers_t* headers = headers_of(message_.get());
  const void* value = nullptr;
  std::size_t size = 0;
  if (headers == nullptr ||
      rd_kafka_header_get_last(headers, name.c_str(), &value, &size) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return std::nullopt;
  }
  return view_of(value, size);
}

Headers ConsumedRecord::headers() const {
  Headers result;
  copy_headers(result);
  return result;
}

void ConsumedRecord::copy_headers(Headers& into) const {
  const rd_kafka_headers_t* headers = headers_of(message_.get());
  const std::size_t count = headers == nullptr ? 0 : rd_kafka_header_cnt(headers);
  into.resize(count);
  for (std::size_t at = 0; at < count; ++at) {
    const char* name = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    rd_kafka_header_get_all(headers, at, &name, &value, &size);
    into[at].name = name;
    into[at].value.assign(view_of(value, size));
  }
}

}  // namespace txbox::kafka
