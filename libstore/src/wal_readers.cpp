#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include <txbox/store/wal_readers.hpp>

#include "file_text.hpp"
#include "kernel_locks.hpp"

namespace txbox::store {

namespace {

// The wal-index, https://sqlite.org/walformat.html, 2.1: two copies of a header, then what checkpoints and readers
// note.
constexpr int kRegionBytes = 32'768;
constexpr std::size_t kPageSizeAt = 14;
constexpr std::size_t kNewestFrameAt = 16;
constexpr std::size_t kCopiedFramesAt = 96;
constexpr std::size_t kReadMarksAt = 100;
constexpr std::size_t kReadMarks = 5;
// Bytes of the -shm that are locked: the read locks follow those of the writer, the checkpoint and the recovery.
constexpr std::int64_t kFirstReadLock = 123;
constexpr std::int64_t kFrameHeaderBytes = 24;

struct WalIndex {
  std::int64_t frame_bytes = 0;
  std::uint32_t newest_frame = 0;
  std::uint32_t copied_frames = 0;
  std::array<std::uint32_t, kReadMarks> marks{};
};

/// Others write there meanwhile. Words are written whole, and a mixture of old and new ones does no harm here.
template <typename Word>
Word word_at(const volatile unsigned char* memory, std::size_t offset) {
  return __atomic_load_n(reinterpret_cast<const volatile Word*>(memory + offset), __ATOMIC_RELAXED);
}

/// Asked of SQLite, which has it mapped as long as the connection has the WAL open.
std::optional<WalIndex> wal_index(sqlite3* db) {
  sqlite3_file* file = nullptr;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) return std::nullopt;
  if (file == nullptr || file->pMethods == nullptr || file->pMethods->iVersion < 2) return std::nullopt;
  // Before the first read there is nothing mapped, and to map it would open the file.
  sqlite3_file* wal = nullptr;
  if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal) != SQLITE_OK) return std::nullopt;
  if (wal == nullptr || wal->pMethods == nullptr) return std::nullopt;
  void volatile* memory = nullptr;
  if (file->pMethods->xShmMap(file, 0, kRegionBytes, 0, &memory) != SQLITE_OK || memory == nullptr) return std::nullopt;
  const auto* bytes = static_cast<const volatile unsigned char*>(memory);
  WalIndex index;
  const std::int64_t page_size = word_at<std::uint16_t>(bytes, kPageSizeAt);
  index.frame_bytes = (page_size == 1 ? 65'536 : page_size) + kFrameHeaderBytes;
  index.newest_frame = word_at<std::uint32_t>(bytes, kNewestFrameAt);
  index.copied_frames = word_at<std::uint32_t>(bytes, kCopiedFramesAt);
  for (std::size_t i = 0; i < kReadMarks; ++i)
    index.marks[i] = word_at<std::uint32_t>(bytes, kReadMarksAt + i * sizeof(std::uint32_t));
  return index;
}

/// Who reads the database file alone (mark 0) keeps every frame from being copied into it.
std::int64_t pinned_by(const WalIndex& index, std::size_t slot) {
  const std::uint32_t read = slot == 0 ? 0 : index.marks[slot];
  const std::uint32_t copied = std::max(read, index.copied_frames);
  return copied >= index.newest_frame ? 0 : std::int64_t{index.newest_frame - copied} * index.frame_bytes;
}

std::string program_of(std::int64_t pid) {
  std::string name = read_small_file("/proc/" + std::to_string(pid) + "/comm").value_or("");
  // A program may choose its name, and a log line must stay one.
  std::erase_if(name, [](unsigned char letter) { return letter < 0x20 || letter == 0x7f; });
  return name;
}

}  // namespace

std::vector<WalReader> wal_readers(const Connection& connection, std::int64_t least_bytes) {
  std::vector<WalReader> readers;
  const auto index = wal_index(connection.handle());
  const char* path = sqlite3_db_filename(connection.handle(), "main");
  struct stat shm {};
  if (!index || path == nullptr || ::stat((std::string(path) + "-shm").c_str(), &shm) != 0) return readers;
  for (const KernelLock& lock : kernel_locks_on(shm)) {
    if (lock.kind != KernelLock::Kind::posix || lock.exclusive) continue;
    std::int64_t pinned = 0;
    for (std::size_t slot = 0; slot < kReadMarks; ++slot) {
      const std::int64_t byte = kFirstReadLock + static_cast<std::int64_t>(slot);
      if (lock.first_byte <= byte && byte <= lock.last_byte) pinned = std::max(pinned, pinned_by(*index, slot));
    }
    if (pinned == 0 || pinned < least_bytes) continue;
    const auto known =
        std::find_if(readers.begin(), readers.end(), [&](const WalReader& one) { return one.pid == lock.pid; });
    if (known != readers.end()) {
      known->pinned_bytes = std::max(known->pinned_bytes, pinned);
    } else {
      readers.push_back(
          {.pid = lock.pid, .program = program_of(lock.pid), .is_us = lock.pid == ::getpid(), .pinned_bytes = pinned});
    }
  }
  std::sort(readers.begin(), readers.end(),
            [](const WalReader& a, const WalReader& b) { return a.pinned_bytes > b.pinned_bytes; });
  return readers;
}

std::vector<WalReader> lasting_wal_readers(const Connection& connection) {
  constexpr std::chrono::milliseconds kMoment{200};
  const std::vector<WalReader> first = wal_readers(connection);
  if (first.empty()) return {};
  std::this_thread::sleep_for(kMoment);  // tidy: time itself is what is asked for
  std::vector<WalReader> now = wal_readers(connection);
  // The same snapshot pins as much or more by now.
  std::erase_if(now, [&](const WalReader& reader) {
    return std::none_of(first.begin(), first.end(), [&](const WalReader& before) {
      return before.pid == reader.pid && before.pinned_bytes <= reader.pinned_bytes;
    });
  });
  return now;
}

std::string text_of(const WalReader& reader) {
  const std::string pid = "pid " + std::to_string(reader.pid);
  if (reader.is_us) return "a statement of this relay itself (" + pid + ") stays open";
  return (reader.program.empty() ? "a process" : reader.program) + " (" + pid + ") keeps a transaction open";
}

}  // namespace txbox::store
