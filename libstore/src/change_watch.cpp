#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

#include <txbox/store/change_watch.hpp>

namespace txbox::store {

namespace {

constexpr int kReadsAtOnce = 4;
constexpr std::uint32_t kPathChanges = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
constexpr std::uint32_t kFolderChanges = IN_DELETE_SELF | IN_MOVE_SELF;

std::string resolve(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : path;
}

/// -wal, -shm and -journal stand for their database.
std::string_view database_name(std::string_view name) noexcept {
  for (const std::string_view suffix : {"-wal", "-shm", "-journal"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return name;
}

struct Folder {
  std::map<std::string, std::vector<ChangeWatch::Number>, std::less<>> databases;  ///< By name in the folder.
  bool tells_of_new_files = false;
};

void keep_one_of_each(std::vector<ChangeWatch::Number>& numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

}  // namespace

struct ChangeWatch::State {
  void take(const inotify_event& event, std::string_view name, Changes& out);
  void everything(const Folder& folder, Changes& out);
  Folder* watch(const std::string& folder);

  int descriptor = -1;
  std::map<int, Folder> folders;  ///< By watch descriptor: the kernel gives one for each folder, however it is named.
};

Folder* ChangeWatch::State::watch(const std::string& folder) {
  if (descriptor < 0) return nullptr;
  const int number =
      ::inotify_add_watch(descriptor, folder.c_str(), IN_MODIFY | IN_ONLYDIR | kPathChanges | kFolderChanges);
  return number < 0 ? nullptr : &folders[number];
}

void ChangeWatch::State::everything(const Folder& folder, Changes& out) {
  for (const auto& [name, numbers] : folder.databases) {
    out.touched.insert(out.touched.end(), numbers.begin(), numbers.end());
    out.replaced.insert(out.replaced.end(), numbers.begin(), numbers.end());
  }
  out.appeared = out.appeared || folder.tells_of_new_files;
}

void ChangeWatch::State::take(const inotify_event& event, std::string_view name, Changes& out) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    for (const auto& [number, folder] : folders) everything(folder, out);
    return;
  }
  const auto found = folders.find(event.wd);
  if (found == folders.end()) return;
  const Folder& folder = found->second;
  // Without a name it speaks of the folder itself.
  if (name.empty()) {
    everything(folder, out);
    if ((event.mask & IN_IGNORED) != 0) folders.erase(found);
    return;
  }
  const std::string_view of = database_name(name);
  const auto database = folder.databases.find(of);
  if (database != folder.databases.end()) {
    out.touched.insert(out.touched.end(), database->second.begin(), database->second.end());
    if (of == name && (event.mask & kPathChanges) != 0)
      out.replaced.insert(out.replaced.end(), database->second.begin(), database->second.end());
  } else if (of == name && (event.mask & (IN_CREATE | IN_MOVED_TO)) != 0) {
    out.appeared = out.appeared || folder.tells_of_new_files;
  }
}

ChangeWatch::ChangeWatch() : state_(std::make_unique<State>()) {
  // Where it fails (out of instances, or not in this kernel) the timers serve alone.
  state_->descriptor = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
}

ChangeWatch::~ChangeWatch() {
  if (state_->descriptor >= 0) ::close(state_->descriptor);
}

int ChangeWatch::descriptor() const noexcept { return state_->descriptor; }

bool ChangeWatch::add(const std::string& database_path, Number number) {
  const std::string real = resolve(database_path);
  const std::size_t slash = real.rfind('/');
  Folder* folder = state_->watch(slash == std::string::npos ? "." : real.substr(0, slash + 1));
  if (folder == nullptr) return false;
  folder->databases[slash == std::string::npos ? real : real.substr(slash + 1)].push_back(number);
  return true;
}

void ChangeWatch::remove(Number number) noexcept {
  for (auto folder = state_->folders.begin(); folder != state_->folders.end();) {
    auto& databases = folder->second.databases;
    for (auto database = databases.begin(); database != databases.end();) {
      std::erase(database->second, number);
      database = database->second.empty() ? databases.erase(database) : std::next(database);
    }
    if (!databases.empty() || folder->second.tells_of_new_files) {
      ++folder;
      continue;
    }
    ::inotify_rm_watch(state_->descriptor, folder->first);
    folder = state_->folders.erase(folder);
  }
}

bool ChangeWatch::add_folder(const std::string& folder) {
  Folder* watched = state_->watch(folder);
  if (watched == nullptr) return false;
  watched->tells_of_new_files = true;
  return true;
}

void ChangeWatch::drain(Changes& out) {
  out.touched.clear();
  out.replaced.clear();
  out.appeared = false;
  if (state_->descriptor < 0) return;
  alignas(inotify_event) std::array<char, 16 << 10> buffer{};
  // Bounded: whoever writes beside the databases without a pause must not keep the caller here.
  for (int reads = 0; reads < kReadsAtOnce; ++reads) {
    const ssize_t size = ::read(state_->descriptor, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof(event));
      // The name is padded with zeros.
      state_->take(event, event.len == 0 ? std::string_view() : std::string_view(buffer.data() + at + sizeof(event)),
                   out);
      at += sizeof(event) + event.len;
    }
  }
  keep_one_of_each(out.touched);
  keep_one_of_each(out.replaced);
}

}  // namespace txbox::store
