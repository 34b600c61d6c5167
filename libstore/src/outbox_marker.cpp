#include <sqlite3.h>

#include <algorithm>

#include <txbox/base/error.hpp>
#include <txbox/base/failpoint.hpp>
#include <txbox/store/outbox_marker.hpp>
#include <txbox/store/statement.hpp>
#include <txbox/store/transaction.hpp>

#include "held_releases.hpp"
#include "nonce.hpp"
#include "outbox_sql.hpp"
#include "store_checks.hpp"

namespace txbox::store {

namespace {

/// Two rows a note are read in one walk; where the notes lie further apart each row is looked up.
constexpr std::int64_t kWalkRowsPerNote = 2;

struct MarkFacts {
  std::int64_t settled_through = 0;
  std::int64_t pruned_through = 0;
  std::int64_t newest_id = 0;
  std::int64_t first_held = 0;  ///< 0 and 0: nothing is held.
  std::int64_t last_held = 0;
};

/// A receipt or hold, as far as it must fit its row.
struct Note {
  std::int64_t id;
  std::uint64_t nonce_prefix;
  std::size_t index;  ///< In the request's receipts, or behind them in its holds.
};

}  // namespace

struct OutboxMarker::State {
  explicit State(Connection& borrowed)
      : connection(borrowed),
        checks(borrowed),
        releases(db()),
        facts(db(), sql::kMarkFacts),
        nonces_between(db(), sql::kNoncesBetween),
        nonce_of_row(db(), sql::kNonceOfRow),
        insert_receipt(db(), sql::kInsertReceipt),
        nonce_of_receipt(db(), sql::kNonceOfReceipt),
        nonce_of_held(db(), sql::kNonceOfHeld),
        drop_held(db(), sql::kDropHeld),
        hold(db(), sql::kHold),
        raise_where_full(db(), sql::kRaiseWhereFull),
        raise_where_settled(db(), sql::kRaiseWhereSettled),
        settled_through(db(), sql::kSettledThrough),
        lane_is_held(db(), sql::kLaneIsHeld) {}

  [[nodiscard]] sqlite3* db() const noexcept { return connection.handle(); }

  Connection& connection;
  StoreChecks checks;
  HeldReleases releases;
  Statement facts;
  Statement nonces_between;
  Statement nonce_of_row;
  Statement insert_receipt;
  Statement nonce_of_receipt;
  Statement nonce_of_held;
  Statement drop_held;
  Statement hold;
  Statement raise_where_full;
  Statement raise_where_settled;
  Statement settled_through;
  Statement lane_is_held;
  std::int64_t cluster = 0;  ///< 0: not known; a receipt then names none.
  std::vector<Note> notes;   ///< Of the request under way, in id order, without those whose row was pruned.

  MarkFacts read_facts();
  void collect_notes(const MarkRequest& request);
  void match_rows(const MarkFacts& facts);
  void match_row(const Note& note, std::uint64_t nonce_prefix);
  [[nodiscard]] bool was_pruned(const Note& note, const MarkFacts& facts) const;
  void write_receipt(const Receipt& receipt, const MarkFacts& facts);
  void write_hold(const Hold& hold);
  void expect_same_row(Statement& nonce_of_note, std::int64_t id, std::uint64_t nonce_prefix, const char* what);
  void raise(std::int64_t wanted);
};

MarkFacts OutboxMarker::State::read_facts() {
  const ResetGuard guard(facts);
  if (!facts.step()) throw Error(ErrorCode::schema_differs, "outbox_progress is empty: run `outbox-relay init`");
  const MarkFacts found{.settled_through = facts.column_int64(0),
                        .pruned_through = facts.column_int64(1),
                        .newest_id = facts.column_int64(2),
                        .first_held = facts.column_int64(3),
                        .last_held = facts.column_int64(4)};
  if (found.settled_through > found.newest_id) checks.throw_restored("rows that were settled are gone");
  return found;
}

void OutboxMarker::State::collect_notes(const MarkRequest& request) {
  notes.clear();
  std::size_t index = 0;
  for (const Receipt& receipt : request.receipts) notes.push_back({receipt.id, receipt.nonce_prefix, index++});
  for (const Hold& wish : request.holds) notes.push_back({wish.id, wish.nonce_prefix, index++});
  const auto by_id = [](const Note& one, const Note& other) { return one.id < other.id; };
  if (!std::is_sorted(notes.begin(), notes.end(), by_id)) std::stable_sort(notes.begin(), notes.end(), by_id);
}

void OutboxMarker::State::match_row(const Note& note, std::uint64_t nonce_prefix) {
  if (nonce_prefix == note.nonce_prefix) return;
  checks.throw_restored("row " + std::to_string(note.id) + " is not the row that was published");
}

bool OutboxMarker::State::was_pruned(const Note& note, const MarkFacts& found) const {
  // Only what has a receipt or was skipped is pruned: another relay settled it long ago, and a note would be an orphan.
  if (note.id <= found.pruned_through) return true;
  checks.throw_restored("row " + std::to_string(note.id) + " is gone");
}

/// Takes out the notes whose row was pruned, and throws where a row is not the one that was read.
void OutboxMarker::State::match_rows(const MarkFacts& found) {
  if (notes.empty()) return;
  const std::int64_t span = notes.back().id - notes.front().id + 1;
  if (span > kWalkRowsPerNote * static_cast<std::int64_t>(notes.size())) {
    std::erase_if(notes, [&](const Note& note) {
      const ResetGuard guard(nonce_of_row);
      nonce_of_row.bind(1, note.id);
      if (!nonce_of_row.step()) return was_pruned(note, found);
      match_row(note, row_nonce_prefix(nonce_of_row, 0));
      return false;
    });
    return;
  }
  const ResetGuard guard(nonces_between);
  nonces_between.bind(1, notes.front().id).bind(2, notes.back().id);
  bool row_left = nonces_between.step();
  std::erase_if(notes, [&](const Note& note) {
    while (row_left && nonces_between.column_int64(0) < note.id) row_left = nonces_between.step();
    if (!row_left || nonces_between.column_int64(0) != note.id) return was_pruned(note, found);
    match_row(note, row_nonce_prefix(nonces_between, 1));
    return false;
  });
}

void OutboxMarker::State::expect_same_row(Statement& nonce_of_note, std::int64_t id, std::uint64_t nonce_prefix,
                                          const char* what) {
  const ResetGuard guard(nonce_of_note);
  nonce_of_note.bind(1, id);
  if (!nonce_of_note.step() || note_nonce_prefix(nonce_of_note.column_bytes(0)) == nonce_prefix) return;
  checks.throw_restored(std::string(what) + std::to_string(id) + " belongs to another row");
}

void OutboxMarker::State::write_receipt(const Receipt& receipt, const MarkFacts& found) {
  const NonceBytes nonce(receipt.nonce_prefix);
  insert_receipt.bind(1, receipt.id).bind_blob(2, nonce.view()).bind(3, cluster);
  insert_receipt.bind(4, std::int64_t{receipt.partition}).bind(5, receipt.offset).bind(6, receipt.sent_at_ms);
  insert_receipt.execute();
  if (sqlite3_changes(db()) == 0)
    expect_same_row(nonce_of_receipt, receipt.id, receipt.nonce_prefix, "the receipt of row ");
  if (receipt.id < found.first_held || receipt.id > found.last_held) return;
  expect_same_row(nonce_of_held, receipt.id, receipt.nonce_prefix, "the held row ");
  drop_held.bind(1, receipt.id);
  drop_held.execute();
}

void OutboxMarker::State::write_hold(const Hold& wish) {
  const NonceBytes nonce(wish.nonce_prefix);
  const std::string_view state = to_string(wish.state);
  hold.bind(1, wish.id).bind_blob(2, nonce.view()).bind(3, state).bind(4, wish.lane);
  hold.bind(5, std::int64_t{wish.attempts}).bind(6, wish.due_at_ms);
  if (wish.last_error.empty()) {
    hold.bind_null(7);
  } else {
    hold.bind(7, std::string_view(wish.last_error));
  }
  hold.execute();
  if (sqlite3_changes(db()) == 0) {
    expect_same_row(nonce_of_held, wish.id, wish.nonce_prefix, "the held row ");
    return;
  }
  if (wish.lane && (wish.state == HeldState::parked || wish.state == HeldState::waiting)) {
    releases.block_behind(*wish.lane, wish.id);
  }
}

void OutboxMarker::State::raise(std::int64_t wanted) {
  raise_where_full.bind(1, wanted);
  raise_where_full.execute();
  if (sqlite3_changes(db()) > 0) return;
  raise_where_settled.bind(1, wanted);
  raise_where_settled.execute();
}

OutboxMarker::OutboxMarker(Connection& connection) : state_(std::make_unique<State>(connection)) {}
OutboxMarker::~OutboxMarker() = default;

void OutboxMarker::use_cluster(const std::string& kafka_cluster_id) {
  State& state = *state_;
  state.checks.file_in_place();
  WriteTransaction transaction(state.db());
  state.checks.schema_unchanged();
  Statement find(state.db(), sql::kFindCluster);
  find.bind(1, std::string_view(kafka_cluster_id));
  const bool known = find.step();
  if (!known) {
    Statement add(state.db(), sql::kAddCluster);
    add.bind(1, std::string_view(kafka_cluster_id));
    add.execute();
    find.reset();
    find.bind(1, std::string_view(kafka_cluster_id));
    if (!find.step()) throw Error(ErrorCode::failure, "outbox_cluster: the cluster that was added is not there");
  }
  const std::int64_t number = find.column_int64(0);
  find.reset();
  transaction.commit();
  state.cluster = number;
}

MarkResult OutboxMarker::mark(const MarkRequest& request) {
  State& state = *state_;
  state.checks.file_in_place();
  WriteTransaction transaction(state.db());
  state.checks.schema_unchanged();
  const MarkFacts facts = state.read_facts();
  state.collect_notes(request);
  state.match_rows(facts);
  // Receipts first, whatever the order of ids: a hold asks whether a receipt stands (I3).
  const std::size_t receipt_count = request.receipts.size();
  for (const Note& note : state.notes) {
    if (note.index < receipt_count) state.write_receipt(request.receipts[note.index], facts);
  }
  TXBOX_FAILPOINT("marker:after-receipts");
  for (const Note& note : state.notes) {
    if (note.index >= receipt_count) state.write_hold(request.holds[note.index - receipt_count]);
  }
  if (request.settled_through > facts.settled_through) state.raise(request.settled_through);

  MarkResult result;
  {
    const ResetGuard guard(state.settled_through);
    if (state.settled_through.step()) result.settled_through = state.settled_through.column_int64(0);
  }
  for (const Lane lane : request.lanes) {
    const ResetGuard guard(state.lane_is_held);
    state.lane_is_held.bind(1, lane);
    if (!state.lane_is_held.step()) result.clear_lanes.push_back(lane);
  }
  TXBOX_FAILPOINT("marker:before-commit");
  transaction.commit();
  TXBOX_FAILPOINT("marker:after-commit");
  return result;
}

namespace {

/// One write transaction around a release.
template <typename Release>
auto released(StoreChecks& checks, sqlite3* db, Release release) {
  checks.file_in_place();
  WriteTransaction transaction(db);
  checks.schema_unchanged();
  const auto rows = release();
  TXBOX_FAILPOINT("release:before-commit");
  transaction.commit();
  return rows;
}

}  // namespace

std::int64_t OutboxMarker::release_due(std::int64_t now_ms, std::int64_t limit) {
  return released(state_->checks, state_->db(), [&] { return state_->releases.due(now_ms, limit); });
}

TopicRelease OutboxMarker::release_topic(const std::string& topic, std::int64_t after, std::int64_t limit) {
  return released(state_->checks, state_->db(), [&] { return state_->releases.topic(topic, after, limit); });
}

std::int64_t OutboxMarker::release_lane(Lane lane, std::int64_t limit) {
  return released(state_->checks, state_->db(), [&] { return state_->releases.lane(lane, limit); });
}

}  // namespace txbox::store
