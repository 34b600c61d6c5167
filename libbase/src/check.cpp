#include <txbox/base/check.hpp>

#include <cstdio>
#include <cstdlib>

namespace txbox::base {

void check_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "txbox: broken invariant: %s (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace txbox::base
