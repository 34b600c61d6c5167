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

#include "relay/engine/database_writer.hpp"

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
// Of so many databases the WAL is looked at in one interval.
constexpr std::size_t kCheckpointLooks = 50;
// A writing connection that was not used for so long is closed.
constexpr auto kIdleWriter = 10s;
// So many are open at a time; opening one takes a millisecond, keeping one a few hundred KiB.
constexpr std::size_t kWritersMost = 64;

struct DatabaseQueue {
  DatabaseQueue(DatabaseIndex number, const std::string& of, store::WitnessFile witness, const LogSink& log)
      : index(number), path(of), writer(number, of, std::move(witness), log) {}

  const DatabaseIndex index;
  const std::string path;
  std::deque<StoreJob> jobs;    ///< Guarded by State::mutex.
  std::optional<bool> leaving;  ///< Guarded by State::mutex: to be removed, whole or not.
  DatabaseWriter writer;        ///< The worker thread's own, as all below.
  SteadyTime not_before{};
  unsigned failures = 0;
  bool failed = false;  ///< For good: it is about to be removed.
  std::optional<SteadyTime> complained;
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
  void make_room_for_writer();
  void wait_after(DatabaseQueue& queue, const Error& error);
  void keep_wal_short(DatabaseQueue& queue, SteadyTime now);
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
    if (*next->second->leaving) next->second->writer.leave_whole();
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
    if (queue->writer.is_open() && std::find(some.begin(), some.end(), queue.get()) == some.end())
      some.push_back(queue.get());
  }
  return some;
}

void StoreWorker::State::look_after(SteadyTime now) {
  for (DatabaseQueue* queue : in_turn()) {
    keep_wal_short(*queue, now);
    if (queue->writer.is_open() && now - queue->writer.last_used() > kIdleWriter) queue->writer.close();
  }
}

void StoreWorker::State::keep_wal_short(DatabaseQueue& queue, SteadyTime now) {
  if (queue.failed) return;
  try {
    if (const auto seen = queue.writer.keep_wal_short(now)) answer(*seen);
  } catch (const Error& error) {
    if (!heals_by_repetition(error.code())) fail(queue, error);
  }
}

/// Closes the one that was used least lately, where there are too many.
void StoreWorker::State::make_room_for_writer() {
  const std::lock_guard lock(mutex);
  std::size_t open = 0;
  DatabaseQueue* oldest = nullptr;
  for (auto& [index, queue] : queues) {
    if (!queue->writer.is_open()) continue;
    ++open;
    if (oldest == nullptr || queue->writer.last_used() < oldest->writer.last_used()) oldest = queue.get();
  }
  if (open >= kWritersMost) oldest->writer.close();
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
  const bool writes = DatabaseWriter::needs_connection(job);
  if (writes && !queue.writer.is_open()) make_room_for_writer();
  auto value = queue.writer.carry_out(job, among_many ? kBusyDeadlineAmongMany : kBusyDeadline);
  const auto waited = writes ? queue.writer.take_lock_wait() : std::nullopt;
  if (waited) {
    const std::lock_guard lock(mutex);
    lock_wait.add(*waited);
  }
  return value;
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
  auto queue = std::make_unique<DatabaseQueue>(database, path, std::move(witness), state_->log);
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
    queue->writer.leave_whole();
  }
}

}  // namespace txbox::relay
