#include <algorithm>
#include <tuple>

#include <txbox/store/inbox_queries.hpp>
#include <txbox/store/statement.hpp>

#include "cluster_names.hpp"
#include "inbox_query_sql.hpp"
#include "snapshot.hpp"

namespace txbox::store {

namespace {

/// Rows copied out in one snapshot; then it is given up, since the caller may write them to a slow terminal.
constexpr std::size_t kRowsPerSnapshot = 256;
/// Claims looked at in one snapshot, whether they match or not.
constexpr std::int64_t kClaimsPerStep = 20'000;

std::optional<std::string> optional_text(const Statement& row, int column) {
  if (row.column_is_null(column)) return std::nullopt;
  return std::string(row.column_text(column));
}

/// From the columns of kClaimsBelow and kClaimOfGroup.
InboxClaimRow claim_from(const Statement& row, const std::string& group, ClusterNames& clusters) {
  InboxClaimRow claim;
  claim.group = group;
  claim.event_id = row.column_text(0);
  claim.cluster_id = clusters.of(row.column_optional(1));
  claim.topic = optional_text(row, 2);
  claim.partition = row.column_optional(3);
  claim.offset = row.column_optional(4);
  claim.processed_at_ms = row.column_int64(5);
  claim.given_up = row.column_int64(6) != 0;
  claim.epoch = row.column_int64(7);
  return claim;
}

/// Walks a group's claims from the highest event id down.
class ClaimWalk {
 public:
  ClaimWalk(sqlite3* db, const InboxClaimFilter& filter)
      : filter_(filter), clusters_(db), below_(db, sql::kClaimsBelow) {}

  /// The next claims that match, at most `most`, found in one snapshot; ended() once there are no others.
  std::vector<InboxClaimRow> step(std::size_t most) {
    std::vector<InboxClaimRow> found;
    const std::optional<std::string> from = last_;
    const ResetGuard guard(below_);
    below_.bind(1, std::string_view(filter_.group)).bind(3, kClaimsPerStep);
    if (from) {
      below_.bind(2, std::string_view(*from));
    } else {
      below_.bind_blob(2, BytesView(std::string_view("")));
    }
    std::int64_t looked_at = 0;
    while (found.size() < most && below_.step()) {
      ++looked_at;
      last_ = below_.column_text(0);
      const bool matches = !filter_.topic || (!below_.column_is_null(2) && below_.column_text(2) == *filter_.topic);
      if (matches) found.push_back(claim_from(below_, filter_.group, clusters_));
    }
    ended_ = found.size() < most && looked_at < kClaimsPerStep;
    return found;
  }
  [[nodiscard]] bool ended() const noexcept { return ended_; }

 private:
  const InboxClaimFilter& filter_;
  ClusterNames clusters_;
  Statement below_;
  std::optional<std::string> last_;
  bool ended_ = false;
};

bool is_newer(const InboxClaimRow& one, const InboxClaimRow& other) {
  return std::tie(one.processed_at_ms, one.event_id) > std::tie(other.processed_at_ms, other.event_id);
}

/// The newest `limit` claims: a heap with the oldest of them on top.
std::vector<InboxClaimRow> newest_claims(ClaimWalk& walk, std::size_t limit) {
  std::vector<InboxClaimRow> newest;
  while (!walk.ended()) {
    for (InboxClaimRow& claim : walk.step(kRowsPerSnapshot)) {
      if (newest.size() == limit && !is_newer(claim, newest.front())) continue;
      newest.push_back(std::move(claim));
      std::push_heap(newest.begin(), newest.end(), is_newer);
      if (newest.size() <= limit) continue;
      std::pop_heap(newest.begin(), newest.end(), is_newer);
      newest.pop_back();
    }
  }
  std::sort_heap(newest.begin(), newest.end(), is_newer);
  return newest;
}

class ParkedRows {
 public:
  explicit ParkedRows(sqlite3* db) : clusters_(db), row_(db, sql::kParkedRow), payload_(db, sql::kParkedPayload) {}

  std::optional<InboxParkedRow> find(std::int64_t id, bool with_payload) {
    const ResetGuard guard(row_);
    row_.bind(1, id);
    if (!row_.step()) return std::nullopt;
    InboxParkedRow found;
    found.id = row_.column_int64(0);
    found.group = row_.column_text(1);
    found.event_id = optional_text(row_, 2);
    found.cluster_id = clusters_.of(row_.column_int64(3));
    found.topic = row_.column_text(4);
    found.partition = row_.column_int64(5);
    found.offset = row_.column_int64(6);
    found.key = Bytes(row_.column_bytes(7));
    found.attempts = row_.column_int64(8);
    found.reason = row_.column_text(9);
    found.parked_at_ms = row_.column_int64(10);
    found.replayed_at_ms = row_.column_optional(11);
    if (row_.column_int64(12) >= 0) found.timestamp_ms = row_.column_int64(12);
    if (with_payload) add_payload(found);
    return found;
  }

 private:
  void add_payload(InboxParkedRow& found) {
    const ResetGuard guard(payload_);
    payload_.bind(1, found.id);
    if (!payload_.step()) return;
    found.headers = Bytes(payload_.column_bytes(0));
    found.payload = Bytes(payload_.column_bytes(1));
  }

  ClusterNames clusters_;
  Statement row_;
  Statement payload_;
};

std::vector<std::int64_t> ids_of(Statement& statement) {
  std::vector<std::int64_t> ids;
  while (statement.step()) ids.push_back(statement.column_int64(0));
  return ids;
}

std::vector<std::int64_t> newest_parked(sqlite3* db, const InboxParkedFilter& filter) {
  Statement ids(db, sql::kNewestParked);
  ids.bind(1, std::string_view(filter.group)).bind(3, std::max<std::int64_t>(filter.limit, 0));
  if (filter.topic) ids.bind(2, std::string_view(*filter.topic));
  return ids_of(ids);
}

/// Every group's claim of the event; `more` when they are more than are told.
std::vector<InboxClaimRow> claims_of(sqlite3* db, const std::string& event_id, bool& more) {
  ClusterNames clusters(db);
  Statement next(db, sql::kNextClaimGroup);
  Statement claim(db, sql::kClaimOfGroup);
  std::vector<InboxClaimRow> found;
  std::string group;
  while (true) {
    // A copy, since what is bound must stay while the name is replaced by the next.
    const std::string above = group;
    const ResetGuard next_guard(next);
    next.bind(1, std::string_view(above));
    if (!next.step()) return found;
    group = next.column_text(0);
    const ResetGuard claim_guard(claim);
    claim.bind(1, std::string_view(group)).bind(2, std::string_view(event_id));
    if (!claim.step()) continue;
    if (static_cast<std::int64_t>(found.size()) == kMostFound) {
      more = true;
      return found;
    }
    found.push_back(claim_from(claim, group, clusters));
  }
}

}  // namespace

void list_inbox_claims(sqlite3* db, const InboxClaimFilter& filter,
                       const std::function<void(const InboxClaimRow&)>& each) {
  const auto limit = static_cast<std::size_t>(std::max<std::int64_t>(filter.limit, 0));
  if (limit == 0) return;
  ClaimWalk walk(db, filter);
  if (filter.by_time) {
    for (const InboxClaimRow& claim : newest_claims(walk, limit)) each(claim);
    return;
  }
  for (std::size_t left = limit; left > 0 && !walk.ended();) {
    const auto found = walk.step(std::min(left, kRowsPerSnapshot));
    for (const InboxClaimRow& claim : found) each(claim);
    left -= found.size();
  }
}

void list_inbox_parked(sqlite3* db, const InboxParkedFilter& filter,
                       const std::function<void(const InboxParkedRow&)>& each) {
  const std::vector<std::int64_t> ids = newest_parked(db, filter);
  ParkedRows source(db);
  const std::size_t at_once = filter.with_payload ? 1 : kRowsPerSnapshot;
  std::vector<InboxParkedRow> rows;
  for (std::size_t from = 0; from < ids.size(); from += at_once) {
    rows.clear();
    {
      const Snapshot snapshot(db);
      for (std::size_t at = from; at < std::min(ids.size(), from + at_once); ++at) {
        if (auto row = source.find(ids[at], filter.with_payload)) rows.push_back(std::move(*row));
      }
    }
    for (const InboxParkedRow& row : rows) each(row);
  }
}

InboxEvent find_inbox_event(sqlite3* db, const std::string& event_id, bool with_payload) {
  const Snapshot snapshot(db);
  InboxEvent event;
  event.claims = claims_of(db, event_id, event.more);
  Statement parked(db, sql::kParkedOfEvent);
  parked.bind(1, std::string_view(event_id)).bind(2, kMostFound + 1);
  std::vector<std::int64_t> ids = ids_of(parked);
  if (static_cast<std::int64_t>(ids.size()) > kMostFound) {
    event.more = true;
    ids.pop_back();
  }
  ParkedRows source(db);
  for (const std::int64_t id : ids) {
    if (auto row = source.find(id, with_payload)) event.parked.push_back(std::move(*row));
  }
  return event;
}

}  // namespace txbox::store
