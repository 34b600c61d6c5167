#include "relay/engine/store_worker.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include <txbox/base/backoff.hpp>
#include <txbox/base/check.hpp>
#include <txbox/base/clock.hpp>
#include <txbox/base/failpoint.hpp>
#include <txbox/store/connection.hpp>
#include <txbox/store/outbox_marker.hpp>
#include <txbox/store/outbox_prune.hpp>
#include <txbox/store/wal_checkpoint.hpp>

#include "relay/engine/passes_by_waiting.hpp"
#include "relay/engine/wal_complaint.hpp"

namespace txbox::relay {

namespace {

using namespace std::chrono_literals;

// One try waits so long for the lock, so that a stop is prompt.
constexpr auto kBusyDeadline = 200ms;
// Where the thread serves several databases they wait meanwhile; the tries of a locked one come less and less often.
constexpr auto kBusyDeadlineAmongMany = 10ms;
constexpr Backoff kRepeat{10ms, 1000ms};
constexpr auto kComplaintInterval = 30s;
constexpr auto kCheckpointInterval = 1s;
constexpr auto kReadersInterval = 1s;
// Of so many databases the WAL is looked at in one interval.
constexpr std::size_t kCheckpointLooks = 50;
// A writing connection that was not used for so long is closed.
constexpr auto kIdleWriter = 10s;
// So many are open at a time; opening one takes a millisecond, keeping one a few hundred KiB.
constexpr std::size_t kWritersMost = 64;
// Rows released in one transaction: about the length of lock hold that a mark takes.
constexpr std::int64_t kReleaseRows = 2'000;

bool heals_by_repetition(ErrorCode code) noexcept {
  // Every write of the marker is idempotent, so one whose outcome is not known may simply be made again.
  return passes_by_waiting(code) || code == ErrorCode::commit_unknown;
}

/// The writing connection of one database.
struct Writer {
  explicit Writer(const std::string& path) : connection(store::Connection::open(path, how())), marker(connection) {}

  static store::OpenOptions how() {
    store::OpenOptions options;
    options.purpose = store::OpenPurpose::relay;
    options.busy_deadline = kBusyDeadline;
    return options;
  }

  store::Connection connection;
  store::OutboxMarker marker;
  std::optional<store::OutboxPruner> pruner;  ///< Made when it is first wanted.
  std::chrono::microseconds lock_waited{};    ///< Of what connection.lock_waited() says, before the job under way.
};

struct DatabaseQueue {
  DatabaseQueue(DatabaseIndex number, const std::string& of, store::WitnessFile file)
      : index(number), path(of), files(store::file_set_identity(of)), checkpoint(of), witness(std::move(file)) {}

  const DatabaseIndex index;
  const std::string path;
  const store::FileSetIdentity files;
  std::deque<StoreJob> jobs;           ///< Guarded by State::mutex.
  std::optional<bool> leaving;         ///< Guarded by State::mutex: to be removed, whole or not.
  std::optional<std::string> cluster;  ///< The worker thread's own, as all below: that of the receipts.
  std::unique_ptr<Writer> writer;
  store::WalCheckpoint checkpoint;
  store::WitnessFile witness;
  SteadyTime last_used{};
  SteadyTime not_before{};
  unsigned failures = 0;
  bool failed = false;  ///< For good: it is about to be removed.
  std::optional<SteadyTime> complained;
  bool witness_failed = false;
  WalComplaint wal_complaint;
  SteadyTime next_readers{};
  WalSeen wal_told;
};

}  // namespace

struct StoreWorker::State {
  State(const EventDescriptor& wake_descriptor, Liveness& told, LogSink sink)
      : wake(wake_descriptor), liveness(told), log(std::move(sink)), random(random_seed()) {}

  void run();
  DatabaseQueue* next_queue(SteadyTime now, SteadyTime& earliest);
  bool remove_leaving(std::unique_lock<std::mutex>& lock);
  void look_after(SteadyTime now);
  std::vector<DatabaseQueue*> in_turn();
  void work(DatabaseQueue& queue);
  std::optional<StoreAnswer> carry_out(DatabaseQueue& queue, const StoreJob& job);
  Writer& writer(DatabaseQueue& queue);
  store::OutboxMarker& marker(DatabaseQueue& queue) { return writer(queue).marker; }
  event::Pruned prune(DatabaseQueue& queue, const command::Prune& wish);
  void make_room_for_writer();
  void use_cluster(DatabaseQueue& queue, const std::string& kafka_cluster_id);
  void write_witness(DatabaseQueue& queue, const store::Witness& witness);
  void wait_after(DatabaseQueue& queue, const Error& error);
  void keep_wal_short(DatabaseQueue& queue, SteadyTime now);
  void note_lock_wait(DatabaseQueue& queue, const StoreJob& job);
  void fail(DatabaseQueue& queue, const Error& error);
  void answer(StoreAnswer value);
  void say(LogLevel level, const DatabaseQueue& queue, const std::string& text) const {
    if (log) log(level, queue.path + ": " + text);
  }

  const EventDescriptor& wake;
  Liveness& liveness;
  LogSink log;
  SeededRandom random;
  /// Guarded by mutex; what they point to stays where it is until the worker thread removes it.
  std::map<DatabaseIndex, std::unique_ptr<DatabaseQueue>> queues;
  DatabaseIndex turn = 0;             ///< The worker thread's own.
  bool among_many = false;            ///< Likewise: several databases are served.
  DatabaseIndex looked_after = 0;     ///< Likewise: where the look at every WAL goes on.
  std::set<DatabaseIndex> with_jobs;  ///< Guarded by mutex.
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<StoreAnswer> answers;  ///< Guarded by mutex.
  DurationHistogram lock_wait;       ///< Guarded by mutex.
  bool stopping = false;             ///< Guarded by mutex.
  bool some_leave = false;           ///< Guarded by mutex.
  std::thread thread;
};

/// The next database in turn that has a job and need not wait. REQUIRES: mutex held.
DatabaseQueue* StoreWorker::State::next_queue(SteadyTime now, SteadyTime& earliest) {
  auto next = with_jobs.lower_bound(turn);
  for (std::size_t step = 0; step < with_jobs.size(); ++step, ++next) {
    if (next == with_jobs.end()) next = with_jobs.begin();
    DatabaseQueue& queue = *queues.at(*next);
    if (queue.not_before <= now) {
      turn = queue.index + 1;
      return &queue;
    }
    earliest = std::min(earliest, queue.not_before);
  }
  return nullptr;
}

void StoreWorker::State::run() {
  std::unique_lock lock(mutex);
  SteadyTime next_look = system_clock().steady_now() + kCheckpointInterval;
  while (!stopping) {
    if (remove_leaving(lock)) continue;
    const SteadyTime now = system_clock().steady_now();
    liveness.turned(Loop::store_worker, now);
    SteadyTime earliest = next_look;
    DatabaseQueue* queue = next_queue(now, earliest);
    if (queue == nullptr && now < next_look) {
      liveness.rests(Loop::store_worker);
      changed.wait_until(lock, earliest);
      continue;
    }
    const bool look = now >= next_look;
    lock.unlock();
    if (look) {
      look_after(now);
      next_look = now + kCheckpointInterval;
    }
    if (queue != nullptr) work(*queue);
    lock.lock();
  }
  liveness.rests(Loop::store_worker);
}

/// REQUIRES: mutex held. True when the lock was let go of meanwhile.
bool StoreWorker::State::remove_leaving(std::unique_lock<std::mutex>& lock) {
  if (!std::exchange(some_leave, false)) return false;
  std::vector<std::unique_ptr<DatabaseQueue>> left;
  for (auto next = queues.begin(); next != queues.end();) {
    if (!next->second->leaving) {
      ++next;
      continue;
    }
    if (*next->second->leaving && next->second->writer) next->second->writer->connection.leave_whole();
    with_jobs.erase(next->first);
    left.push_back(std::move(next->second));
    next = queues.erase(next);
  }
  lock.unlock();
  for (auto& queue : left) {
    const DatabaseIndex index = queue->index;
    queue.reset();
    answer(StoreLeft{index});
  }
  lock.lock();
  return true;
}

/// The databases whose turn it is to be looked after: all of them where they are few.
std::vector<DatabaseQueue*> StoreWorker::State::in_turn() {
  const std::lock_guard lock(mutex);
  std::vector<DatabaseQueue*> some;
  auto next = queues.lower_bound(looked_after);
  for (std::size_t step = 0; step < std::min(kCheckpointLooks, queues.size()); ++step, ++next) {
    if (next == queues.end()) next = queues.begin();
    some.push_back(next->second.get());
    looked_after = next->first + 1;
  }
  // The busy ones each time: theirs grows.
  for (auto& [index, queue] : queues) {
    if (queue->writer && std::find(some.begin(), some.end(), queue.get()) == some.end()) some.push_back(queue.get());
  }
  return some;
}

void StoreWorker::State::look_after(SteadyTime now) {
  for (DatabaseQueue* queue : in_turn()) {
    keep_wal_short(*queue, now);
    if (queue->writer && now - queue->last_used > kIdleWriter) queue->writer.reset();
  }
}

void StoreWorker::State::keep_wal_short(DatabaseQueue& queue, SteadyTime now) {
  if (queue.failed) return;
  try {
    const store::WalCheckpoint::Result result = queue.checkpoint.run(now);
    queue.wal_complaint.tried(result, now);
    if (now < queue.next_readers) return;
    queue.next_readers = now + kReadersInterval;
    const auto words = queue.wal_complaint.look(queue.checkpoint.readers(), now);
    if (words) say(LogLevel::warning, queue, *words);
    const WalSeen seen{queue.index, result.wal_bytes, queue.wal_complaint.pinned_since()};
    if (seen != std::exchange(queue.wal_told, seen)) answer(seen);
  } catch (const Error& error) {
    if (!heals_by_repetition(error.code())) fail(queue, error);
  }
}

Writer& StoreWorker::State::writer(DatabaseQueue& queue) {
  queue.last_used = system_clock().steady_now();
  if (!queue.writer) {
    make_room_for_writer();
    auto writer = std::make_unique<Writer>(queue.path);
    // Before it writes: a -wal of its own would be no part of the database that was checked.
    store::require_same_files(queue.path, queue.files);
    if (queue.cluster) writer->marker.use_cluster(*queue.cluster);
    queue.writer = std::move(writer);
  }
  queue.writer->connection.set_busy_deadline(among_many ? kBusyDeadlineAmongMany : kBusyDeadline);
  return *queue.writer;
}

/// Closes the one that was used least lately, where there are too many.
void StoreWorker::State::make_room_for_writer() {
  const std::lock_guard lock(mutex);
  std::size_t open = 0;
  DatabaseQueue* oldest = nullptr;
  for (auto& [index, queue] : queues) {
    if (!queue->writer) continue;
    ++open;
    if (oldest == nullptr || queue->last_used < oldest->last_used) oldest = queue.get();
  }
  if (open >= kWritersMost) oldest->writer.reset();
}

/// Nothing is written for a database of which no receipt follows.
void StoreWorker::State::use_cluster(DatabaseQueue& queue, const std::string& kafka_cluster_id) {
  if (queue.writer) queue.writer->marker.use_cluster(kafka_cluster_id);
  queue.cluster = kafka_cluster_id;
}

void StoreWorker::State::work(DatabaseQueue& queue) {
  const StoreJob* job = nullptr;
  {
    const std::lock_guard lock(mutex);
    job = &queue.jobs.front();  // A deque's elements stay where they are when others are appended.
    among_many = queues.size() > 1;
  }
  try {
    auto value = carry_out(queue, *job);
    note_lock_wait(queue, *job);
    if (queue.complained) say(LogLevel::info, queue, "marking goes on");
    queue.failures = 0;
    queue.complained.reset();
    if (value) answer(std::move(*value));
    // A fast application writes hundreds of MB in the interval of the looks. The sooner the WAL is copied back, the
    // shorter that takes, and the writer's lock is held for so long.
    keep_wal_short(queue, system_clock().steady_now());
  } catch (const Error& error) {
    if (heals_by_repetition(error.code())) return wait_after(queue, error);
    return fail(queue, error);
  } catch (const std::exception& error) {
    return fail(queue, Error(ErrorCode::failure, error.what()));
  }
  const std::lock_guard lock(mutex);
  queue.jobs.pop_front();
  if (queue.jobs.empty()) with_jobs.erase(queue.index);
}

std::optional<StoreAnswer> StoreWorker::State::carry_out(DatabaseQueue& queue, const StoreJob& job) {
  if (const auto* mark = std::get_if<command::Mark>(&job)) {
    TXBOX_FAILPOINT("relay:before_mark");
    store::MarkRequest request{mark->receipts, mark->holds, mark->settled_through, mark->lanes};
    event::Marked marked{queue.index, mark->mark, marker(queue).mark(request)};
    TXBOX_FAILPOINT("relay:after_mark");
    return marked;
  }
  if (const auto* cluster = std::get_if<UseCluster>(&job)) {
    use_cluster(queue, cluster->kafka_cluster_id);
    return std::nullopt;
  }
  if (const auto* wish = std::get_if<WriteWitness>(&job)) {
    write_witness(queue, wish->witness);
    return std::nullopt;
  }
  if (const auto* wish = std::get_if<command::Prune>(&job)) return prune(queue, *wish);
  std::int64_t rows = 0;
  std::int64_t through = 0;
  if (std::holds_alternative<command::ReleaseDue>(job)) {
    rows = marker(queue).release_due(to_ms(system_clock().wall_now()), kReleaseRows);
  } else if (const auto* topic = std::get_if<command::ReleaseTopic>(&job)) {
    const store::TopicRelease release = marker(queue).release_topic(topic->topic, topic->after, kReleaseRows);
    rows = release.rows;
    through = release.through;
  } else {
    rows = marker(queue).release_lane(std::get<command::ReleaseLane>(job).lane, kReleaseRows);
  }
  // The reading side knows what is due next.
  return event::Released{queue.index, rows, rows >= kReleaseRows, std::nullopt, through};
}

event::Pruned StoreWorker::State::prune(DatabaseQueue& queue, const command::Prune& wish) {
  const SteadyTime begin = system_clock().steady_now();
  event::Pruned pruned;
  pruned.database = queue.index;
  try {
    Writer& open = writer(queue);
    if (!open.pruner) open.pruner.emplace(open.connection);
    pruned.step = open.pruner->step(wish.limits);
  } catch (const Error& error) {
    if (!heals_by_repetition(error.code())) throw;
    pruned.put_off = true;
  }
  pruned.took = std::chrono::duration_cast<std::chrono::microseconds>(system_clock().steady_now() - begin);
  return pruned;
}

void StoreWorker::State::note_lock_wait(DatabaseQueue& queue, const StoreJob& job) {
  if (std::holds_alternative<UseCluster>(job) || std::holds_alternative<WriteWitness>(job)) return;
  const std::chrono::microseconds all = queue.writer->connection.lock_waited();
  const std::lock_guard lock(mutex);
  lock_wait.add(all - std::exchange(queue.writer->lock_waited, all));
}

void StoreWorker::State::write_witness(DatabaseQueue& queue, const store::Witness& witness) {
  try {
    queue.witness.write(witness);
  } catch (const Error& error) {
    // Without a witness the relay serves as well; only a restore while it is stopped would go unseen. So it is said
    // once.
    if (!queue.witness_failed) say(LogLevel::warning, queue, error.what());
    queue.witness_failed = true;
  }
}

void StoreWorker::State::wait_after(DatabaseQueue& queue, const Error& error) {
  const SteadyTime now = system_clock().steady_now();
  queue.not_before = now + kRepeat.wait(queue.failures++, random);
  // The first few tries are everyday life beside a busy application; what lasts is said, but not over and over.
  constexpr unsigned kSilentFailures = 10;
  if (queue.failures < kSilentFailures) return;
  if (queue.complained && now - *queue.complained < kComplaintInterval) return;
  queue.complained = now;
  say(LogLevel::warning, queue, std::string("marking waits and publishing goes on: ") + error.what());
}

void StoreWorker::State::fail(DatabaseQueue& queue, const Error& error) {
  queue.failed = true;
  queue.not_before = SteadyTime::max();
  answer(StoreFailure{queue.index, error});
}

void StoreWorker::State::answer(StoreAnswer value) {
  {
    const std::lock_guard lock(mutex);
    answers.push_back(std::move(value));
  }
  wake.signal();
}

StoreWorker::StoreWorker(const EventDescriptor& wake, Liveness& liveness, LogSink log)
    : state_(std::make_unique<State>(wake, liveness, std::move(log))) {}

StoreWorker::~StoreWorker() { stop(); }

void StoreWorker::add_database(DatabaseIndex database, const std::string& path, store::WitnessFile witness) {
  auto queue = std::make_unique<DatabaseQueue>(database, path, std::move(witness));
  const std::lock_guard lock(state_->mutex);
  TXBOX_CHECK(state_->queues.try_emplace(database, std::move(queue)).second);
}

void StoreWorker::remove_database(DatabaseIndex database, bool whole) {
  {
    const std::lock_guard lock(state_->mutex);
    DatabaseQueue& queue = *state_->queues.at(database);
    queue.leaving = whole;
    state_->some_leave = true;
  }
  state_->changed.notify_one();
}

void StoreWorker::start() {
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

void StoreWorker::submit(DatabaseIndex database, StoreJob job) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->queues.at(database)->jobs.push_back(std::move(job));
    state_->with_jobs.insert(database);
  }
  state_->changed.notify_one();
}

void StoreWorker::take_answers(std::vector<StoreAnswer>& out) {
  out.clear();
  const std::lock_guard lock(state_->mutex);
  out.swap(state_->answers);
}

DurationHistogram StoreWorker::lock_wait() const {
  const std::lock_guard lock(state_->mutex);
  return state_->lock_wait;
}

void StoreWorker::stop() noexcept {
  if (!state_->thread.joinable()) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->changed.notify_one();
  state_->thread.join();
}

void StoreWorker::leave_whole() noexcept {
  for (const auto& [index, queue] : state_->queues) {
    if (queue->writer) queue->writer->connection.leave_whole();
  }
}

}  // namespace txbox::relay
