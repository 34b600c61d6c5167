// Preloaded into a program, it shifts its wall clock by what stands in the file that TXBOX_CLOCK_SHIFT names: ns as a
// 64 bit number, which may change at any time. The steady clock goes on, as it does where people set the time.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

const std::atomic<std::int64_t>* shift_of_file() {
  const char* path = std::getenv("TXBOX_CLOCK_SHIFT");
  const int file = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* memory = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<const std::atomic<std::int64_t>*>(memory);
}

}  // namespace

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc's names are reserved ones.
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const std::atomic<std::int64_t>* const shift = shift_of_file();
  const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  if (result != 0 || clock != CLOCK_REALTIME || shift == nullptr) return result;
  const std::int64_t moved = now->tv_sec * kSecond + now->tv_nsec + shift->load(std::memory_order_relaxed);
  now->tv_sec = moved / kSecond;
  now->tv_nsec = moved % kSecond;
  return 0;
}
