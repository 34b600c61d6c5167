#include "relay/engine/record.hpp"

#include <charconv>

#include <txbox/base/error.hpp>
#include <txbox/base/event_id.hpp>
#include <txbox/store/headers_json.hpp>

namespace txbox::relay {

namespace {
constexpr std::string_view kCreatedAtHeader = "txbox-created-at";
constexpr std::string_view kRedrivenHeader = "txbox-redriven";
constexpr std::string_view kRedrivenByRetry = "retry";
// An event id holds 48 bits of time.
constexpr std::int64_t kTimeLimitMs = std::int64_t{1} << 48;
}  // namespace

bool RecordHeaders::add_event_id(const store::OutboxRow& row) {
  if (!row.event_id.empty()) {
    views_.push_back({id_header_, row.event_id});
    return true;
  }
  if (row.nonce.size() != kNonceSize) return false;
  const auto* nonce = reinterpret_cast<const std::uint8_t*>(row.nonce.data());
  event_id_ = event_id_from(row.created_at_ms, std::span<const std::uint8_t>(nonce, kNonceSize));
  views_.push_back({id_header_, std::string_view(event_id_)});
  return true;
}

std::optional<std::span<const kafka::HeaderView>> RecordHeaders::of(const store::OutboxRow& row) {
  views_.clear();
  if (!row.headers.is_null()) {
    try {
      own_ = store::headers_from_json(row.headers.view());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_argument) throw;
      return std::nullopt;
    }
    for (const Header& header : own_) views_.push_back({header.name, header.value});
  }
  if (row.as_is) return views_;
  if (row.created_at_ms < 0 || row.created_at_ms >= kTimeLimitMs || !add_event_id(row)) return std::nullopt;
  const auto end = std::to_chars(std::begin(created_at_), std::end(created_at_), row.created_at_ms).ptr;
  views_.push_back({kCreatedAtHeader, BytesView(created_at_, static_cast<std::size_t>(end - created_at_))});
  if (row.redriven) views_.push_back({kRedrivenHeader, kRedrivenByRetry});
  return views_;
}

}  // namespace txbox::relay
