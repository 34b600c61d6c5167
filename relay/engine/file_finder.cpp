#include "relay/engine/file_finder.hpp"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace txbox::relay {

namespace {

bool has_wildcard(std::string_view text) noexcept { return text.find_first_of("*?[") != std::string_view::npos; }

std::optional<FileNumber> number_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return FileNumber(status.st_dev, status.st_ino);
}

bool stands_beside_a_database(std::string_view path) noexcept {
  return path.ends_with("-wal") || path.ends_with("-shm") || path.ends_with("-journal");
}

std::vector<std::string> matches(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t index = 0; index < found.gl_pathc; ++index) paths.emplace_back(found.gl_pathv[index]);
  }
  ::globfree(&found);
  return paths;
}

}  // namespace

FileFinder::FileFinder(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    (has_wildcard(name) && !number_of(name) ? patterns_ : paths_).push_back(name);
  }
}

std::vector<std::string> FileFinder::folders() const {
  std::vector<std::string> folders;
  for (const std::string& pattern : patterns_) {
    const std::size_t slash = pattern.rfind('/');
    std::string folder = slash == std::string::npos ? "." : pattern.substr(0, slash + 1);
    if (!has_wildcard(folder)) folders.push_back(std::move(folder));
  }
  return folders;
}

std::vector<FoundFile> FileFinder::scan() {
  std::vector<FoundFile> found;
  for (std::string& path : std::exchange(paths_, {})) {
    if (known_.try_emplace(path).second) found.push_back({std::move(path), false});
  }
  for (const std::string& pattern : patterns_) {
    for (std::string& path : matches(pattern)) {
      if (stands_beside_a_database(path)) continue;
      const auto known = known_.find(path);
      if (known != known_.end() && !known->second.ended) continue;
      const auto number = number_of(path);
      if (!number || (known != known_.end() && known->second.number == *number)) continue;
      known_[path] = {*number, false};
      found.push_back({std::move(path), true});
    }
  }
  return found;
}

std::vector<std::string> FileFinder::without_files() const {
  std::vector<std::string> patterns;
  for (const std::string& pattern : patterns_) {
    const std::vector<std::string> paths = matches(pattern);
    if (std::all_of(paths.begin(), paths.end(), stands_beside_a_database)) patterns.push_back(pattern);
  }
  return patterns;
}

void FileFinder::ended(const std::string& path, bool gone) {
  const auto known = known_.find(path);
  if (known == known_.end()) return;
  known->second.ended = true;
  if (gone) known_.erase(known);
}

}  // namespace txbox::relay
