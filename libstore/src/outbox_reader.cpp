#include <sqlite3.h>

#include <limits>
#include <optional>
#include <unordered_map>

#include <txbox/base/error.hpp>
#include <txbox/store/outbox_reader.hpp>
#include <txbox/store/statement.hpp>
#include <txbox/store/transaction.hpp>

#include "nonce.hpp"
#include "outbox_sql.hpp"
#include "row_arena.hpp"
#include "store_checks.hpp"
#include "wal_sync.hpp"

namespace txbox::store {

RowBatch::RowBatch() : arena_(std::make_unique<Arena>()) {}
RowBatch::~RowBatch() = default;
RowBatch::RowBatch(RowBatch&&) noexcept = default;
RowBatch& RowBatch::operator=(RowBatch&&) noexcept = default;

void RowBatch::clear() noexcept {
  rows_.clear();
  arena_->rewind();
}

namespace {

struct SnapshotFacts {
  std::int64_t newest_id = 0;
  std::int64_t settled_through = 0;
  std::int64_t pruned_through = 0;
  std::int64_t newest_receipt = 0;
  std::int64_t newest_held = 0;
};

/// How far the walk of read_ready has looked along a lane.
struct LaneWalk {
  std::int64_t looked_through = 0;
  bool blocked = false;
};

std::optional<std::int32_t> partition_of(const Statement& row, int column) {
  const std::optional<std::int64_t> value = row.column_optional(column);
  if (!value) return std::nullopt;
  // The guards keep it in range; a row written around them must not change its partition silently.
  if (*value < 0 || *value > std::numeric_limits<std::int32_t>::max()) return std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(*value);
}

}  // namespace

/// What an idle database does without: some 50 KiB once they are prepared.
struct ReaderStatements {
  explicit ReaderStatements(sqlite3* db)
      : facts(db, sql::kSnapshotFacts),
        read_after(db, sql::kReadAfter),
        read_row(db, sql::kReadRow),
        receipts(db, sql::kReceiptsBetween),
        held(db, sql::kHeldBetween),
        ready(db, sql::kReadyAfter),
        lane_blocker(db, sql::kLaneBlockerBetween),
        held_lanes(db, sql::kHeldLanes),
        newest_deed(db, sql::kNewestDeed),
        next_due(db, sql::kNextDue),
        waiting_topics(db, sql::kWaitingTopics) {}

  Statement facts;
  Statement read_after;
  Statement read_row;
  Statement receipts;
  Statement held;
  Statement ready;
  Statement lane_blocker;
  Statement held_lanes;
  Statement newest_deed;
  Statement next_due;
  Statement waiting_topics;
};

struct OutboxReader::State {
  explicit State(Connection& borrowed)
      : connection(borrowed), checks(borrowed), wal_sync(borrowed), data_version(db(), sql::kDataVersion) {
    statements.emplace(db());
  }

  [[nodiscard]] sqlite3* db() const noexcept { return connection.handle(); }
  [[nodiscard]] ReaderStatements& use() { return statements ? *statements : prepare(); }
  ReaderStatements& prepare();

  Connection& connection;
  StoreChecks checks;
  WalSync wal_sync;
  Statement data_version;
  std::optional<ReaderStatements> statements;  ///< None at rest.
  Anchor newest_read;                          ///< What every snapshot is compared with.
  Anchor barriered;                            ///< newest_read as it was at the last barrier.
  std::unordered_map<Lane, LaneWalk> lane_walks;

  SnapshotFacts check_snapshot();
  void append(const Statement& source, RowBatch& out) const;
  void note_receipts(RowBatch& out);
  void note_held(RowBatch& out);
  void remember(const OutboxRow& row) noexcept {
    if (row.id > newest_read.id) newest_read = {row.id, row.nonce_prefix};
  }
  bool stands_behind_another(Lane lane, std::int64_t id);
};

/// The schema is checked first: preparing would but say that a table or a column is missing.
ReaderStatements& OutboxReader::State::prepare() {
  std::optional<ReadTransaction> snapshot;
  if (sqlite3_get_autocommit(db()) != 0) snapshot.emplace(db());
  checks.schema_unchanged();
  return statements.emplace(db());
}

SnapshotFacts OutboxReader::State::check_snapshot() {
  checks.schema_unchanged();
  Statement& facts = use().facts;
  const ResetGuard guard(facts);
  facts.bind(1, newest_read.id);
  if (!facts.step()) throw Error(ErrorCode::schema_differs, "outbox_progress is empty: run `outbox-relay init`");
  const SnapshotFacts found{.newest_id = facts.column_int64(0),
                            .settled_through = facts.column_int64(1),
                            .pruned_through = facts.column_int64(2),
                            .newest_receipt = facts.column_int64(3),
                            .newest_held = facts.column_int64(4)};
  if (found.settled_through > found.newest_id) checks.throw_restored("rows that were settled are gone");
  if (newest_read.id == 0) return found;
  // Retention may take the anchor away once newer rows stand behind it; then pruned_through has passed it.
  const bool gone = facts.column_is_null(5);
  if (gone && newest_read.id > found.pruned_through) checks.throw_restored("the newest row that was read is gone");
  if (!gone && row_nonce_prefix(facts, 5) != newest_read.nonce_prefix) {
    checks.throw_restored("the newest row that was read is another one now");
  }
  return found;
}

void OutboxReader::State::append(const Statement& source, RowBatch& out) const {
  RowBatch::Arena& arena = *out.arena_;
  OutboxRow& row = out.rows_.emplace_back();
  row.id = source.column_int64(0);
  const BytesView nonce = source.column_bytes(1);
  if (nonce.size() == kNonceSize && source.column_type(1) == SQLITE_BLOB) {
    row.nonce = arena.copy(nonce).view();
    row.nonce_prefix = prefix_from(nonce.data());
  }
  row.event_id = arena.copy(source.column_bytes(2)).view();
  row.topic = arena.copy(source.column_bytes(3)).view();
  row.partition = partition_of(source, 4);
  row.key = arena.copy(source.column_bytes(5));
  row.payload = arena.copy(source.column_bytes(6));
  row.headers = arena.copy(source.column_bytes(7));
  row.created_at_ms = source.column_int64(8);
  row.deliver_at_ms = source.column_optional(9);
  row.as_is = source.column_int64(10) != 0;
}

void OutboxReader::State::note_receipts(RowBatch& out) {
  Statement& receipts = use().receipts;
  const ResetGuard guard(receipts);
  receipts.bind(1, out.rows_.front().id).bind(2, out.rows_.back().id);
  auto row = out.rows_.begin();
  while (receipts.step()) {
    const std::int64_t id = receipts.column_int64(0);
    while (row != out.rows_.end() && row->id < id) ++row;
    if (row == out.rows_.end()) return;
    if (row->id != id) continue;
    if (note_nonce_prefix(receipts.column_bytes(1)) != row->nonce_prefix) {
      checks.throw_restored("the receipt of row " + std::to_string(id) + " belongs to another row");
    }
    row->sent = true;
  }
}

void OutboxReader::State::note_held(RowBatch& out) {
  Statement& held = use().held;
  const ResetGuard guard(held);
  held.bind(1, out.rows_.front().id).bind(2, out.rows_.back().id);
  auto row = out.rows_.begin();
  while (held.step()) {
    const std::int64_t id = held.column_int64(0);
    while (row != out.rows_.end() && row->id < id) ++row;
    if (row == out.rows_.end()) return;
    if (row->id != id) continue;
    if (note_nonce_prefix(held.column_bytes(1)) != row->nonce_prefix) {
      checks.throw_restored("the held row " + std::to_string(id) + " belongs to another row");
    }
    row->held = held_state_from(held.column_text(2));
    row->held_lane = held.column_optional(3);
    row->attempts = static_cast<std::int32_t>(held.column_int64(4));
    row->redriven = held.column_int64(5) != 0;
  }
}

bool OutboxReader::State::stands_behind_another(Lane lane, std::int64_t id) {
  LaneWalk& walk = lane_walks[lane];
  if (walk.blocked) return true;
  Statement& lane_blocker = use().lane_blocker;
  const ResetGuard guard(lane_blocker);
  lane_blocker.bind(1, lane).bind(2, walk.looked_through).bind(3, id);
  walk.blocked = lane_blocker.step();
  walk.looked_through = id;
  return walk.blocked;
}

OutboxReader::OutboxReader(Connection& connection) : state_(std::make_unique<State>(connection)) {}
OutboxReader::~OutboxReader() = default;

Progress OutboxReader::progress() {
  state_->checks.file_in_place();
  const ReadTransaction snapshot(state_->db());
  const SnapshotFacts facts = state_->check_snapshot();
  return {
      .settled_through = facts.settled_through, .pruned_through = facts.pruned_through, .newest_id = facts.newest_id};
}

std::vector<LaneLoad> OutboxReader::held_lanes() {
  state_->checks.file_in_place();
  const ReadTransaction snapshot(state_->db());
  state_->check_snapshot();
  Statement& held_lanes = state_->use().held_lanes;
  const ResetGuard guard(held_lanes);
  std::vector<LaneLoad> loads;
  while (held_lanes.step()) {
    loads.push_back({.lane = held_lanes.column_int64(0),
                     .held = held_lanes.column_int64(1),
                     .stands_at_head = held_lanes.column_int64(2) != 0});
  }
  return loads;
}

std::int64_t OutboxReader::newest_deed() {
  state_->checks.file_in_place();
  Statement& newest_deed = state_->use().newest_deed;
  const ResetGuard guard(newest_deed);
  return newest_deed.step() ? newest_deed.column_optional(0).value_or(0) : 0;
}

ReadResult OutboxReader::read_after(std::int64_t after, const ReadLimits& limits, RowBatch& out) {
  out.clear();
  state_->checks.file_in_place();
  const ReadTransaction snapshot(state_->db());
  const SnapshotFacts facts = state_->check_snapshot();
  ReadResult result{.exhausted = true, .newest_id = facts.newest_id};
  if (facts.newest_id <= after) return result;
  {
    Statement& source = state_->use().read_after;
    const ResetGuard guard(source);
    source.bind(1, after);
    std::int64_t bytes = 0;
    while (static_cast<std::int64_t>(out.rows_.size()) < limits.rows && (out.rows_.empty() || bytes < limits.bytes) &&
           source.step()) {
      state_->append(source, out);
      bytes += static_cast<std::int64_t>(out.rows_.back().record_bytes());
    }
  }
  if (out.rows_.empty()) return result;
  // A relay that keeps up finds neither receipts nor held rows above its cursor, and then looks for none.
  if (facts.newest_receipt >= out.rows_.front().id) state_->note_receipts(out);
  if (facts.newest_held >= out.rows_.front().id) state_->note_held(out);
  state_->remember(out.rows_.back());
  result.exhausted = out.rows_.back().id == facts.newest_id;
  return result;
}

ReadResult OutboxReader::read_ready(std::int64_t after, std::int64_t scanned_through, const ReadLimits& limits,
                                    RowBatch& out) {
  out.clear();
  state_->checks.file_in_place();
  const ReadTransaction snapshot(state_->db());
  const SnapshotFacts facts = state_->check_snapshot();
  ReadResult result{.exhausted = true, .newest_id = facts.newest_id};
  state_->lane_walks.clear();
  Statement& ready = state_->use().ready;
  Statement& read_row = state_->use().read_row;
  const ResetGuard guard(ready);
  ready.bind(1, after).bind(2, scanned_through);
  std::int64_t bytes = 0;
  while (ready.step()) {
    if (static_cast<std::int64_t>(out.rows_.size()) >= limits.rows || (!out.rows_.empty() && bytes >= limits.bytes)) {
      result.exhausted = false;
      break;
    }
    const std::int64_t id = ready.column_int64(0);
    const std::optional<Lane> lane = ready.column_optional(2);
    if (lane && state_->stands_behind_another(*lane, id)) continue;
    const ResetGuard row_guard(read_row);
    read_row.bind(1, id);
    if (!read_row.step()) continue;
    state_->append(read_row, out);
    OutboxRow& row = out.rows_.back();
    if (note_nonce_prefix(ready.column_bytes(1)) != row.nonce_prefix) {
      state_->checks.throw_restored("the held row " + std::to_string(id) + " belongs to another row");
    }
    row.held = HeldState::ready;
    row.held_lane = lane;
    row.attempts = static_cast<std::int32_t>(ready.column_int64(3));
    row.redriven = ready.column_int64(4) != 0;
    bytes += static_cast<std::int64_t>(row.record_bytes());
  }
  if (out.rows_.empty()) return result;
  // I3 says that none has a receipt; asked all the same, because what follows is a publication.
  if (facts.newest_receipt >= out.rows_.front().id) state_->note_receipts(out);
  state_->remember(out.rows_.back());
  return result;
}

std::optional<std::int64_t> OutboxReader::next_due_ms() {
  state_->checks.file_in_place();
  Statement& next_due = state_->use().next_due;
  const ResetGuard guard(next_due);
  return next_due.step() ? next_due.column_optional(0) : std::nullopt;
}

std::vector<std::string> OutboxReader::waiting_topics() {
  state_->checks.file_in_place();
  Statement& waiting_topics = state_->use().waiting_topics;
  const ResetGuard guard(waiting_topics);
  std::vector<std::string> topics;
  while (waiting_topics.step()) topics.emplace_back(waiting_topics.column_text(0));
  return topics;
}

void OutboxReader::barrier() {
  state_->wal_sync.sync();
  state_->barriered = state_->newest_read;
}

std::int64_t OutboxReader::data_version() {
  std::int64_t version = 0;
  {
    const ResetGuard guard(state_->data_version);
    if (state_->data_version.step()) version = state_->data_version.column_int64(0);
  }
  // The first page alone is at once a run of pages.
  if (!state_->statements) state_->connection.release_pages();
  return version;
}

OutboxReader::Version OutboxReader::version() {
  const StoreChecks::FileTimes file = state_->checks.file_in_place();
  return {data_version(), file.bytes, file.changed_at_ns};
}

void OutboxReader::rest() {
  state_->lane_walks = {};
  state_->statements.reset();
  state_->checks.rest();
  state_->connection.release_memory();
}

OutboxReader::Anchor OutboxReader::anchor() const noexcept { return state_->barriered; }

void OutboxReader::set_anchor(const Anchor& anchor) noexcept {
  state_->newest_read = anchor;
  state_->barriered = anchor;
}

}  // namespace txbox::store
