#include <txbox/base/clock.hpp>

namespace txbox {

namespace {
class SystemClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall_now() const override {
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  }
  [[nodiscard]] SteadyTime steady_now() const override { return std::chrono::steady_clock::now(); }
};
}  // namespace

const Clock& system_clock() noexcept {
  static const SystemClock clock;
  return clock;
}

}  // namespace txbox
