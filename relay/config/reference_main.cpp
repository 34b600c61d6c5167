#include <cstdio>
#include <exception>

#include "relay/config/reference.hpp"

int main() {
  try {
    const std::string text = txbox::relay::configuration_reference();
    return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "configuration_reference: %s\n", error.what());
    return 1;
  }
}
