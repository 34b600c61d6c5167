// Which files the loop serves: they come, wait for their turn or for another relay, and end, each for itself.

#include "relay/engine/runner_state.hpp"

#include <sys/resource.h>

#include <algorithm>

#include <txbox/base/backoff.hpp>
#include <txbox/store/file_guard.hpp>

#include "relay/engine/passes_by_waiting.hpp"

namespace txbox::relay {

namespace {

using namespace std::chrono_literals;

// Folders that inotify cannot tell of are looked into so often.
constexpr auto kScanInterval = 5s;
// A held lock is asked for so often, a little less when many are.
constexpr auto kLockInterval = 50ms;
constexpr auto kLockIntervalPerFile = 500us;
// Files that an application may still be making.
constexpr auto kUnreadyFirst = 500ms;
constexpr auto kUnreadyMost = 30'000ms;
constexpr unsigned kUnreadyDoublings = 6;
// The numbers that a producer carries for a row's file.
constexpr std::size_t kFilesMost = 1 << 16;
// The database, -wal, -shm, the lock; while rows are marked the database and its -wal once more.
constexpr std::size_t kDescriptorsPerFile = 6;
constexpr std::size_t kOtherDescriptors = 100;

std::string why_waiting(const std::string& path, ErrorCode code, const std::string& reason) {
  if (code == ErrorCode::owned) return path + ": another relay still holds the file";
  if (code == ErrorCode::busy) return path + ": another program still keeps the database locked";
  return reason;
}

}  // namespace

void Runner::State::serve_files() {
  if (stopping) return;
  const SteadyTime time = now();
  if (finder.has_patterns() && !options.drain && time >= next_scan) find_files();
  // One at a time: those that are open are served in between.
  if (to_open.empty() || to_open.begin()->first > time) return;
  const DatabaseIndex index = to_open.begin()->second;
  to_open.erase(to_open.begin());
  open_file(index);
}

void Runner::State::find_files() {
  const SteadyTime time = now();
  next_scan = time + kScanInterval;
  for (FoundFile& found : finder.scan()) {
    const std::optional<DatabaseIndex> index = new_index();
    if (!index) {
      say(LogLevel::error, found.path + ": is one file more than a relay can serve; start another one for it");
      continue;
    }
    auto file = std::make_unique<ServedFile>();
    file->path = std::move(found.path);
    file->by_pattern = found.by_pattern;
    files[*index] = std::move(file);
    to_open.emplace(time, *index);
  }
  say_descriptor_limit();
}

/// The number of a file that ended is used again only when no row of it is on its way: a report names a row by it.
std::optional<DatabaseIndex> Runner::State::new_index() {
  if (!free_indices.empty() && kafka.in_queue() == 0 && reports.empty() && !more_reports) {
    const DatabaseIndex index = free_indices.front();
    free_indices.pop_front();
    return index;
  }
  if (files.size() >= kFilesMost) return std::nullopt;
  files.emplace_back();
  return static_cast<DatabaseIndex>(files.size() - 1);
}

void Runner::State::say_descriptor_limit() {
  rlimit limit{};
  if (limit_told || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const std::size_t wanted = (serving_count + to_open.size()) * kDescriptorsPerFile + kOtherDescriptors;
  if (wanted <= limit.rlim_cur) return;
  limit_told = true;
  say(LogLevel::warning, std::to_string(serving_count + to_open.size()) + " files may need " + std::to_string(wanted) +
                             " open files, and this process may have " + std::to_string(limit.rlim_cur) +
                             ": raise its hard limit (ulimit -Hn, LimitNOFILE=)");
}

void Runner::State::open_file(DatabaseIndex index) {
  ServedFile& file = *files[index];
  try {
    if (is_served_elsewhere(index)) return;
    if (!take_lock(file)) return wait_to_open(index, ErrorCode::owned, {});
    file.database = OpenDatabase::open({file.path, options.state_directory}, options.log);
    file.wake.emplace(file.database->data_version());
    open_for_core(index);
  } catch (const Error& error) {
    if (file.phase == ServedFile::Phase::serving || !passes_by_itself(file, error.code())) {
      end_file(index, error);
      return;
    }
    file.wake.reset();
    file.database.reset();
    if (error.code() != ErrorCode::busy) file.lock.reset();
    wait_to_open(index, error.code(), naming(file.path, error).what());
  }
}

/// A file that is named twice, or by a symlink beside its name, is served once.
bool Runner::State::is_served_elsewhere(DatabaseIndex index) {
  ServedFile& file = *files[index];
  const store::FileIdentity identity = store::file_identity(file.path);
  const FileNumber number(identity.device, identity.inode);
  if (file.number != number) file.lock.reset();
  file.number = number;
  const auto served = numbers.find(*file.number);
  if (served == numbers.end()) return false;
  say(LogLevel::info, file.path + ": is the same file as " + files[served->second]->path + ", and is served once");
  file.phase = ServedFile::Phase::ended;
  free_indices.push_back(index);
  return true;
}

/// False: a standby that has to ask again. One that was told so once asks without the checks, which cost more; they are
/// made when the lock is there, since what lies there now may be another file.
bool Runner::State::take_lock(ServedFile& file) const {
  const bool standing_by = options.standby && file.tries > 0;
  if (!file.lock && standing_by) file.lock = store::RelayLock::try_acquire(file.path);
  if (!file.lock && standing_by) return false;
  store::check_file(file.path);
  if (!file.lock) file.lock = store::RelayLock::try_acquire(file.path);
  if (!file.lock && !options.standby) {
    throw Error(ErrorCode::owned, store::owned_error(file.path).what() + std::string("; --standby waits for its end"));
  }
  return file.lock.has_value();
}

bool Runner::State::passes_by_itself(const ServedFile& file, ErrorCode code) const {
  if (passes_by_waiting(code)) return true;
  switch (code) {
    case ErrorCode::not_installed:
    case ErrorCode::not_wal:
    case ErrorCode::failure:
      // An application is making it, perhaps; or descriptors are short just now.
      return file.by_pattern && !options.drain;
    default: return false;
  }
}

void Runner::State::wait_to_open(DatabaseIndex index, ErrorCode code, const std::string& reason) {
  ServedFile& file = *files[index];
  file.standby = code == ErrorCode::owned;
  const std::string told = why_waiting(file.path, code, reason);
  if (file.told != told) {
    if (code == ErrorCode::owned)
      say(LogLevel::info, file.path + ": standing by, another relay holds the file");
    else if (code == ErrorCode::busy)
      say(LogLevel::warning, file.path + ": another program keeps the database locked; waiting for it");
    else
      say(LogLevel::warning, reason + "; it is looked at again");
    file.told = told;
    file.tries = 0;
  }
  std::chrono::microseconds wait = kLockInterval + kLockIntervalPerFile * to_open.size();
  if (code != ErrorCode::owned && code != ErrorCode::busy)
    wait = std::min<std::chrono::microseconds>(kUnreadyMost,
                                               kUnreadyFirst * (1 << std::min(file.tries, kUnreadyDoublings)));
  ++file.tries;
  to_open.emplace(now() + wait, index);
}

void Runner::State::end_file(DatabaseIndex index, const Error& error) {
  ServedFile& file = *files[index];
  const bool gone = error.code() == ErrorCode::moved;
  if (gone && file.by_pattern && !options.drain) {
    say(LogLevel::info, file.path + ": is not there any more, and is served no longer");
  } else {
    const Error named = naming(file.path, error);
    file.why_ended = named.what();
    // Of one file alone the caller says it, as the reason of the end.
    if (several()) say(LogLevel::error, std::string(named.what()) + "; this file is served no longer");
    const ExitCode code = exit_code_for(named.code());
    if (!worst || worse_of(exit_code_for(worst->code()), code) == code) worst = named;
  }
  let_go(index);
  finder.ended(file.path, gone);
  // New files may still come of a pattern; but where what came is in doubt, somebody has to know.
  if (serving_count == 0 && to_open.empty() && (worst || !finder.has_patterns())) stopped = all_ended = true;
}

void Runner::State::let_go(DatabaseIndex index) {
  ServedFile& file = *files[index];
  if (file.phase != ServedFile::Phase::serving) {
    file.wake.reset();
    file.database.reset();
    file.lock.reset();
    file.phase = ServedFile::Phase::ended;
    free_indices.push_back(index);
    return;
  }
  file.phase = ServedFile::Phase::leaving;
  --serving_count;
  looking.erase(index);
  std::erase_if(reads, [index](const PendingRead& read) {
    return std::visit([](const auto& wish) { return wish.database; }, read.wish) == index;
  });
  std::erase_if(answered, [index](const PendingRelease& pending) { return pending.released.database == index; });
  watch.remove(index);
  worker.remove_database(index, false);
  step(event::DatabaseClosed{index});
}

void Runner::State::left(DatabaseIndex index) {
  ServedFile& file = *files[index];
  numbers.erase(*file.number);
  file.wake.reset();
  file.database.reset();
  file.lock.reset();
  file.phase = ServedFile::Phase::ended;
  free_indices.push_back(index);
}

}  // namespace txbox::relay
