#include "relay/cli/terminal.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace txbox::relay {

bool wants_colours(std::FILE* stream) {
  const char* refusal = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  const bool refused = refusal != nullptr && *refusal != '\0';
  return !refused && terminal != nullptr && std::string_view(terminal) != "dumb" && isatty(fileno(stream)) == 1;
}

}  // namespace txbox::relay
