#include "relay/demo/temporary_folder.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <txbox/base/error.hpp>

namespace txbox::relay::demo {

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) throw Error(ErrorCode::failure, "no folder for temporary files: " + error.message());
  path_ = (parent / "txbox-demo-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) {
    throw Error(ErrorCode::failure, "making a folder in " + parent.string() + ": " + std::strerror(errno));
  }
}

TemporaryFolder::~TemporaryFolder() {
  // A destructor has nobody to tell; what can't be removed stays for the system's own cleaning.
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace txbox::relay::demo
