#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "relay/config/listen_address.hpp"

namespace txbox::relay {

/// Judges the Host header of a request. A web site can give its own name this machine's address (DNS rebinding), and
/// its visitors' browsers would then read the pages for it; but they still say that site's name here. Immutable.
class HostCheck {
 public:
  /// `names`: what people call this machine, beside its address. A UNIX socket, which no browser reaches, takes any.
  HostCheck(const ListenAddress& address, std::vector<std::string> names);

  /// `host`: as it came, perhaps with a port.
  [[nodiscard]] bool allows(std::string_view host) const;

 private:
  bool any_;
  bool local_;
  std::string address_;
  std::vector<std::string> names_;  ///< In lower case.
};

}  // namespace txbox::relay
