#include "relay/engine/open_database.hpp"

#include <algorithm>
#include <utility>

#include <txbox/base/error.hpp>
#include <txbox/base/failpoint.hpp>
#include <txbox/store/store_home.hpp>

#include "relay/engine/witness_check.hpp"

namespace txbox::relay {

namespace {

using namespace std::chrono_literals;

// A reader waits only for a writer that holds the whole file (locking_mode=EXCLUSIVE, recovery after a crash). While it
// waits no other file is served, so what lasts longer is tried again.
constexpr auto kReadDeadline = 20ms;

// Of so many looks at a file that sleeps one is a reading in full, whatever the others could miss.
constexpr int kLooksAsleep = 30;

constexpr char kAdoptHint[] = "; if this file shall be published from now on, run `outbox-relay adopt --db FILE`";

}  // namespace

std::unique_ptr<OpenDatabase> OpenDatabase::open(const OpenDatabaseOptions& options, const LogSink& log) {
  store::OpenOptions how;
  how.purpose = store::OpenPurpose::relay;
  how.busy_deadline = kReadDeadline;
  auto connection = store::Connection::open(options.path, how);
  store::verify_outbox_schema(connection.handle());
  store::StoreIdentity identity = store::read_identity(connection.handle());
  store::WitnessFile witness_file(options.state_directory, identity.store_uuid);
  std::unique_ptr<OpenDatabase> database(new OpenDatabase(options.path, std::move(connection), std::move(identity),
                                                          store::file_identity(options.path), std::move(witness_file)));
  const bool first_run = database->compare_witness();
  // Throws restored where the row that the witness names is gone, before anything is written.
  static_cast<void>(database->reader_.progress());
  database->compare_home();
  if (first_run && log) {
    log(LogLevel::info, options.path +
                            ": the relay runs here for the first time, or its state directory is new; that the file is "
                            "no older copy of itself, restored from a backup, cannot be told this time");
  }
  return database;
}

OpenDatabase::OpenDatabase(std::string path, store::Connection connection, store::StoreIdentity identity,
                           store::FileIdentity file, store::WitnessFile witness_file)
    : path_(std::move(path)),
      connection_(std::move(connection)),
      identity_(std::move(identity)),
      file_(std::move(file)),
      witness_file_(std::move(witness_file)),
      reader_(connection_) {}

OpenDatabase::~OpenDatabase() = default;

void OpenDatabase::compare_home() {
  if (store::check_home(connection_, file_) != store::HomeVerdict::copied) return;
  throw Error(ErrorCode::restored,
              path_ + ": a copy of a file that a relay has published from elsewhere; both would send the same rows" +
                  kAdoptHint);
}

bool OpenDatabase::compare_witness() {
  const std::optional<store::Witness> witness = witness_file_.read();
  switch (judge_witness(witness, identity_)) {
    case WitnessVerdict::first_run: return true;
    case WitnessVerdict::adopted: return false;
    case WitnessVerdict::older_copy:
      throw Error(ErrorCode::restored,
                  path_ + ": the file is an older copy of itself (its incarnation went back)" + kAdoptHint);
    case WitnessVerdict::same:
      // The next read finds out whether the row that was read last is still there.
      if (witness->anchor_id > 0) reader_.set_anchor({witness->anchor_id, witness->anchor_nonce_prefix});
      if (witness->device == file_.device && witness->inode == file_.inode && witness->machine_id == file_.machine_id)
        witness_there_ = witness->anchor_id;
      return false;
  }
  return false;
}

bool OpenDatabase::rest() {
  if (std::exchange(used_, false) || asleep_) return false;
  sleep();
  return true;
}

void OpenDatabase::sleep() {
  reader_.rest();
  asleep_ = true;
  looks_asleep_ = 0;
}

/// The floor timer's readings of a file that sleeps: a reading in full would wake it, a millisecond's work.
std::optional<store::ReadResult> OpenDatabase::nothing_new(std::int64_t after) {
  if (!asleep_ || after < newest_id_ || ++looks_asleep_ >= kLooksAsleep) return std::nullopt;
  if (reader_.version() != read_version_) return std::nullopt;
  return store::ReadResult{.exhausted = true, .newest_id = newest_id_};
}

store::ReadResult OpenDatabase::read_after(const command::Read& wish, store::RowBatch& out) {
  out.clear();
  if (const auto known = nothing_new(wish.after)) return *known;
  wake();
  // Before the snapshot: what is committed in between is new the next time.
  read_version_ = reader_.version();
  const store::ReadResult result = reader_.read_after(wish.after, wish.limits, out);
  newest_id_ = result.newest_id;
  make_durable(out, result);
  return result;
}

store::ReadResult OpenDatabase::read_ready(const command::ReadReady& wish, store::RowBatch& out) {
  wake();
  out.clear();
  const store::ReadResult result = reader_.read_ready(wish.after, wish.scanned_through, wish.limits, out);
  make_durable(out, result);
  return result;
}

void OpenDatabase::make_durable(const store::RowBatch& batch, const store::ReadResult& result) {
  if (batch.rows().empty()) return;
  const store::OutboxRow& last = batch.rows().back();
  if (last.id > durable_through_) {
    reader_.barrier();
    // The sync covers the whole WAL, so every row that the snapshot held is durable, not just those of this batch:
    // a backlog of a million rows costs one sync.
    durable_through_ = std::max(last.id, result.newest_id);
    TXBOX_FAILPOINT("relay:after_barrier");
  }
  if (last.id > reader_.anchor().id) reader_.set_anchor({last.id, last.nonce_prefix});
}

std::optional<store::Witness> OpenDatabase::take_witness() {
  const std::int64_t newest = reader_.anchor().id;
  if (newest == witnessed_ || newest == witness_there_) return std::nullopt;
  witnessed_ = newest;
  return witness();
}

void OpenDatabase::leave_witness(const LogSink& log) const {
  if (witness_there_ == reader_.anchor().id) return;
  try {
    witness_file_.write(witness());
  } catch (const Error& error) {
    if (log) log(LogLevel::warning, path_ + ": " + error.what());
  }
}

store::Witness OpenDatabase::witness() const {
  const auto anchor = reader_.anchor();
  store::Witness witness;
  witness.incarnation = identity_.incarnation;
  witness.anchor_id = anchor.id;
  witness.anchor_nonce_prefix = anchor.nonce_prefix;
  witness.device = file_.device;
  witness.inode = file_.inode;
  witness.machine_id = file_.machine_id;
  return witness;
}

}  // namespace txbox::relay
