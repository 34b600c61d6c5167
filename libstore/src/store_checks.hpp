#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <txbox/store/connection.hpp>
#include <txbox/store/schema.hpp>
#include <txbox/store/statement.hpp>

namespace txbox::store {

/// The checks of P9 that need no snapshot of their own. Single-threaded, like the connection it borrows.
class StoreChecks {
 public:
  /// `verify` compares the schema of the box that is used. Throws as schema_unchanged(), and not_installed. To be made
  /// before the statements that need the tables.
  explicit StoreChecks(Connection& connection, void (*verify)(sqlite3* db) = verify_outbox_schema);

  struct FileTimes {
    std::int64_t bytes = 0;
    std::int64_t changed_at_ns = 0;
  };
  /// Throws moved when the path no longer leads to the open file, or to the open -wal and -shm, and corrupt when
  /// the file was emptied. Comes before every snapshot and write: what is written into a deleted file is lost.
  /// Returns what it saw of the file.
  FileTimes file_in_place();

  /// REQUIRES: a transaction is open. Throws schema_newer or schema_differs where the schema has changed since
  /// the last call that passed; costs two small reads when it has not.
  void schema_unchanged();

  /// Drops what the next check makes again.
  void rest() noexcept { declared_version_.reset(); }

  [[noreturn]] void throw_restored(const std::string& why) const;

 private:
  /// -wal or -shm, as it was when this connection had just opened it.
  struct SideFile {
    std::string path;
    dev_t device = 0;
    ino_t inode = 0;
  };

  [[nodiscard]] bool declared_as_known();
  void remember_side_files();
  void side_files_in_place() const;

  Connection& connection_;
  void (*verify_)(sqlite3* db);
  std::array<SideFile, 2> side_files_;
  Statement schema_cookie_;
  std::optional<Statement> declared_version_;  ///< Made once the table that it reads is known to be there.
  std::int64_t verified_cookie_ = -1;
};

}  // namespace txbox::store
