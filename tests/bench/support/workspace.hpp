#pragma once

#include <string>

namespace txbox::bench {

/// A fresh folder for the files of one benchmark, removed at its end. It lies in `parent`, or in $TMPDIR (else /tmp):
/// what `synchronous=full` costs depends on the disk below it.
class Workspace {
 public:
  explicit Workspace(const std::string& parent);
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace();

  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// Writes what is dirty to the disk, so that one run does not pay for the one before.
  void settle() const;

 private:
  std::string path_;
};

}  // namespace txbox::bench
