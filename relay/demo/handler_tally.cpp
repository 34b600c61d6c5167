#include "relay/demo/handler_tally.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <txbox/base/error.hpp>

namespace txbox::relay::demo {

HandlerTally::HandlerTally(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  // A file that grows is filled with zeros, which are a count of none.
  void* memory = MAP_FAILED;
  if (file >= 0 && ftruncate(file, sizeof(Count)) == 0) {
    memory = mmap(nullptr, sizeof(Count), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int error = errno;
  if (file >= 0) close(file);
  if (memory == MAP_FAILED) throw Error(ErrorCode::failure, "sharing " + path + ": " + std::strerror(error));
  count_ = static_cast<Count*>(memory);
}

HandlerTally::~HandlerTally() { munmap(count_, sizeof(Count)); }

}  // namespace txbox::relay::demo
