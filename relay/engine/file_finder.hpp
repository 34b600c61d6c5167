#pragma once

#include <map>
#include <string>
#include <vector>

#include "relay/engine/served_file.hpp"

namespace txbox::relay {

struct FoundFile {
  std::string path;
  bool by_pattern = false;
};

/// Which files are to be served: paths, and patterns (glob(7): * ? [...]) whose files may come later. A text that names
/// a file that is there is a path, whatever characters it has. Single-threaded.
class FileFinder {
 public:
  explicit FileFinder(const std::vector<std::string>& names);

  [[nodiscard]] bool has_patterns() const noexcept { return !patterns_.empty(); }
  /// Where new files of a pattern show, as far as one folder can be named.
  [[nodiscard]] std::vector<std::string> folders() const;
  /// The files that were not given before. SQLite's own files beside a database are never among those of a pattern.
  [[nodiscard]] std::vector<FoundFile> scan();
  /// The patterns that no file fits now.
  [[nodiscard]] std::vector<std::string> without_files() const;
  /// The file of a pattern is served no more; it is given again when it is another one, or, where it is gone, when it
  /// is there again.
  void ended(const std::string& path, bool gone);

 private:
  struct Known {
    FileNumber number;
    bool ended = false;
  };
  std::vector<std::string> paths_;
  std::vector<std::string> patterns_;
  std::map<std::string, Known> known_;
};

}  // namespace txbox::relay
