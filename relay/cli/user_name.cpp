#include "relay/cli/user_name.hpp"

#include <array>

#include <pwd.h>
#include <unistd.h>

namespace txbox::relay {

std::string user_name() {
  std::array<char, 4096> space{};
  passwd entry{};
  passwd* found = nullptr;
  const uid_t user = getuid();
  if (getpwuid_r(user, &entry, space.data(), space.size(), &found) == 0 && found != nullptr) return found->pw_name;
  return "uid " + std::to_string(user);
}

}  // namespace txbox::relay
