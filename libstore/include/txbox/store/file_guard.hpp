#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <txbox/base/error.hpp>

namespace txbox::store {

/// Refuses what WAL or the lock cannot serve, before the file is opened: hard links, a path that is itself a mount
/// point, network file systems (nfs, cifs/smb, fuse, 9p, virtiofs, ceph, ...), -wal or -shm not writable by this user.
/// An empty file passes: SQLite takes it for a new database. Safe from any thread. Errors: moved (no such file),
/// unsupported_file, corrupt (not a database: the header is not SQLite's).
void check_file(const std::string& path);

/// As check_file(), and makes the file, empty, where it is not there: a new file is checked like an old one, since
/// SQLite sets WAL on any file system. What was made only to be refused is removed again. Errors: those of
/// check_file(); unsupported_file for a name that SQLite takes for a database in memory; moved where the folder is
/// missing; failure.
void make_checked_file(const std::string& path);

/// The name of the file system that a path lies on, and whether WAL is refused there. Split for tests.
struct FileSystemKind {
  std::string name;
  bool shared_memory_safe = true;
};
[[nodiscard]] FileSystemKind file_system_kind(std::int64_t statfs_type);

/// One active relay per file: flock on the database's own inode, on a read-only O_CLOEXEC descriptor opened
/// before the first sqlite3_open of that file in this process and never closed before exit (closing any
/// descriptor of the file drops SQLite's POSIX locks, so the destructor keeps the descriptor and
/// only unlocks; that of a deleted file it closes, which nobody can open any more). Through symlinks and second opens
/// in one process the lock is refused all the same. A child made by fork() without exec shares the lock and keeps it
/// when the holder dies. Safe from any thread. REQUIRES: the connections of the file end before the lock.
class RelayLock {
 public:
  /// Waits for nothing. Throws owned, moved.
  static RelayLock acquire(const std::string& path);
  /// As acquire(); nullopt where another relay holds the file, for those who ask again: flock() has no descriptor to
  /// poll. Follows the path when the file is replaced meanwhile.
  static std::optional<RelayLock> try_acquire(const std::string& path);
  RelayLock(RelayLock&& other) noexcept;
  RelayLock& operator=(RelayLock&& other) noexcept;
  ~RelayLock();

 private:
  explicit RelayLock(int descriptor) noexcept : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

/// The process that holds the RelayLock of a file, asked of the kernel without taking the lock; nullopt where none
/// does, or the kernel does not tell (/proc is missing, a file system with device numbers of its own).
struct LockHolder {
  std::int64_t pid = 0;  ///< 0 or below: a process of another namespace.
};
[[nodiscard]] std::optional<LockHolder> relay_lock_holder(const std::string& path);

/// The error `moved` of a path where no file is.
[[nodiscard]] Error no_file_error(const std::string& path);
/// The error `owned` of a file, with the process that holds it where the kernel tells.
[[nodiscard]] Error owned_error(const std::string& path);

/// The files of a database that is open: what a connection that is opened later must find again, or its -wal would be
/// another one than that of its process.
struct FileSetIdentity {
  struct File {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    friend bool operator==(const File&, const File&) = default;
  };
  std::string real_path;
  std::array<File, 3> files;  ///< The database, -wal and -shm.
  friend bool operator==(const FileSetIdentity&, const FileSetIdentity&) = default;
};
/// Throws moved where one of them is missing.
[[nodiscard]] FileSetIdentity file_set_identity(const std::string& path);
/// For a connection that was just opened and has read: throws moved where the files are not these.
void require_same_files(const std::string& path, const FileSetIdentity& files);

/// Where a file lives: what a copy of it does not share.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::string machine_id;  ///< /etc/machine-id; empty where there is none.
};
/// Asks the file system without opening the file. Throws moved (no such file).
[[nodiscard]] FileIdentity file_identity(const std::string& path);

/// What the relay last read and made durable, kept outside the database so that a restored older copy is
/// seen (exit 22). One small file in the state directory, named by the store's uuid, replaced atomically
/// (write, fsync, rename). A missing or unreadable witness is a note, never an error. Written only after the
/// barrier: otherwise a power cut that takes unsynced rows away would look like a restore.
struct Witness {
  std::int64_t incarnation = 1;
  std::int64_t anchor_id = 0;
  std::uint64_t anchor_nonce_prefix = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::string machine_id;
};
class WitnessFile {
 public:
  /// The directory is made with mode 0700 where missing.
  WitnessFile(std::string state_directory, const std::string& store_uuid);
  [[nodiscard]] std::optional<Witness> read() const;
  void write(const Witness& witness) const;  ///< Throws failure.

 private:
  std::string path_;
};
/// $STATE_DIRECTORY (systemd), else $XDG_STATE_HOME/outbox-relay, else ~/.local/state/outbox-relay.
[[nodiscard]] std::string default_state_directory();
/// The same in the environment of another process.
[[nodiscard]] std::string state_directory_in(const std::map<std::string, std::string>& environment);

}  // namespace txbox::store
