#include "relay/cli/confirm.hpp"

#include <array>
#include <cctype>

#include <unistd.h>

namespace txbox::relay {

bool can_ask() noexcept { return isatty(STDIN_FILENO) == 1; }

bool confirm(const std::string& question, std::FILE* answers, std::FILE* words) {
  std::fprintf(words, "%s [y/N] ", question.c_str());
  std::fflush(words);
  std::array<char, 256> line{};
  if (std::fgets(line.data(), static_cast<int>(line.size()), answers) == nullptr) return false;
  std::string answer;
  for (const char* at = line.data(); *at != '\0'; ++at) {
    const auto letter = static_cast<unsigned char>(*at);
    if (std::isspace(letter) == 0) answer += static_cast<char>(std::tolower(letter));
  }
  return answer == "y" || answer == "yes";
}

}  // namespace txbox::relay
