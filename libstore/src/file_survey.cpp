#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <txbox/base/error.hpp>
#include <txbox/store/file_guard.hpp>
#include <txbox/store/file_survey.hpp>
#include <txbox/store/statement.hpp>

#include "free_pages.hpp"
#include "outbox_sql.hpp"

namespace txbox::store {

namespace {

std::string user_of(uid_t id) {
  std::array<char, 4096> memory{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(id, &entry, memory.data(), memory.size(), &found) == 0 && found != nullptr) return found->pw_name;
  return std::to_string(id);
}

std::string group_of(gid_t id) {
  std::array<char, 4096> memory{};
  group entry{};
  group* found = nullptr;
  if (::getgrgid_r(id, &entry, memory.data(), memory.size(), &found) == 0 && found != nullptr) return found->gr_name;
  return std::to_string(id);
}

[[noreturn]] void fail(const std::string& path) {
  throw Error(ErrorCode::failure, path + ": cannot be examined: " + std::strerror(errno));
}

}  // namespace

FileSurvey survey_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) throw no_file_error(path);
    fail(path);
  }
  struct statfs kind {};
  struct statvfs space {};
  if (::statfs(path.c_str(), &kind) != 0 || ::statvfs(path.c_str(), &space) != 0) fail(path);
  FileSurvey survey;
  survey.file_system = file_system_kind(static_cast<std::int64_t>(kind.f_type));
  survey.mode = status.st_mode & 07777;
  survey.owner = user_of(status.st_uid) + ":" + group_of(status.st_gid);
  survey.owner_is_us = status.st_uid == ::geteuid();
  survey.file_bytes = status.st_size;
  survey.free_bytes = static_cast<std::int64_t>(space.f_bavail) * static_cast<std::int64_t>(space.f_frsize);
  // SQLite follows symlinks before it names the WAL.
  std::error_code not_there;
  const std::string real = std::filesystem::canonical(path, not_there).string();
  struct stat wal {};
  if (::stat(((not_there ? path : real) + "-wal").c_str(), &wal) == 0) survey.wal_bytes = wal.st_size;
  return survey;
}

FreeSpace free_space(sqlite3* db) {
  Statement pages(db, sql::kFreePages);
  Statement size(db, sql::kPageSize);
  FreeSpace space;
  if (pages.step() && size.step()) space.bytes = pages.column_int64(0) * size.column_int64(0);
  space.given_back = FreePages::given_back(db);
  return space;
}

std::vector<std::string> topics_in_use(sqlite3* db, std::int64_t limit) {
  Statement statement(db, sql::kTopicsInUse);
  statement.bind(1, limit);
  std::vector<std::string> topics;
  while (statement.step()) topics.emplace_back(statement.column_text(0));
  return topics;
}

}  // namespace txbox::store
