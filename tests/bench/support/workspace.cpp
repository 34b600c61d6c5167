#include "tests/bench/support/workspace.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace txbox::bench {

Workspace::Workspace(const std::string& parent) {
  const std::filesystem::path folder =
      parent.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(parent);
  path_ = (folder / "txbox-bench-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) throw std::system_error(errno, std::generic_category(), folder.string());
}

Workspace::~Workspace() {
  std::error_code ignored;  // A destructor has nobody to tell.
  std::filesystem::remove_all(path_, ignored);
}

void Workspace::settle() const {
  const int folder = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) throw std::system_error(errno, std::generic_category(), path_);
  syncfs(folder);
  close(folder);
}

}  // namespace txbox::bench
