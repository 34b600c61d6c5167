#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <charconv>
#include <fstream>
#include <sstream>

#include <txbox/store/file_guard.hpp>

namespace txbox::store {

namespace {

/// A line of proc_locks(5): "1: FLOCK  ADVISORY  WRITE 4711 fe:01:131 0 EOF". Waiters have "->" after the number.
std::optional<std::int64_t> pid_of(const std::string& line, const std::string& file) {
  std::istringstream words(line);
  std::string number;
  std::string kind;
  std::string mode;
  std::string access;
  std::int64_t pid = 0;
  std::string where;
  words >> number >> kind >> mode >> access >> pid >> where;
  if (!words || kind != "FLOCK" || access != "WRITE" || where != file) return std::nullopt;
  return pid;
}

/// As the kernel prints it: two bytes of device in hexadecimal, the inode in decimal.
std::string name_in_locks(const struct stat& status) {
  std::ostringstream name;
  const auto two_digits = [&name](unsigned value) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::array<char, 16> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value, 16);
    const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
    if (digits.size() < 2) name << kDigits[0];
    name << digits << ':';
  };
  two_digits(major(status.st_dev));
  two_digits(minor(status.st_dev));
  name << status.st_ino;
  return name.str();
}

}  // namespace

std::optional<LockHolder> relay_lock_holder(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  const std::string file = name_in_locks(status);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (const auto pid = pid_of(line, file)) return LockHolder{*pid};
  }
  return std::nullopt;
}

}  // namespace txbox::store
