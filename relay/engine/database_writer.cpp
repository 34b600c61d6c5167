#include "relay/engine/database_writer.hpp"

#include <utility>

#include <txbox/base/failpoint.hpp>
#include <txbox/store/connection.hpp>
#include <txbox/store/outbox_marker.hpp>
#include <txbox/store/outbox_prune.hpp>

#include "relay/engine/passes_by_waiting.hpp"

namespace txbox::relay {

namespace {

using namespace std::chrono_literals;

constexpr auto kReadersInterval = 1s;
// Rows released in one transaction: about the length of lock hold that a mark takes.
constexpr std::int64_t kReleaseRows = 2'000;

store::OpenOptions how(std::chrono::milliseconds patience) {
  store::OpenOptions options;
  options.purpose = store::OpenPurpose::relay;
  options.busy_deadline = patience;
  return options;
}

}  // namespace

bool heals_by_repetition(ErrorCode code) noexcept {
  return passes_by_waiting(code) || code == ErrorCode::commit_unknown;
}

struct DatabaseWriter::Open {
  Open(const std::string& path, std::chrono::milliseconds patience)
      : connection(store::Connection::open(path, how(patience))), marker(connection) {}

  store::Connection connection;
  store::OutboxMarker marker;
  std::optional<store::OutboxPruner> pruner;  ///< Made when it is first wanted.
  std::chrono::microseconds lock_waited{};    ///< Of what connection.lock_waited() says, before the job under way.
};

DatabaseWriter::DatabaseWriter(DatabaseIndex index, const std::string& path, store::WitnessFile witness, LogSink log)
    : index_(index),
      path_(path),
      files_(store::file_set_identity(path)),
      witness_(std::move(witness)),
      log_(std::move(log)),
      checkpoint_(path) {}

DatabaseWriter::~DatabaseWriter() = default;

bool DatabaseWriter::needs_connection(const StoreJob& job) noexcept {
  return !std::holds_alternative<UseCluster>(job) && !std::holds_alternative<WriteWitness>(job);
}

void DatabaseWriter::close() noexcept { open_.reset(); }

void DatabaseWriter::leave_whole() noexcept {
  if (open_) open_->connection.leave_whole();
}

DatabaseWriter::Open& DatabaseWriter::open() {
  last_used_ = system_clock().steady_now();
  if (!open_) {
    auto opened = std::make_unique<Open>(path_, patience_);
    // Before it writes: a -wal of its own would be no part of the database that was checked.
    store::require_same_files(path_, files_);
    if (cluster_) opened->marker.use_cluster(*cluster_);
    open_ = std::move(opened);
  }
  open_->connection.set_busy_deadline(patience_);
  return *open_;
}

std::optional<StoreAnswer> DatabaseWriter::carry_out(const StoreJob& job, std::chrono::milliseconds patience) {
  patience_ = patience;
  if (const auto* mark = std::get_if<command::Mark>(&job)) {
    TXBOX_FAILPOINT("relay:before_mark");
    store::MarkRequest request{mark->receipts, mark->holds, mark->settled_through, mark->lanes};
    event::Marked marked{index_, mark->mark, open().marker.mark(request)};
    TXBOX_FAILPOINT("relay:after_mark");
    return marked;
  }
  if (const auto* use = std::get_if<UseCluster>(&job)) {
    // Nothing is written for a database of which no receipt follows.
    if (open_) open_->marker.use_cluster(use->kafka_cluster_id);
    cluster_ = use->kafka_cluster_id;
    return std::nullopt;
  }
  if (const auto* wish = std::get_if<WriteWitness>(&job)) {
    write_witness(wish->witness);
    return std::nullopt;
  }
  if (const auto* wish = std::get_if<command::Prune>(&job)) return prune(*wish);
  return release(job);
}

event::Released DatabaseWriter::release(const StoreJob& job) {
  store::OutboxMarker& marker = open().marker;
  std::int64_t rows = 0;
  std::int64_t through = 0;
  if (std::holds_alternative<command::ReleaseDue>(job)) {
    rows = marker.release_due(to_ms(system_clock().wall_now()), kReleaseRows);
  } else if (const auto* topic = std::get_if<command::ReleaseTopic>(&job)) {
    const store::TopicRelease release = marker.release_topic(topic->topic, topic->after, kReleaseRows);
    rows = release.rows;
    through = release.through;
  } else {
    rows = marker.release_lane(std::get<command::ReleaseLane>(job).lane, kReleaseRows);
  }
  // The reading side knows what is due next.
  return {index_, rows, rows >= kReleaseRows, std::nullopt, through};
}

event::Pruned DatabaseWriter::prune(const command::Prune& wish) {
  const SteadyTime begin = system_clock().steady_now();
  event::Pruned pruned;
  pruned.database = index_;
  try {
    Open& writer = open();
    if (!writer.pruner) writer.pruner.emplace(writer.connection);
    pruned.step = writer.pruner->step(wish.limits);
  } catch (const Error& error) {
    if (!heals_by_repetition(error.code())) throw;
    pruned.put_off = true;
  }
  pruned.took = std::chrono::duration_cast<std::chrono::microseconds>(system_clock().steady_now() - begin);
  return pruned;
}

std::optional<std::chrono::microseconds> DatabaseWriter::take_lock_wait() noexcept {
  if (!open_) return std::nullopt;  // A step of retention may have been put off before it came to that.
  const std::chrono::microseconds all = open_->connection.lock_waited();
  return all - std::exchange(open_->lock_waited, all);
}

void DatabaseWriter::write_witness(const store::Witness& witness) {
  try {
    witness_.write(witness);
  } catch (const Error& error) {
    // Without a witness the relay serves as well; only a restore while it is stopped would go unseen. So it is said
    // once.
    if (!witness_failed_) say(LogLevel::warning, error.what());
    witness_failed_ = true;
  }
}

std::optional<WalSeen> DatabaseWriter::keep_wal_short(SteadyTime now) {
  const store::WalCheckpoint::Result result = checkpoint_.run(now);
  wal_complaint_.tried(result, now);
  if (now < next_readers_) return std::nullopt;
  next_readers_ = now + kReadersInterval;
  const auto words = wal_complaint_.look(checkpoint_.readers(), now);
  if (words) say(LogLevel::warning, *words);
  const WalSeen seen{index_, result.wal_bytes, wal_complaint_.pinned_since()};
  return seen != std::exchange(wal_told_, seen) ? std::optional(seen) : std::nullopt;
}

}  // namespace txbox::relay
