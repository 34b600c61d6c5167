#include <cstdio>

#include "relay/metrics/reference.hpp"

int main() {
  const std::string text = txbox::relay::metrics_reference();
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0 ? 0 : 1;
}
