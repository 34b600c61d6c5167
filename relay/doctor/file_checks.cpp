#include "relay/doctor/file_checks.hpp"

#include <array>
#include <chrono>
#include <cstdio>

#include <txbox/base/error.hpp>
#include <txbox/store/connection.hpp>
#include <txbox/store/schema.hpp>

namespace txbox::relay::doctor {

namespace {

constexpr std::int64_t kMiB = 1 << 20;
/// Below it a busy hour may fill the disk; below the other one the next checkpoint may.
constexpr std::int64_t kFreeWanted = 512 * kMiB;
constexpr std::int64_t kFreeNeeded = 16 * kMiB;
/// The relay itself brings it below 16 MiB: four times as much says that something keeps it from doing so.
constexpr std::int64_t kWalTolerated = 64 * kMiB;
constexpr std::int64_t kTopicsMax = 1000;

// docs/operations.md, "Retention", has the line that changes it.
constexpr const char* kGivenBack = ", given back by retention (auto_vacuum=INCREMENTAL)";
constexpr const char* kUsedAgain = ", used again; the file becomes no smaller (auto_vacuum is not INCREMENTAL)";

std::string mib(std::int64_t bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f MiB", static_cast<double>(bytes) / static_cast<double>(kMiB));
  return text.data();
}

std::string remedy_of(ErrorCode code, const std::string& path) {
  switch (code) {
    case ErrorCode::moved: return "give the path of the application's database, or put the file back";
    case ErrorCode::corrupt: return "restore a backup, then run outbox-relay adopt --db " + path;
    case ErrorCode::schema_newer: return "install a newer outbox-relay";
    case ErrorCode::not_installed:
    case ErrorCode::schema_differs:
    case ErrorCode::not_wal: return "run outbox-relay init --db " + path;
    case ErrorCode::busy: return "another program holds the whole file: wait until it is done, and look again";
    default: return "the text says what has to change";
  }
}

Check failed(const std::string& path, std::string name, const Error& error) {
  return {.subject = path,
          .name = std::move(name),
          .result = Result::failure,
          .text = error.what(),
          .remedy = remedy_of(error.code(), path),
          .code = exit_code_for(error.code())};
}

Check good(const std::string& path, std::string name, std::string text) {
  return {.subject = path, .name = std::move(name), .result = Result::ok, .text = std::move(text), .remedy = {}};
}

Check unknown(const std::string& path, std::string name, std::string text, std::string remedy) {
  return {.subject = path,
          .name = std::move(name),
          .result = Result::not_checked,
          .text = std::move(text),
          .remedy = std::move(remedy)};
}

void look_inside(const std::string& path, std::int64_t wal_bytes, FileExamination& found) {
  std::string name = "journal mode";
  try {
    store::OpenOptions options;
    options.purpose = store::OpenPurpose::reader;
    options.busy_deadline = std::chrono::seconds(2);
    auto connection = store::Connection::open(path, options);
    found.checks.push_back(good(path, name, "WAL"));
    name = "schema";
    connection.forbid_writes();
    const store::Boxes boxes = store::verify_boxes(connection.handle());
    Check reader = oldest_reader(store::lasting_wal_readers(connection), wal_bytes);
    reader.subject = path;
    found.checks.push_back(std::move(reader));
    const store::StoreIdentity identity = store::read_identity(connection.handle());
    const std::string which = boxes.outbox && boxes.inbox ? "outbox and inbox" : boxes.outbox ? "outbox" : "inbox";
    found.checks.push_back(good(path, name, which + ", version " + std::to_string(identity.schema_version)));
    const store::FreeSpace space = store::free_space(connection.handle());
    found.checks.push_back(good(path, "free pages", mib(space.bytes) + (space.given_back ? kGivenBack : kUsedAgain)));
    if (!boxes.outbox) return;
    found.max_record_bytes = identity.max_record_bytes;
    found.topics = store::topics_in_use(connection.handle(), kTopicsMax);
  } catch (const Error& error) {
    found.checks.push_back(failed(path, error.code() == ErrorCode::corrupt ? "database" : name, error));
  }
}

}  // namespace

Check file_system(const store::FileSurvey& survey) {
  Check check = good({}, "file system", survey.file_system.name);
  if (survey.file_system.shared_memory_safe) return check;
  check.result = Result::failure;
  check.text += ": WAL's shared memory does not hold there";
  check.remedy = "move the database to a local file system";
  check.code = ExitCode::configuration;
  return check;
}

Check modes(const store::FileSurvey& survey) {
  std::array<char, 16> octal{};
  std::snprintf(octal.data(), octal.size(), "%04o", survey.mode);
  Check check = good({}, "owner and mode", survey.owner + " " + octal.data());
  const bool for_all = (survey.mode & 0002) != 0;
  const bool group_only = !survey.owner_is_us && (survey.mode & 0060) == 0060;
  if (for_all) {
    check.result = Result::warning;
    check.text += ": any user of this machine may write it";
    check.remedy = "chmod o-w the file; application and relay share one user or one group";
  } else if (group_only) {
    check.text += ", shared by its group";
    check.remedy = "run both with umask 002, or the next -wal belongs to one of them alone";
  }
  return check;
}

Check free_disk(const store::FileSurvey& survey) {
  Check check = good({}, "free disk", mib(survey.free_bytes) + " free beside a file of " + mib(survey.file_bytes));
  if (survey.free_bytes >= kFreeWanted) return check;
  const bool full = survey.free_bytes < kFreeNeeded;
  check.result = full ? Result::failure : Result::warning;
  check.remedy = "make room: on a full disk the application's own transactions fail";
  if (full) check.code = ExitCode::try_later;
  return check;
}

Check wal_size(const store::FileSurvey& survey) {
  Check check = good({}, "WAL size", mib(survey.wal_bytes));
  if (survey.wal_bytes <= kWalTolerated) return check;
  check.result = Result::warning;
  check.text += ": checkpoints do not get through; most often a reader keeps an old snapshot open";
  check.remedy = "find the connection with a long transaction or a statement that was never reset, and end it";
  return check;
}

Check oldest_reader(const std::vector<store::WalReader>& readers, std::int64_t wal_bytes) {
  Check check = good({}, "oldest reader", "no process is seen that keeps an old snapshot open");
  if (readers.empty() && wal_bytes <= kWalTolerated) return check;
  check.result = Result::warning;
  if (readers.empty()) {
    check.text += ", but the WAL is large: one of another container is not seen from here";
    check.remedy = "look where the other programs run that have the database open";
    return check;
  }
  check.text.clear();
  for (const store::WalReader& reader : readers)
    check.text +=
        (check.text.empty() ? "" : "; ") + text_of(reader) + " and pins " + mib(reader.pinned_bytes) + " of the WAL";
  check.remedy = "end its transaction, or reset its statement; nothing is lost, but the WAL grows and reads get slower";
  return check;
}

FileExamination examine_file(const std::string& path) {
  FileExamination found;
  std::int64_t wal_bytes = 0;
  try {
    const store::FileSurvey survey = store::survey_file(path);
    wal_bytes = survey.wal_bytes;
    for (Check check : {file_system(survey), modes(survey), free_disk(survey), wal_size(survey)}) {
      check.subject = path;
      found.checks.push_back(std::move(check));
    }
    store::check_file(path);
    found.checks.push_back(good(path, "access", "file, -wal, -shm and folder are writable; no hard links"));
  } catch (const Error& error) {
    found.checks.push_back(failed(path, error.code() == ErrorCode::corrupt ? "database" : "access", error));
    return found;
  }
  look_inside(path, wal_bytes, found);
  found.checks.push_back(unknown(path, "synchronous", "each connection sets its own, and the file does not hold it",
                                 "FULL where a commit must survive a power cut, NORMAL where the newest few may be "
                                 "lost; never OFF"));
  return found;
}

}  // namespace txbox::relay::doctor
