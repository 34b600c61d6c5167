#include <sys/stat.h>

#include <txbox/store/file_guard.hpp>

#include "kernel_locks.hpp"

namespace txbox::store {

std::optional<LockHolder> relay_lock_holder(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  for (const KernelLock& lock : kernel_locks_on(status)) {
    if (lock.kind == KernelLock::Kind::flock && lock.exclusive) return LockHolder{lock.pid};
  }
  return std::nullopt;
}

}  // namespace txbox::store
