#include "kernel_locks.hpp"

#include <sys/sysmacros.h>

#include <array>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

namespace txbox::store {

namespace {

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A line is "1: FLOCK  ADVISORY  WRITE 4711 fe:01:131 0 EOF". Waiters have "->" after the number.
std::optional<KernelLock> lock_in(const std::string& line, const std::string& file) {
  std::istringstream words(line);
  std::string number, kind, mode, access, pid, where, first, last;
  words >> number >> kind >> mode >> access >> pid >> where >> first >> last;
  if (!words || where != file || (kind != "FLOCK" && kind != "POSIX")) return std::nullopt;
  const auto holder = number_in(pid);
  const auto begin = number_in(first);
  const auto end = last == "EOF" ? std::optional(std::numeric_limits<std::int64_t>::max()) : number_in(last);
  if (!holder || !begin || !end) return std::nullopt;
  return KernelLock{.kind = kind == "FLOCK" ? KernelLock::Kind::flock : KernelLock::Kind::posix,
                    .exclusive = access == "WRITE",
                    .pid = *holder,
                    .first_byte = *begin,
                    .last_byte = *end};
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

std::vector<KernelLock> kernel_locks_on(const struct stat& file) {
  const std::string name = name_in_locks(file);
  std::vector<KernelLock> held;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (const auto lock = lock_in(line, name)) held.push_back(*lock);
  }
  return held;
}

}  // namespace txbox::store
