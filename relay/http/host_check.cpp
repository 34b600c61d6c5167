#include "relay/http/host_check.hpp"

#include <algorithm>
#include <cctype>

namespace txbox::relay {

namespace {

std::string lower(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(),
                 [](unsigned char byte) { return static_cast<char>(std::tolower(byte)); });
  return lowered;
}

/// Without port and brackets; empty where it is malformed.
std::string name_of(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return {};
    const std::string_view rest = host.substr(end + 1);
    if (!rest.empty() && !rest.starts_with(':')) return {};
    return lower(host.substr(1, end - 1));
  }
  return lower(host.substr(0, host.find(':')));
}

}  // namespace

HostCheck::HostCheck(const ListenAddress& address, std::vector<std::string> names)
    : any_(address.is_unix()), local_(address.is_local()), address_(address.host), names_(std::move(names)) {
  for (std::string& name : names_) name = lower(name);
}

bool HostCheck::allows(std::string_view host) const {
  if (any_) return true;
  const std::string name = name_of(host);
  if (name.empty()) return false;
  if (name == address_ || name == "localhost" || is_loopback(name)) return true;
  // No name of anybody's leads to an address in digits.
  if (!local_ && is_ip_address(name)) return true;
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

}  // namespace txbox::relay
