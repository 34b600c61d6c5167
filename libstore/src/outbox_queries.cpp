#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <span>

#include <txbox/base/event_id.hpp>
#include <txbox/store/outbox_queries.hpp>
#include <txbox/store/statement.hpp>

#include "outbox_sql.hpp"
#include "snapshot.hpp"

namespace txbox::store {

namespace {

/// Rows copied out in one snapshot; then it is given up, since the caller may write them to a slow terminal.
constexpr std::size_t kRowsPerSnapshot = 256;
/// A composed event id carries its row's time. Times are nearly in the order of ids, so it is looked for this near to
/// where its time belongs, and in the whole table only after that.
constexpr std::int64_t kNearIds = 20'000;

std::string optional_text(const Statement& row, int column) { return std::string(row.column_text(column)); }

class StatusRows {
 public:
  explicit StatusRows(sqlite3* db) : row_(db, sql::kStatusRow), payload_(db, sql::kPayloadOfRow) {}

  std::optional<StatusRow> find(std::int64_t id, bool with_payload) {
    const ResetGuard guard(row_);
    row_.bind(1, id);
    if (!row_.step()) return std::nullopt;
    StatusRow found;
    found.id = row_.column_int64(0);
    found.event_id = row_.column_text(1);
    found.topic = row_.column_text(2);
    found.key = Bytes(row_.column_bytes(3));
    found.state = row_.column_text(4);
    found.attempts = row_.column_int64(5);
    found.due_at_ms = row_.column_optional(6);
    if (!row_.column_is_null(7)) found.last_error = optional_text(row_, 7);
    found.partition = row_.column_optional(8);
    found.offset = row_.column_optional(9);
    found.created_at_ms = row_.column_int64(10);
    found.sent_at_ms = row_.column_optional(11);
    if (with_payload) add_payload(found);
    return found;
  }

 private:
  void add_payload(StatusRow& found) {
    const ResetGuard guard(payload_);
    payload_.bind(1, found.id);
    if (!payload_.step()) return;
    found.payload = Bytes(payload_.column_bytes(0));
    found.headers = Bytes(payload_.column_bytes(1));
  }

  Statement row_;
  Statement payload_;
};

/// Where rows of a state can be: the view's own computation of the state decides, this only spares it history.
std::string_view candidates_of(std::string_view state) {
  if (state == "ready" || state == "scheduled") {
    return " AND v.id IN (SELECT id FROM outbox_held WHERE state = ?1 UNION ALL"
           " SELECT id FROM outbox WHERE id > (SELECT settled_through FROM outbox_progress))";
  }
  if (state == "sent") return "";
  return " AND v.id IN (SELECT id FROM outbox_held WHERE state = ?1)";
}

std::vector<std::int64_t> matching_ids(sqlite3* db, const RowFilter& filter) {
  // Of fixed pieces: what the user gave is only ever bound.
  std::string text = "SELECT v.id FROM outbox_status AS v WHERE 1";
  if (filter.state) text.append(" AND v.state = ?1").append(candidates_of(*filter.state));
  if (filter.topic) text += " AND v.topic = ?2";
  if (filter.key) text += " AND CAST(v.key AS BLOB) = ?3";
  text += " ORDER BY v.id DESC LIMIT ?4";
  Statement ids(db, text);
  if (filter.state) ids.bind(1, std::string_view(*filter.state));
  if (filter.topic) ids.bind(2, std::string_view(*filter.topic));
  if (filter.key) ids.bind_blob(3, BytesView(std::string_view(*filter.key)));
  ids.bind(4, std::max<std::int64_t>(filter.limit, 0));
  std::vector<std::int64_t> found;
  while (ids.step()) found.push_back(ids.column_int64(0));
  std::reverse(found.begin(), found.end());
  return found;
}

/// The time of a UUIDv7 (its first 12 digits); nullopt for any other text.
std::optional<std::int64_t> time_of_uuid7(std::string_view id) {
  if (id.size() != 36 || id[8] != '-' || id[13] != '-' || id[14] != '7') return std::nullopt;
  const std::string digits = std::string(id.substr(0, 8)) + std::string(id.substr(9, 4));
  std::int64_t time = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), time, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return time;
}

class ComposedIds {
 public:
  ComposedIds(sqlite3* db, std::string_view event_id, std::int64_t created_at_ms)
      : event_id_(event_id),
        created_at_ms_(created_at_ms),
        ends_(db, sql::kIdEnds),
        first_from_(db, sql::kFirstFrom),
        between_(db, sql::kComposedBetween) {}

  std::optional<std::int64_t> find() {
    ends_.step();
    const std::int64_t first = ends_.column_int64(0);
    const std::int64_t last = ends_.column_int64(1);
    ends_.reset();
    if (last < first) return std::nullopt;
    const std::int64_t near = first_not_before(first, last);
    if (const auto id = scan(near - kNearIds, near + kNearIds)) return id;
    return scan(first, last);
  }

 private:
  /// By halving: right where times rise with ids, a guess where the application set them.
  std::int64_t first_not_before(std::int64_t low, std::int64_t high) {
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const ResetGuard guard(first_from_);
      first_from_.bind(1, middle);
      if (first_from_.step() && first_from_.column_int64(1) < created_at_ms_) {
        low = first_from_.column_int64(0) + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  std::optional<std::int64_t> scan(std::int64_t from, std::int64_t through) {
    const ResetGuard guard(between_);
    between_.bind(1, from).bind(2, through).bind(3, created_at_ms_);
    while (between_.step()) {
      const BytesView nonce = between_.column_bytes(1);
      if (nonce.size() != kNonceSize) continue;
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(nonce.data());
      if (event_id_from(created_at_ms_, std::span<const std::uint8_t>(bytes, nonce.size())) == event_id_)
        return between_.column_int64(0);
    }
    return std::nullopt;
  }

  std::string_view event_id_;
  std::int64_t created_at_ms_;
  Statement ends_;
  Statement first_from_;
  Statement between_;
};

std::optional<std::int64_t> id_of(sqlite3* db, const std::string& event_id) {
  Statement given(db, sql::kIdOfEvent);
  given.bind(1, std::string_view(event_id));
  if (given.step()) return given.column_int64(0);
  const std::optional<std::int64_t> time = time_of_uuid7(event_id);
  return time ? ComposedIds(db, event_id, *time).find() : std::nullopt;
}

}  // namespace

void list_outbox(sqlite3* db, const RowFilter& filter, const std::function<void(const StatusRow&)>& each) {
  list_outbox_rows(db, matching_ids(db, filter), filter.with_payload, each);
}

void list_outbox_rows(sqlite3* db, std::span<const std::int64_t> ids, bool with_payload,
                      const std::function<void(const StatusRow&)>& each) {
  StatusRows source(db);
  std::vector<StatusRow> rows;
  for (std::size_t from = 0; from < ids.size(); from += kRowsPerSnapshot) {
    rows.clear();
    {
      const Snapshot snapshot(db);
      for (std::size_t at = from; at < std::min(ids.size(), from + kRowsPerSnapshot); ++at) {
        if (auto row = source.find(ids[at], with_payload)) rows.push_back(std::move(*row));
      }
    }
    for (const StatusRow& row : rows) each(row);
  }
}

std::vector<std::int64_t> choose_outbox_rows(sqlite3* db, const RowChoice& choice) {
  const Snapshot snapshot(db);
  std::vector<std::int64_t> chosen;
  for (const std::string& state : choice.states) {
    RowFilter filter{.state = state, .topic = choice.topic, .key = choice.key};
    filter.limit = std::numeric_limits<std::int64_t>::max();
    const std::vector<std::int64_t> ids = matching_ids(db, filter);
    chosen.insert(chosen.end(), ids.begin(), ids.end());
  }
  std::sort(chosen.begin(), chosen.end());
  // The clock may make a scheduled row ready between two states.
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

std::optional<StatusRow> find_outbox_row(sqlite3* db, const std::string& event_id) {
  const Snapshot snapshot(db);
  const std::optional<std::int64_t> id = id_of(db, event_id);
  return id ? StatusRows(db).find(*id, true) : std::nullopt;
}

}  // namespace txbox::store
