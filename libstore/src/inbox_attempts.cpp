#include <txbox/base/failpoint.hpp>

#include "inbox_sql.hpp"
#include "inbox_state.hpp"

namespace txbox::store {

std::string_view bounded_text(std::string_view text) noexcept {
  if (text.size() <= InboxStore::kTextLimitBytes) return text;
  std::size_t size = InboxStore::kTextLimitBytes;
  const auto continues = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xc0U) == 0x80U; };
  // A character of UTF-8 has three such bytes at most; other bytes are cut anywhere.
  for (int back = 0; back < 3 && continues(size); ++back) --size;
  return text.substr(0, size);
}

std::vector<InboxStore::Attempts> InboxStore::attempts(const InboxPlace& place, std::int64_t from_offset) {
  State& state = *state_;
  Statement& read = state.attempts_from;
  const ResetGuard guard(read);
  state.bind_place(read, place).bind(5, from_offset).bind(6, kAttemptsLimit);
  std::vector<Attempts> found;
  while (read.step()) {
    found.push_back({.offset = read.column_int64(0),
                     .started = static_cast<int>(read.column_int64(1)),
                     .failed = static_cast<int>(read.column_int64(2)),
                     .next_try_at_ms = read.column_int64(3),
                     .updated_at_ms = read.column_int64(5),
                     .last_error = std::string(read.column_text(4))});
  }
  return found;
}

void InboxStore::record_started(const InboxPlace& place, std::int64_t offset) {
  State& state = *state_;
  state.require_batch("recording an attempt");
  state.bind_place(state.record_started, place).bind(5, offset).bind(6, inbox_now_ms());
  state.record_started.execute();
  TXBOX_FAILPOINT("inbox:started");
}

void InboxStore::record_failed(const InboxPlace& place, std::int64_t offset, std::string_view error,
                               std::int64_t next_try_at_ms, bool was_started) {
  State& state = *state_;
  state.require_batch("recording an attempt");
  state.bind_place(state.record_failed, place).bind(5, offset).bind(6, next_try_at_ms);
  state.record_failed.bind(7, bounded_text(error)).bind(8, inbox_now_ms()).bind(9, std::int64_t{was_started});
  state.record_failed.execute();
}

void InboxStore::forget_attempts(const InboxPlace& place, std::int64_t offset) {
  State& state = *state_;
  state.require_batch("forgetting attempts");
  state.bind_place(state.forget_attempts, place).bind(5, offset);
  state.forget_attempts.execute();
}

}  // namespace txbox::store
