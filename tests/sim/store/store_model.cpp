#include "sim/store/store_model.hpp"

#include <algorithm>
#include <filesystem>

#include <txbox/store/statement.hpp>
#include <txbox/store/transaction.hpp>

namespace txbox::test {

using store::Statement;
using store::ToolAction;

namespace {

constexpr std::int64_t kFarFuture = 4'000'000'000'000;  ///< Later than any clock that runs this test.
constexpr std::int64_t kAfterFarFuture = 5'000'000'000'000;

std::string copied(const std::string& prepared, const std::string& path) {
  std::filesystem::copy_file(prepared, path);
  return path;
}

}  // namespace

StoreModel::StoreModel(const std::string& prepared, std::uint64_t seed)
    : path_(copied(prepared, dir_.file("m.db"))), random_(seed), app_(std::make_unique<AppDatabase>(path_)) {
  app_->run("PRAGMA synchronous=OFF");
  questions_ = std::make_unique<Questions>(*app_);
  tool_ = std::make_unique<store::Connection>(store::Connection::open(path_, {}));
  store::execute(tool_->handle(), "PRAGMA synchronous=OFF");
  pruner_ = std::make_unique<store::OutboxPruner>(*tool_);
  start_relay(0);
  last_ = picture();
}

std::string StoreModel::run(int steps) {
  for (int index = 0; index < steps; ++index) {
    step();
    std::string broken = check();
    if (broken.empty() && index % 8 == 0) broken = check_counts();
    if (!broken.empty()) return "after step " + std::to_string(index) + ": " + broken;
  }
  drain();
  for (const std::string& broken : {check(), check_counts(), all_settled()}) {
    if (!broken.empty()) return "after draining: " + broken;
  }
  return {};
}

void StoreModel::step() {
  const std::uint64_t choice = random_.below(100);
  if (choice < 18) return insert();
  if (choice < 26) return act_as_person();
  if (choice < 29) return prune();
  if (choice < 33) return change_the_world();
  if (choice < 37) return start_relay(random_.below(2));  // A crash and a start, a standby, or a second relay.
  if (choice < 39) return relays_[random_.below(2)].reset();
  ModelRelay* relay = relays_[random_.below(2)].get();
  if (relay != nullptr) relay_step(*relay);
}

void StoreModel::start_relay(std::size_t place) {
  relays_[place].reset();
  relays_[place] = std::make_unique<ModelRelay>(path_, broker_, random_);
}

void StoreModel::relay_step(ModelRelay& relay) {
  const std::uint64_t choice = random_.below(20);
  if (choice < 6) return relay.read(now_ms_);
  if (choice < 12) return relay.deliver();
  if (choice < 16) return relay.mark(random_.below(2) == 0);
  if (choice < 18) return relay.read_ready();
  relay.release(now_ms_);
}

void StoreModel::insert() {
  static const char* const kKeys[] = {"'k'", "'l'", "x''", "NULL"};
  const bool rolled_back = random_.below(10) == 0;
  std::map<std::int64_t, Row> added;
  app_->run("BEGIN IMMEDIATE");
  const std::uint64_t count = 1 + random_.below(3);
  for (std::uint64_t index = 0; index < count; ++index) {
    const std::string topic = random_.below(2) == 0 ? "a" : "b";
    const std::string key = kKeys[random_.below(4)];
    const bool scheduled = random_.below(8) == 0;
    const std::int64_t deliver_at_ms = random_.below(2) == 0 ? kFarFuture : 1'600'000'000'000;
    app_->run("INSERT INTO outbox(topic, key, payload, deliver_at) VALUES ('" + topic + "', " + key + ", 'p', " +
              (scheduled ? std::to_string(deliver_at_ms) : "NULL") + ")");
    const std::int64_t id = sqlite3_last_insert_rowid(*app_);
    Row row;
    if (key != "NULL" && !scheduled) {
      row.lane = store::lane_of(topic, std::nullopt, key == "x''" ? "" : key.substr(1, 1));
    }
    added.emplace(id, row);
    if (!rolled_back && random_.below(6) == 0) broker_.refused_rows.insert(id);
  }
  app_->run(rolled_back ? "ROLLBACK" : "COMMIT");
  if (!rolled_back) rows_.merge(added);
}

void StoreModel::apply(ToolAction action, std::int64_t id) {
  const std::int64_t ids[] = {id};
  const auto outcome = store::apply_tool(*tool_, action, ids, {.who = "model", .why = ""}).at(0);
  if (action == ToolAction::skip && outcome == store::ToolOutcome::done) rows_.at(id).skipped_once = true;
}

void StoreModel::act_as_person() {
  if (rows_.empty()) return;
  // Of the newest rows, because those are under way.
  auto row = rows_.rbegin();
  std::advance(row, static_cast<std::ptrdiff_t>(random_.below(std::min<std::uint64_t>(8, rows_.size()))));
  const std::uint64_t choice = random_.below(10);
  apply(choice < 3 ? ToolAction::park : choice < 5 ? ToolAction::skip : ToolAction::retry, row->first);
}

void StoreModel::prune() {
  const bool skipped = random_.below(3) == 0;
  pruner_->step({.sent_before_ms = static_cast<std::int64_t>(random_.below(6)),
                 .skipped_before_ms = skipped ? kAfterFarFuture : 0,
                 .rows = 1 + static_cast<std::int64_t>(random_.below(6))});
}

void StoreModel::change_the_world() {
  const std::string topic = random_.below(2) == 0 ? "a" : "b";
  const std::uint64_t choice = random_.below(10);
  if (choice < 3) {
    broker_.paused_topics.insert(topic);
  } else if (choice < 7) {
    broker_.paused_topics.erase(topic);
  } else if (choice < 9) {
    if (!broker_.refused_rows.empty()) broker_.refused_rows.erase(broker_.refused_rows.begin());
  } else {
    now_ms_ = kAfterFarFuture;
  }
}

void StoreModel::drain() {
  broker_.paused_topics.clear();
  broker_.refused_rows.clear();
  now_ms_ = kAfterFarFuture;
  relays_[1].reset();
  start_relay(0);
  ModelRelay& relay = *relays_[0];
  // Each round moves at least one row of some lane; more rounds than this means that something is stuck.
  const std::size_t rounds_max = 3 * rows_.size() + 10;
  for (std::size_t round = 0; round < rounds_max && !all_settled().empty(); ++round) {
    for (const auto& [id, state] : picture().held) {
      if (state == "parked") apply(ToolAction::retry, id);
    }
    relay.release(now_ms_);
    relay.read(now_ms_);
    relay.read_ready();
    while (!relay.nothing_in_flight()) relay.deliver();
    relay.mark(true);
  }
}

}  // namespace txbox::test
