#include "relay/engine/store_worker.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include <txbox/base/backoff.hpp>
#include <txbox/base/check.hpp>
#include <txbox/base/clock.hpp>
#include <txbox/base/failpoint.hpp>
#include <txbox/store/connection.hpp>
#include <txbox/store/outbox_marker.hpp>
#include <txbox/store/wal_checkpoint.hpp>

#include "relay/engine/wal_complaint.hpp"

namespace txbox::relay {

namespace {

using namespace std::chrono_literals;

// One try waits so long for the lock: short, so that other databases get their turn and a stop is prompt.
constexpr auto kBusyDeadline = 200ms;
constexpr Backoff kRepeat{10ms, 1000ms};
constexpr auto kComplaintInterval = 30s;
constexpr auto kCheckpointInterval = 1s;
// Rows released in one transaction: about the length of lock hold that a mark takes.
constexpr std::int64_t kReleaseRows = 2'000;

bool heals_by_repetition(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::busy:
    case ErrorCode::stale_snapshot:
    case ErrorCode::disk_full:
    case ErrorCode::commit_unknown:  // Every write of the marker is idempotent, so it may simply be made again.
      return true;
    default: return false;
  }
}

struct DatabaseQueue {
  DatabaseQueue(store::Connection&& opened, store::WitnessFile file)
      : connection(std::move(opened)), marker(connection), checkpoint(connection.path()), witness(std::move(file)) {}

  store::Connection connection;
  store::OutboxMarker marker;
  store::WalCheckpoint checkpoint;
  store::WitnessFile witness;
  std::deque<StoreJob> jobs;  ///< Guarded by State::mutex.
  SteadyTime not_before{};    ///< The worker thread's own, as all below.
  unsigned failures = 0;
  bool failed = false;  ///< For good: the process is about to end.
  std::optional<SteadyTime> complained;
  bool witness_failed = false;
  WalComplaint wal_complaint;
};

}  // namespace

struct StoreWorker::State {
  State(const EventDescriptor& wake_descriptor, LogSink sink)
      : wake(wake_descriptor), log(std::move(sink)), random(random_seed()) {}

  void run();
  std::optional<std::size_t> next_queue(SteadyTime now, SteadyTime& earliest);
  void work(DatabaseIndex database, DatabaseQueue& queue);
  std::optional<StoreAnswer> carry_out(DatabaseIndex database, DatabaseQueue& queue, const StoreJob& job);
  void write_witness(DatabaseQueue& queue, const store::Witness& witness);
  void wait_after(DatabaseQueue& queue, const Error& error);
  void keep_wal_short(DatabaseIndex database, SteadyTime now);
  void fail(DatabaseIndex database, const Error& error);
  void answer(StoreAnswer value);
  void say(LogLevel level, const DatabaseQueue& queue, const std::string& text) const {
    if (log) log(level, queue.connection.path() + ": " + text);
  }

  const EventDescriptor& wake;
  LogSink log;
  SeededRandom random;
  std::vector<std::unique_ptr<DatabaseQueue>> queues;
  std::size_t turn = 0;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<StoreAnswer> answers;  ///< Guarded by mutex.
  bool stopping = false;             ///< Guarded by mutex.
  std::thread thread;
};

/// The next database in turn that has a job and need not wait. REQUIRES: mutex held.
std::optional<std::size_t> StoreWorker::State::next_queue(SteadyTime now, SteadyTime& earliest) {
  for (std::size_t step = 0; step < queues.size(); ++step) {
    const std::size_t index = (turn + step) % queues.size();
    const DatabaseQueue& queue = *queues[index];
    if (queue.jobs.empty()) continue;
    if (queue.not_before <= now) {
      turn = index + 1;
      return index;
    }
    earliest = std::min(earliest, queue.not_before);
  }
  return std::nullopt;
}

void StoreWorker::State::run() {
  std::unique_lock lock(mutex);
  SteadyTime next_checkpoint = system_clock().steady_now() + kCheckpointInterval;
  while (!stopping) {
    const SteadyTime now = system_clock().steady_now();
    SteadyTime earliest = next_checkpoint;
    const auto index = next_queue(now, earliest);
    if (!index && now < next_checkpoint) {
      changed.wait_until(lock, earliest);
      continue;
    }
    lock.unlock();
    if (now >= next_checkpoint) {
      for (std::size_t each = 0; each < queues.size(); ++each) keep_wal_short(static_cast<DatabaseIndex>(each), now);
      next_checkpoint = now + kCheckpointInterval;
    }
    if (index) work(static_cast<DatabaseIndex>(*index), *queues[*index]);
    lock.lock();
  }
}

void StoreWorker::State::keep_wal_short(DatabaseIndex database, SteadyTime now) {
  DatabaseQueue& queue = *queues[database];
  if (queue.failed) return;
  try {
    const store::WalCheckpoint::Result result = queue.checkpoint.run(now);
    if (const auto words = queue.wal_complaint.after(result, now)) say(LogLevel::warning, queue, *words);
  } catch (const Error& error) {
    if (!heals_by_repetition(error.code())) fail(database, error);
  }
}

void StoreWorker::State::work(DatabaseIndex database, DatabaseQueue& queue) {
  const StoreJob* job = nullptr;
  {
    const std::lock_guard lock(mutex);
    job = &queue.jobs.front();  // A deque's elements stay where they are when others are appended.
  }
  try {
    auto value = carry_out(database, queue, *job);
    if (queue.complained) say(LogLevel::info, queue, "marking goes on");
    queue.failures = 0;
    queue.complained.reset();
    if (value) answer(std::move(*value));
  } catch (const Error& error) {
    if (heals_by_repetition(error.code())) return wait_after(queue, error);
    return fail(database, error);
  } catch (const std::exception& error) {
    return fail(database, Error(ErrorCode::failure, error.what()));
  }
  const std::lock_guard lock(mutex);
  queue.jobs.pop_front();
}

std::optional<StoreAnswer> StoreWorker::State::carry_out(DatabaseIndex database, DatabaseQueue& queue,
                                                         const StoreJob& job) {
  if (const auto* mark = std::get_if<command::Mark>(&job)) {
    TXBOX_FAILPOINT("relay:before_mark");
    store::MarkRequest request{mark->receipts, mark->holds, mark->settled_through, mark->lanes};
    event::Marked marked{database, mark->mark, queue.marker.mark(request)};
    TXBOX_FAILPOINT("relay:after_mark");
    return marked;
  }
  if (const auto* cluster = std::get_if<UseCluster>(&job)) {
    queue.marker.use_cluster(cluster->kafka_cluster_id);
    return std::nullopt;
  }
  if (const auto* wish = std::get_if<WriteWitness>(&job)) {
    write_witness(queue, wish->witness);
    return std::nullopt;
  }
  std::int64_t rows = 0;
  std::int64_t through = 0;
  if (std::holds_alternative<command::ReleaseDue>(job)) {
    rows = queue.marker.release_due(to_ms(system_clock().wall_now()), kReleaseRows);
  } else if (const auto* topic = std::get_if<command::ReleaseTopic>(&job)) {
    const store::TopicRelease release = queue.marker.release_topic(topic->topic, topic->after, kReleaseRows);
    rows = release.rows;
    through = release.through;
  } else {
    rows = queue.marker.release_lane(std::get<command::ReleaseLane>(job).lane, kReleaseRows);
  }
  // The reading side knows what is due next.
  return event::Released{database, rows, rows >= kReleaseRows, std::nullopt, through};
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

void StoreWorker::State::fail(DatabaseIndex database, const Error& error) {
  queues[database]->failed = true;
  queues[database]->not_before = SteadyTime::max();
  answer(StoreFailure{database, error});
}

void StoreWorker::State::answer(StoreAnswer value) {
  {
    const std::lock_guard lock(mutex);
    answers.push_back(std::move(value));
  }
  wake.signal();
}

StoreWorker::StoreWorker(const EventDescriptor& wake, LogSink log)
    : state_(std::make_unique<State>(wake, std::move(log))) {}

StoreWorker::~StoreWorker() { stop(); }

void StoreWorker::add_database(const std::string& path, store::WitnessFile witness) {
  TXBOX_CHECK(!state_->thread.joinable());
  store::OpenOptions options;
  options.purpose = store::OpenPurpose::relay;
  options.busy_deadline = kBusyDeadline;
  state_->queues.push_back(std::make_unique<DatabaseQueue>(store::Connection::open(path, options), std::move(witness)));
}

void StoreWorker::start() {
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

void StoreWorker::submit(DatabaseIndex database, StoreJob job) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->queues[database]->jobs.push_back(std::move(job));
  }
  state_->changed.notify_one();
}

void StoreWorker::take_answers(std::vector<StoreAnswer>& out) {
  out.clear();
  const std::lock_guard lock(state_->mutex);
  out.swap(state_->answers);
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
  for (const auto& queue : state_->queues) queue->connection.leave_whole();
}

}  // namespace txbox::relay
