#include <txbox/base/failpoint.hpp>

#ifdef TXBOX_FAILPOINTS
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

#include <unistd.h>

namespace txbox::base {

namespace {
struct Armed {
  std::string name;
  std::atomic<long> left{0};
};

const Armed& armed_from_environment(Armed& armed) {
  const char* text = std::getenv("TXBOX_FAILPOINT");
  const std::string_view wish = text ? text : "";
  const auto equals = wish.find('=');
  armed.name = wish.substr(0, equals);
  armed.left = equals == std::string_view::npos ? 1 : std::strtol(wish.data() + equals + 1, nullptr, 10);
  return armed;
}

Armed& armed() {
  static Armed value;
  static const Armed& read_once = armed_from_environment(value);
  static_cast<void>(read_once);
  return value;
}
}  // namespace

void pass_failpoint(const char* name) noexcept {
  Armed& wish = armed();
  if (wish.name != name || --wish.left != 0) return;
  const char* action = std::getenv("TXBOX_FAILPOINT_ACTION");
  if (action == nullptr || std::string_view(action) != "hang") std::raise(SIGKILL);
  for (;;) pause();
}

}  // namespace txbox::base
#endif
