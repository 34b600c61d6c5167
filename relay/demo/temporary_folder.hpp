#pragma once

#include <string>

namespace txbox::relay::demo {

/// A fresh folder in $TMPDIR (else /tmp) that only this user may enter; removed with all it holds at scope exit.
class TemporaryFolder {
 public:
  TemporaryFolder();  ///< Throws Error(failure).
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace txbox::relay::demo
