#include <txbox/base/backoff.hpp>

#include <algorithm>

namespace txbox {

std::chrono::milliseconds Backoff::wait(unsigned attempt, Random& random) const {
  // Past 2^20 the doubling is far above any sensible `most`; the bound keeps the shift defined.
  const auto doubled = first * (std::int64_t{1} << std::min(attempt, 20U));
  const auto ceiling = std::min<std::chrono::milliseconds>(doubled, most);
  const auto half = ceiling / 2;
  const auto spread = static_cast<std::uint64_t>((ceiling - half).count()) + 1;
  return half + std::chrono::milliseconds(static_cast<std::int64_t>(random.below(spread)));
}

}  // namespace txbox
