#include <limits>

#include <sqlite3.h>

#include <txbox/base/check.hpp>
#include <txbox/base/error.hpp>
#include <txbox/base/failpoint.hpp>
#include <txbox/store/schema.hpp>
#include <txbox/store/transaction.hpp>

#include "inbox_sql.hpp"
#include "inbox_state.hpp"

namespace txbox::store {

namespace {

constexpr std::size_t kGroupLimitBytes = 255;
constexpr std::int64_t kNoReset = -1;
constexpr std::int64_t kBeyondAllOffsets = std::numeric_limits<std::int64_t>::max();

std::string_view checked_group(std::string_view group) {
  if (!group.empty() && group.size() <= kGroupLimitBytes && group.find('\0') == std::string_view::npos) return group;
  throw Error(ErrorCode::invalid_argument, "a consumer group's name has 1 to 255 bytes without NUL");
}

std::string name_of(const InboxPlace& place) { return place.topic + " [" + std::to_string(place.partition) + "]"; }

std::optional<std::int64_t> find_cluster(sqlite3* db, std::string_view cluster_id) {
  Statement find(db, sql::kFindInboxCluster);
  find.bind(1, cluster_id);
  if (!find.step()) return std::nullopt;
  return find.column_int64(0);
}

/// How a partition is to stand once it is taken; null where its row must stay as it is.
std::optional<InboxPosition> taken(const InboxStore::Take& take, const std::optional<InboxPosition>& before) {
  if (!before && (!take.set_next || take.loaded_next)) {
    throw Error(ErrorCode::failure, "the position of " + name_of(take.place) +
                                        " is not in the database any more: were its rows deleted by hand?");
  }
  if (!before) return InboxPosition{.next_offset = *take.set_next, .clean = true, .reset_to = {}, .assignment = 1};
  const bool taken_meanwhile = take.loaded_assignment && *take.loaded_assignment != before->assignment;
  if (take.set_next && (taken_meanwhile || take.loaded_next != before->next_offset)) return std::nullopt;
  InboxPosition after = *before;
  after.next_offset = take.set_next.value_or(before->next_offset);
  ++after.assignment;
  return after;
}

}  // namespace

InboxStore::InboxStore(Connection& connection, std::string_view group)
    : state_(std::make_unique<State>(connection, checked_group(group))) {}

InboxStore::~InboxStore() = default;

std::int64_t InboxStore::use_cluster(std::string_view cluster_id) {
  State& state = *state_;
  sqlite3* db = state.db();
  if (cluster_id.empty()) throw Error(ErrorCode::invalid_argument, "the id of the Kafka cluster is empty");
  std::optional<std::int64_t> number = find_cluster(db, cluster_id);
  if (!number) {
    state.checks.file_in_place();
    WriteTransaction transaction(db);
    state.checks.schema_unchanged();
    Statement add(db, sql::kAddInboxCluster);
    add.bind(1, cluster_id);
    add.execute();
    number = find_cluster(db, cluster_id);
    TXBOX_FAILPOINT("inbox:cluster-before-commit");
    transaction.commit();
  }
  state.cluster = number.value();
  state.claim_bound = false;
  return state.cluster;
}

std::optional<InboxPosition> InboxStore::State::read_position(const InboxPlace& place) {
  const ResetGuard guard(position);
  if (!bind_place(position, place).step()) return std::nullopt;
  return InboxPosition{.next_offset = position.column_int64(0),
                       .clean = position.column_int64(1) != 0,
                       .reset_to = position.column_optional(2),
                       .assignment = position.column_int64(3)};
}

std::optional<InboxPosition> InboxStore::position(const InboxPlace& place) { return state_->read_position(place); }

std::vector<InboxPosition> InboxStore::take(std::span<const Take> takes) {
  State& state = *state_;
  state.checks.file_in_place();
  WriteTransaction transaction(state.db());
  state.checks.schema_unchanged();
  Statement write(state.db(), sql::kTakePlace);
  Statement forget(state.db(), sql::kForgetAttemptsBelow);
  std::vector<InboxPosition> positions;
  positions.reserve(takes.size());
  for (const Take& take : takes) {
    const std::optional<InboxPosition> before = state.read_position(take.place);
    std::optional<InboxPosition> after = taken(take, before);
    if (!after) {
      positions.push_back(*before);
      positions.back().left = true;
      continue;
    }
    if (take.reset_to) after->reset_to = *take.reset_to == kNoReset ? std::nullopt : take.reset_to;
    state.bind_place(write, take.place).bind(5, after->next_offset).bind(6, after->reset_to).bind(7, inbox_now_ms());
    write.execute();
    // What stands at offsets of a position that jumped may be of other records: of a topic that was made anew.
    const bool jumped = !before || before->next_offset != after->next_offset;
    state.bind_place(forget, take.place).bind(5, jumped ? kBeyondAllOffsets : after->next_offset);
    forget.execute();
    positions.push_back(*after);
  }
  TXBOX_FAILPOINT("inbox:take-before-commit");
  transaction.commit();
  return positions;
}

void InboxStore::give_up(std::span<const GiveUp> places) {
  State& state = *state_;
  state.checks.file_in_place();
  WriteTransaction transaction(state.db());
  state.checks.schema_unchanged();
  Statement write(state.db(), sql::kGiveUpPlace);
  Statement take_back(state.db(), sql::kTakeBackStarted);
  Statement forget(state.db(), sql::kForgetUntried);
  for (const GiveUp& wish : places) {
    const std::int64_t now_ms = inbox_now_ms();
    state.bind_place(write, wish.place).bind(5, wish.expected_next).bind(6, wish.assignment).bind(7, now_ms);
    write.bind(8, std::int64_t{wish.clean});
    if (!state.changed(write) || !wish.not_tried) continue;
    state.bind_place(take_back, wish.place).bind(5, *wish.not_tried).bind(6, now_ms);
    take_back.execute();
    state.bind_place(forget, wish.place).bind(5, *wish.not_tried);
    forget.execute();
  }
  TXBOX_FAILPOINT("inbox:give-up-before-commit");
  transaction.commit();
}

void InboxStore::barrier() { state_->wal_sync.sync(); }

}  // namespace txbox::store
