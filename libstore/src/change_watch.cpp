#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <txbox/store/change_watch.hpp>

namespace txbox::store {

struct ChangeWatch::State {
  int descriptor = -1;
  std::string file_name;  ///< Of the database, without its folder; -wal, -shm and -journal begin with it.
};

namespace {

constexpr int kReadsAtOnce = 4;

std::string resolve(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : path;
}

}  // namespace

ChangeWatch::ChangeWatch(const std::string& database_path) : state_(std::make_unique<State>()) {
  const std::string real = resolve(database_path);
  const std::size_t slash = real.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : real.substr(0, slash + 1);
  state_->file_name = slash == std::string::npos ? real : real.substr(slash + 1);
  const int descriptor = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (descriptor < 0) return;  // Out of instances or not in this kernel: the timers serve alone.
  constexpr std::uint32_t kChanges =
      IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF;
  if (::inotify_add_watch(descriptor, folder.c_str(), kChanges) < 0) {
    ::close(descriptor);
    return;
  }
  state_->descriptor = descriptor;
}

ChangeWatch::~ChangeWatch() {
  if (state_->descriptor >= 0) ::close(state_->descriptor);
}

int ChangeWatch::descriptor() const noexcept { return state_->descriptor; }

bool ChangeWatch::drain() {
  if (state_->descriptor < 0) return false;
  bool touched = false;
  alignas(inotify_event) std::array<char, 16 << 10> buffer{};
  // Bounded: whoever writes beside the database without a pause must not keep the caller here.
  for (int reads = 0; reads < kReadsAtOnce; ++reads) {
    const ssize_t size = ::read(state_->descriptor, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof(event));
      const std::string_view name =
          event.len == 0 ? std::string_view() : std::string_view(buffer.data() + at + sizeof(event));
      // Without a name it speaks of the folder itself or of a full queue: both may hide a change.
      if (name.empty() || name.starts_with(state_->file_name)) touched = true;
      at += sizeof(event) + event.len;
    }
  }
  return touched;
}

}  // namespace txbox::store
