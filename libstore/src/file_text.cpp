#include "file_text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <txbox/base/error.hpp>

namespace txbox::store {

namespace {

constexpr std::size_t kSmallFileBytesMax = 64 << 10;

class Descriptor {
 public:
  explicit Descriptor(int value) noexcept : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  [[nodiscard]] int get() const noexcept { return value_; }

 private:
  int value_;
};

[[noreturn]] void throw_failure(const std::string& path, const char* what) {
  throw Error(ErrorCode::failure, path + ": cannot be " + what + ": " + std::strerror(errno));
}

void write_all(int descriptor, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_failure(path, "written");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

std::optional<std::string> read_small_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return std::nullopt;
  std::string text;
  std::array<char, 4096> part{};
  while (text.size() <= kSmallFileBytesMax) {
    const ssize_t size = ::read(file.get(), part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return std::nullopt;
    if (size == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  return std::nullopt;
}

void replace_small_file(const std::string& path, const std::string& text) {
  const std::string beside = path + ".new";
  {
    const Descriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (file.get() < 0) throw_failure(beside, "made");
    write_all(file.get(), text, beside);
    if (::fsync(file.get()) != 0) throw_failure(beside, "synced");
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) throw_failure(path, "replaced");
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const Descriptor opened(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() < 0 || ::fsync(opened.get()) != 0) throw_failure(folder, "synced");
}

}  // namespace txbox::store
