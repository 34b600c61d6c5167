#include <txbox/base/interned_name.hpp>

#include <mutex>
#include <set>

namespace txbox {

const std::string* InternedName::keep(std::string_view text) {
  static std::mutex mutex;
  // Its nodes stay where they are. Never destroyed: a name may be used by a destructor that runs later than this one.
  static auto* const kept = new std::set<std::string, std::less<>>();
  const std::lock_guard lock(mutex);
  const auto found = kept->lower_bound(text);
  if (found != kept->end() && *found == text) return &*found;
  return &*kept->emplace_hint(found, text);
}

}  // namespace txbox
