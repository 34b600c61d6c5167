#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <txbox/store/file_guard.hpp>

struct sqlite3;

namespace txbox::store {

/// What the file system says of a database, asked without opening it: nothing changes by looking.
struct FileSurvey {
  FileSystemKind file_system;
  std::uint32_t mode = 0;  ///< Permission bits.
  std::string owner;       ///< "user:group", or numbers where they have no name.
  bool owner_is_us = false;
  std::int64_t file_bytes = 0;
  std::int64_t wal_bytes = 0;   ///< 0 where there is none.
  std::int64_t free_bytes = 0;  ///< On its file system, for this user.
};

/// What nothing uses inside a file.
struct FreeSpace {
  std::int64_t bytes = 0;
  bool given_back = false;  ///< auto_vacuum=INCREMENTAL: retention makes the file shorter.
};
[[nodiscard]] FreeSpace free_space(sqlite3* db);

/// Safe from any thread. Errors: moved (no such file), failure.
[[nodiscard]] FileSurvey survey_file(const std::string& path);

/// The topics that unsent rows and the newest rows name, at most `limit`, by name. A walk over what is not sent yet.
[[nodiscard]] std::vector<std::string> topics_in_use(sqlite3* db, std::int64_t limit);

}  // namespace txbox::store
