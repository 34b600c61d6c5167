#include <fcntl.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <txbox/base/error.hpp>
#include <txbox/store/file_guard.hpp>

#include "file_text.hpp"

namespace txbox::store {

namespace {

constexpr std::string_view kSqliteHeader("SQLite format 3\0", 16);

[[noreturn]] void throw_unsupported(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::unsupported_file, path + ": " + why);
}

std::string system_text(int error) { return std::strerror(error); }

struct stat stat_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) throw no_file_error(path);
    throw Error(ErrorCode::failure, path + ": cannot be examined: " + system_text(errno));
  }
  return status;
}

/// SQLite follows symlinks before it names -wal and -shm; so must every check of them.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), &std::free);
  if (!resolved) throw no_file_error(path);
  return resolved.get();
}

/// One descriptor a file for the whole life of the process. It exists because closing any descriptor of a
/// database drops the POSIX locks that SQLite holds on it in this process: so each file is opened at
/// most once by us, before SQLite opens it, and never closed. An inode whose descriptor is open cannot be reused.
class KeptDescriptors {
 public:
  struct Entry {
    dev_t device;
    ino_t inode;
    int descriptor;
    bool locked = false;
  };

  static KeptDescriptors& instance() {
    static KeptDescriptors descriptors;
    return descriptors;
  }

  std::mutex& mutex() noexcept { return mutex_; }

  /// REQUIRES: mutex() is held, here and below.
  Entry& open(const std::string& path) {
    const struct stat before = stat_of(path);
    if (Entry* known = find(before)) return *known;
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
      if (errno == ENOENT) throw no_file_error(path);
      throw_unsupported(path, "cannot be opened for reading: " + system_text(errno));
    }
    struct stat opened {};
    if (::fstat(descriptor, &opened) != 0) throw Error(ErrorCode::failure, path + ": " + system_text(errno));
    // Replaced between the two calls: the descriptor is leaked on purpose, for the reason above.
    if (Entry* known = find(opened)) return *known;
    entries_.push_back({opened.st_dev, opened.st_ino, descriptor});
    return entries_.back();
  }

  void unlock(int descriptor) noexcept {
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->descriptor != descriptor) continue;
      entry->locked = false;
      ::flock(descriptor, LOCK_UN);
      struct stat status {};
      if (::fstat(descriptor, &status) != 0 || status.st_nlink > 0) return;
      // Deleted: kept open it would keep its space on the disk, for ever in a process that serves files as they come.
      ::close(descriptor);
      entries_.erase(entry);
      return;
    }
  }

 private:
  Entry* find(const struct stat& status) noexcept {
    for (Entry& entry : entries_) {
      if (entry.device == status.st_dev && entry.inode == status.st_ino) return &entry;
    }
    return nullptr;
  }

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

void check_header(const std::string& path) {
  KeptDescriptors& kept = KeptDescriptors::instance();
  const std::lock_guard guard(kept.mutex());
  std::array<char, kSqliteHeader.size()> header{};
  const ssize_t size = ::pread(kept.open(path).descriptor, header.data(), header.size(), 0);
  if (size < 0) throw Error(ErrorCode::corrupt, path + ": cannot be read: " + system_text(errno));
  if (size == 0) return;
  if (std::string_view(header.data(), static_cast<std::size_t>(size)) != kSqliteHeader) {
    throw Error(ErrorCode::corrupt, path + ": not an SQLite database (or an encrypted one)");
  }
}

void check_mount_point(const std::string& real) {
  struct statx status {};
  if (::statx(AT_FDCWD, real.c_str(), 0, STATX_INO, &status) != 0) return;
  if ((status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0 &&
      (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) {
    throw_unsupported(real,
                      "is a mount point by itself, so its -wal and -shm would lie elsewhere; mount its folder instead");
  }
}

void check_file_system(const std::string& real) {
  struct statfs status {};
  if (::statfs(real.c_str(), &status) != 0) throw Error(ErrorCode::failure, real + ": " + system_text(errno));
  const FileSystemKind kind = file_system_kind(static_cast<std::int64_t>(status.f_type));
  if (!kind.shared_memory_safe) {
    throw_unsupported(real,
                      "lies on " + kind.name + ", where WAL's shared memory does not hold; use a local file system");
  }
}

void check_writable(const std::string& real) {
  for (const char* suffix : {"", "-wal", "-shm"}) {
    const std::string file = real + suffix;
    if (::faccessat(AT_FDCWD, file.c_str(), R_OK | W_OK, AT_EACCESS) == 0 || errno == ENOENT) continue;
    throw_unsupported(file, "must be writable by this user (" + system_text(errno) +
                                "): run application and relay as one user, or as one group with umask 002");
  }
  const std::string folder = real.substr(0, real.rfind('/') + 1);
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    throw_unsupported(
        folder, "the folder must be writable by this user, or -wal and -shm cannot be made: " + system_text(errno));
  }
}

struct KnownFileSystem {
  std::uint32_t type;
  const char* name;
  bool shared_memory_safe;
};

/// Of statfs(2) and the kernel's sources. Each unsafe one is served by another machine, a host or a process of its
/// own, so that a mapping of -shm is not one memory for all who open it, or its locks are not.
constexpr KnownFileSystem kFileSystems[] = {
    {0xef53, "ext4", true},          {0x58465342, "xfs", true},       {0x9123683e, "btrfs", true},
    {0x2fc12fc1, "zfs", true},       {0xf2f52010, "f2fs", true},      {0x01021994, "tmpfs", true},
    {0x794c7630, "overlayfs", true}, {0xca451a4e, "bcachefs", true},  {0x6969, "nfs", false},
    {0x517b, "smb", false},          {0xff534d42, "cifs", false},     {0xfe534d42, "smb2", false},
    {0x65735546, "fuse", false},     {0x6a656a63, "virtiofs", false}, {0x01021997, "9p", false},
    {0x00c36400, "ceph", false},     {0x5346414f, "afs", false},      {0x6b414653, "afs", false},
    {0x73757245, "coda", false},     {0x564c, "ncp", false},          {0x0bd00bd0, "lustre", false},
    {0x47504653, "gpfs", false},     {0x19830326, "beegfs", false},   {0x01161970, "gfs2", false},
    {0x7461636f, "ocfs2", false},    {0x786f4256, "vboxsf", false},   {0xbacbacbc, "vmhgfs", false},
    {0x7c7c6673, "prl_fs", false},
};

}  // namespace

FileSystemKind file_system_kind(std::int64_t statfs_type) {
  // f_type is a signed word of another width on each architecture; only its low 32 bits are the number.
  const auto type = static_cast<std::uint32_t>(statfs_type & 0xffffffff);
  for (const KnownFileSystem& known : kFileSystems) {
    if (known.type == type) return {known.name, known.shared_memory_safe};
  }
  return {"an unknown file system", true};
}

void check_file(const std::string& path) {
  const struct stat status = stat_of(path);
  if (!S_ISREG(status.st_mode)) throw_unsupported(path, "is not a regular file");
  if (status.st_nlink > 1) {
    throw_unsupported(path,
                      "has hard links; under another name it has another -wal, and rows written there stay unseen");
  }
  const std::string real = real_path(path);
  check_mount_point(real);
  check_file_system(real);
  check_writable(real);
  check_header(real);
}

void make_checked_file(const std::string& path) {
  if (path.empty() || path == ":memory:") {
    throw_unsupported("\"" + path + "\"", "a database in memory cannot be shared: give a file's path");
  }
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    throw Error(ErrorCode::moved, path + ": there is no folder " + folder);
  }
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor < 0 && (errno == EACCES || errno == EROFS)) {
    throw_unsupported(folder, "the folder must be writable by this user, to make the file: " + system_text(errno));
  }
  if (descriptor < 0 && errno != EEXIST) throw Error(ErrorCode::failure, path + ": " + system_text(errno));
  // Nobody can hold a lock on a file that is as new, so that this descriptor may be closed.
  if (descriptor >= 0) ::close(descriptor);
  try {
    check_file(path);
  } catch (const Error&) {
    if (descriptor >= 0) ::unlink(path.c_str());
    throw;
  }
}

FileIdentity file_identity(const std::string& path) {
  const struct stat status = stat_of(path);
  std::string machine_id = read_small_file("/etc/machine-id").value_or("");
  while (!machine_id.empty() && machine_id.back() == '\n') machine_id.pop_back();
  return {.device = status.st_dev, .inode = status.st_ino, .machine_id = std::move(machine_id)};
}

FileSetIdentity file_set_identity(const std::string& path) {
  FileSetIdentity identity;
  identity.real_path = real_path(path);
  constexpr std::array<const char*, 3> kSuffixes{"", "-wal", "-shm"};
  for (std::size_t index = 0; index < kSuffixes.size(); ++index) {
    const struct stat status = stat_of(identity.real_path + kSuffixes[index]);
    identity.files[index] = {status.st_dev, status.st_ino};
  }
  return identity;
}

void require_same_files(const std::string& path, const FileSetIdentity& files) {
  if (file_set_identity(path) == files) return;
  throw Error(ErrorCode::moved, path + ": the file, its -wal or its -shm was replaced while the database was open");
}

namespace {

/// The locked descriptor; nullopt when another holds it.
std::optional<int> try_lock(const std::string& path) {
  KeptDescriptors& kept = KeptDescriptors::instance();
  const std::lock_guard guard(kept.mutex());
  KeptDescriptors::Entry& entry = kept.open(path);
  // A second flock() on one descriptor succeeds, so holders within the process are told apart here.
  if (entry.locked) return std::nullopt;
  if (::flock(entry.descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::nullopt;
    throw_unsupported(path, "cannot be locked: " + system_text(errno));
  }
  const struct stat now = stat_of(path);
  if (now.st_ino != entry.inode || now.st_dev != entry.device) {
    kept.unlock(entry.descriptor);
    throw Error(ErrorCode::moved, path + ": was replaced while it was being locked");
  }
  entry.locked = true;
  return entry.descriptor;
}

}  // namespace

RelayLock RelayLock::acquire(const std::string& path) {
  const std::optional<int> descriptor = try_lock(path);
  if (!descriptor) throw owned_error(path);
  return RelayLock(*descriptor);
}

Error no_file_error(const std::string& path) {
  return {ErrorCode::moved, path + ": no such file (moved or deleted? a new one is made by `outbox-relay init`)"};
}

Error owned_error(const std::string& path) {
  std::string text = path + ": another relay holds this file";
  const std::optional<LockHolder> holder = relay_lock_holder(path);
  if (holder && holder->pid > 0) text += ", process " + std::to_string(holder->pid);
  return {ErrorCode::owned, text};
}

std::optional<RelayLock> RelayLock::try_acquire(const std::string& path) {
  const std::optional<int> descriptor = try_lock(path);
  if (!descriptor) return std::nullopt;
  return RelayLock(*descriptor);
}

RelayLock::RelayLock(RelayLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

RelayLock& RelayLock::operator=(RelayLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

RelayLock::~RelayLock() {
  if (descriptor_ < 0) return;
  KeptDescriptors& kept = KeptDescriptors::instance();
  const std::lock_guard guard(kept.mutex());
  kept.unlock(descriptor_);
}

}  // namespace txbox::store
