#include "world.hpp"

#include <algorithm>

#include "trace.hpp"

namespace txbox::sim {

using namespace relay;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t kReleaseRows = 3;
/// While the topics stay as they are: a topic becomes usable, and grows, and either may have crossed a mark.
constexpr int kTopicReleases = 4;
// A payload of world_faults.cpp, its key, and what the core counts beside them.
constexpr std::int64_t kLargestRow = 400;

std::string error_text(int error) { return "E" + std::to_string(error) + ": refused"; }

bool is_error(const event::Report& report) { return report.kind != ReportKind::sent; }

}  // namespace

std::int32_t partition_of(std::string_view key, std::int32_t count) {
  std::uint32_t sum = 7;
  for (const char c : key) sum = sum * 31 + static_cast<unsigned char>(c);
  return static_cast<std::int32_t>(sum % static_cast<std::uint32_t>(count));
}

World::World(std::uint64_t seed) : random_(seed), broker_(random_) {
  draw_weather();
  start_relay();
}

void World::start_relay() {
  core_ = std::make_unique<Core>(options_, partition_of, error_text);
  sides_.assign(stores_.size(), {});
  pruning_ = false;
  describing_.clear();
  described_.clear();
  told_to_restart_ = false;
  for (const ProducerKind kind : {ProducerKind::main, ProducerKind::probation}) {
    const auto index = static_cast<std::size_t>(kind);
    producers_[index] = &broker_.add_producer(kind, 0);
    shut_[index] = false;
    rebuilding_[index].reset();
  }
  for (std::size_t index = 0; index < stores_.size(); ++index) {
    stores_[index].forget_topic_releases();
    event::DatabaseOpened opened = stores_[index].open();
    sides_[index].deeds_seen = stores_[index].deeds();
    opened.database = static_cast<DatabaseIndex>(index);
    step(opened);
  }
}

void World::step(const Event& event, const ModelStore::Batch* batch) {
  Commands out;
  trace(event);
  core_->step(steady_, wall_, event, out);
  for (const command::Produce& produce : out.produce) {
    if (batch == nullptr) violated("rows are produced that this event did not bring");
    hand_over(produce, batch->memory.at(produce.row_index));
  }
  for (const Command& command : out.other) {
    trace(command);
    take_command(command);
  }
  check_bounds();
}

void World::hand_over(const command::Produce& produce, const ModelRow& row) {
  const auto index = static_cast<std::size_t>(produce.producer);
  ModelProducer& producer = *producers_[index];
  if (produce.generation != producer.generation) violated("a row for a producer of another generation");
  if (rebuilding_[index]) violated("a row for a producer that is being rebuilt");
  if (tracing()) {
    trace("    produce " + std::to_string(produce.database) + "/" + std::to_string(row.id) + " lane " +
          std::to_string(row.lane().value_or(0)) + " to " + row.topic + "[" + std::to_string(produce.partition) + "] " +
          (index == 0 ? "main" : "probation") + (shut_[index] ? " (shut)" : "") + (row.poison ? " (poison)" : "") +
          (row.killer ? " (killer)" : ""));
  }
  if (shut_[index]) return;
  if (!stores_[produce.database].is_durable(row.id, row.nonce)) violated("P3: a row goes out before it is durable");
  if (std::any_of(producer.reports.begin(), producer.reports.end(), is_error)) {
    // The runner looks for failures before it hands rows over; librdkafka may fail some in that very moment.
    if (!weather_.races || !chance(4)) return;
    if (row.lane()) raced.emplace(produce.database, *row.lane());
  }
  ModelRecord record{produce.database, row.id, row.nonce, row.topic, produce.partition, row.poison, row.killer, 0};
  if (!broker_.produce(producer, record)) shut_[index] = true;
}

void World::take_command(const Command& command) {
  std::visit(
      [&](const auto& what) {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, command::Rebuild>) {
          const auto index = static_cast<std::size_t>(what.producer);
          if (rebuilding_[index]) violated("a producer is rebuilt twice");
          rebuilding_[index] = what;
          rebuild_at_[index] = steady_ + what.wait;
        } else if constexpr (std::is_same_v<What, command::Say>) {
          if (what.text.find("start the relay again") != std::string::npos) told_to_restart_ = true;
        } else if constexpr (std::is_same_v<What, command::Describe>) {
          describing_.insert(describing_.end(), what.topics.begin(), what.topics.end());
        } else if constexpr (std::is_same_v<What, command::Reload>) {
          sides_[what.database].reload = what;
        } else if constexpr (std::is_same_v<What, command::Read> || std::is_same_v<What, command::ReadReady>) {
          Side& side = sides_[what.database];
          if (side.reading || side.read) violated("a second reading while one is under way");
          if (what.limits.rows < 1) violated("a reading of no rows");
          side.reading = what;
        } else if constexpr (std::is_same_v<What, command::Mark> || std::is_same_v<What, command::ReleaseDue> ||
                             std::is_same_v<What, command::ReleaseTopic> ||
                             std::is_same_v<What, command::ReleaseLane> || std::is_same_v<What, command::Prune>) {
          if constexpr (std::is_same_v<What, command::Prune>) {
            if (std::exchange(pruning_, true)) violated("a second step of retention while one is under way");
          }
          sides_[what.database].marking.push_back(what);
        }
      },
      command);
}

void World::carry_out_reading(DatabaseIndex index) {
  Side& side = sides_[index];
  ModelStore& store = stores_[index];
  if (side.reload && chance(2)) {
    const bool after_deeds = std::exchange(side.reload, std::nullopt)->only_after_deeds;
    if (after_deeds && side.deeds_seen == store.deeds()) {
      side.reloaded = Answer{event::HeldUnchanged{index}, {}};
      return;
    }
    side.deeds_seen = store.deeds();
    event::DatabaseOpened opened = store.open();
    opened.database = index;
    side.reloaded = Answer{opened, {}};
    return;
  }
  if (!side.reading) return;
  const Command command = *std::exchange(side.reading, std::nullopt);
  if (const auto* read = std::get_if<command::Read>(&command)) {
    Answer answer{event::RowsRead{index, read->after, {}, false, store.newest()},
                  store.read(read->after, read->limits.rows)};
    store.barrier();
    side.read = std::move(answer);
  } else {
    const auto& ready = std::get<command::ReadReady>(command);
    side.read = Answer{event::ReadyRead{index, ready.after, {}, false},
                       store.read_ready(ready.after, ready.scanned_through, ready.limits.rows)};
    store.barrier();
  }
}

void World::deliver_read(DatabaseIndex index) {
  Side& side = sides_[index];
  if (side.reloaded && chance(2)) {
    const Answer answer = *std::exchange(side.reloaded, std::nullopt);
    step(answer.event);
    return;
  }
  if (!side.read) return;
  Answer answer = std::move(*side.read);
  side.read.reset();
  if (auto* rows = std::get_if<event::RowsRead>(&answer.event)) {
    rows->rows = answer.batch.rows;
    rows->exhausted = answer.batch.exhausted;
  } else {
    auto& ready = std::get<event::ReadyRead>(answer.event);
    ready.rows = answer.batch.rows;
    ready.exhausted = answer.batch.exhausted;
  }
  step(answer.event, &answer.batch);
}

void World::carry_out_marking(DatabaseIndex index) {
  Side& side = sides_[index];
  if (side.marking.empty()) return;
  ModelStore& store = stores_[index];
  const Command command = side.marking.front();
  const bool repeat = !peace_ && weather_.lost_marks && chance(8);
  const auto released = [&](std::int64_t rows, std::int64_t through = 0) {
    event::Released answer{index, rows, rows == kReleaseRows, std::nullopt, through};
    answer.next_due_ms = store.open().next_due_ms;
    side.marked.emplace_back(answer);
  };
  if (const auto* mark = std::get_if<command::Mark>(&command)) {
    const store::MarkResult result = store.mark(*mark);
    if (repeat) return;  // Committed, but nobody knows: the same is done again.
    side.marked.emplace_back(event::Marked{index, mark->mark, result});
  } else if (std::holds_alternative<command::ReleaseDue>(command)) {
    released(store.release_due(to_ms(wall_), kReleaseRows));
  } else if (const auto* topic = std::get_if<command::ReleaseTopic>(&command)) {
    const store::TopicRelease release = store.release_topic(topic->topic, topic->after, kReleaseRows);
    released(release.rows, release.through);
    if (peace_ && store.most_topic_releases() > kTopicReleases)
      violated("P11: a row is released with its topic again and again");
  } else if (const auto* prune = std::get_if<command::Prune>(&command)) {
    event::Pruned answer;
    answer.database = index;
    answer.put_off = !peace_ && chance(4);
    if (!answer.put_off) answer.step = store.prune(prune->limits);
    side.marked.emplace_back(answer);
    pruning_ = false;
  } else {
    released(store.release_lane(std::get<command::ReleaseLane>(command).lane, kReleaseRows));
  }
  side.marking.pop_front();
  store.check_invariants();
}

void World::deliver_reports() {
  ModelProducer& producer = *producers_[random_.below(2)];
  if (producer.reports.empty()) return;
  std::vector<event::Report> some;
  const std::size_t count = 1 + random_.below(producer.reports.size());
  for (std::size_t index = 0; index < count; ++index) {
    some.push_back(producer.reports.front());
    producer.reports.pop_front();
  }
  step(event::Reports{some});
}

void World::deliver_ends() {
  const auto index = random_.below(2);
  ModelProducer& producer = *producers_[index];
  if (rebuilding_[index]) producer.ended.clear();
  if (producer.ended.empty()) return;
  const bool came_up = producer.ended.front();
  producer.ended.pop_front();
  step(event::ConnectionEnded{producer.kind, "broker", came_up});
}

void World::rebuild(ProducerKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  if (!rebuilding_[index] || steady_ < rebuild_at_[index]) return;
  ModelProducer& old = *producers_[index];
  broker_.purge(old);
  const std::vector<event::Report> rest(old.reports.begin(), old.reports.end());
  broker_.crash(old);
  if (!rest.empty()) step(event::Reports{rest});
  const std::uint32_t generation = rebuilding_[index]->next_generation;
  producers_[index] = &broker_.add_producer(kind, generation);
  shut_[index] = false;
  rebuilding_[index].reset();
  step(event::ProducerReady{kind, generation});
}

void World::describe() {
  if (!described_.empty() && (describing_.empty() || chance(2))) {
    const Event answer = described_.front();
    described_.pop_front();
    step(answer);
    return;
  }
  if (describing_.empty()) return;
  event::TopicDescribed answer;
  answer.topic = describing_.front();
  describing_.pop_front();
  const ModelTopic& topic = broker_.topics.at(answer.topic);
  answer.facts = topic.facts();
  answer.facts.reason = error_text(3);
  if (topic.looks_usable) answer.facts.state = TopicFacts::State::usable;
  if (!peace_ && chance(10)) answer.facts.state = TopicFacts::State::unreachable;
  described_.emplace_back(answer);
}

void World::check_bounds() {
  const CoreStatus status = core_->status();
  // Beside others, each database has its first rows for certain.
  const auto databases = static_cast<std::int64_t>(stores_.size());
  const std::int64_t first_rows = databases > 1 ? std::clamp<std::int64_t>(options_.window_rows / 16, 1, 64) : 0;
  if (status.in_flight_rows > options_.window_rows + databases * first_rows)
    violated("P8: more rows in flight than the window");
  const std::int64_t first_row_bytes = databases > 1 ? kLargestRow : 0;
  if (status.in_flight_rows > 1 && status.in_flight_bytes > options_.window_bytes + first_row_bytes)
    violated("P8: more bytes in flight than allowed");
  if (status.in_flight_rows < 0 || status.in_flight_bytes < 0) violated("the count of rows in flight went below zero");
}

void World::pass_time(std::chrono::milliseconds time) {
  steady_ += time;
  wall_ += time;
  if (steady_ < core_->next_tick()) return;
  step(event::Tick{});
  if (core_->next_tick() <= steady_) violated("the core asks for ticks that change nothing");
}

void World::act() {
  const auto index = static_cast<DatabaseIndex>(random_.below(stores_.size()));
  switch (random_.below(9)) {
    case 0:
    case 1: return broker_.act(!peace_ && weather_.broker_faults);
    case 2: return carry_out_reading(index);
    case 3: return deliver_read(index);
    case 4: return carry_out_marking(index);
    case 5:
      if (sides_[index].marked.empty()) return;
      {
        const Event answer = sides_[index].marked.front();
        sides_[index].marked.pop_front();
        step(answer);
      }
      return;
    case 6:
      if (weather_.killers && chance(2)) return deliver_ends();
      return deliver_reports();
    case 7:
      if (chance(3)) return describe();
      return rebuild(static_cast<ProducerKind>(random_.below(2)));
    default: {
      const std::uint64_t kind = random_.below(20);
      if (kind == 0) return pass_time(2s);
      if (kind < 3) return pass_time(100ms);
      if (kind < 6) return step(event::Woken{index, chance(2)});
      return pass_time(std::chrono::milliseconds(random_.below(10)));
    }
  }
}

}  // namespace txbox::sim
