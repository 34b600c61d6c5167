#include "relay/demo/player.hpp"

#include <deque>
#include <fstream>

namespace txbox::relay::demo {
namespace {

std::vector<std::string> last_lines(const std::string& path, std::size_t count) {
  std::ifstream file(path);
  std::deque<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
    if (lines.size() > count) lines.pop_front();
  }
  return {lines.begin(), lines.end()};
}

}  // namespace

Player::Player(const Options& options, Narrator& narrator) : options_(options), narrator_(narrator) {}

void Player::start(const std::vector<std::string>& arguments) {
  process_.emplace(ChildProcess::Options{
      .arguments = arguments, .output_file = options_.log_file, .state_directory = options_.state_directory});
  born_ = std::chrono::steady_clock::now();
}

std::chrono::milliseconds Player::age() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - born_);
}

void Player::report_end(std::string_view what, int result) {
  const std::string text = std::string(what) + ": exit code " + std::to_string(result);
  if (result == 0) {
    say(text);
    return;
  }
  ++failures_;
  bad(text + "; its log ends with:");
  constexpr std::size_t kLines = 15;
  for (const std::string& line : last_lines(options_.log_file, kLines)) bad("  " + line);
}

}  // namespace txbox::relay::demo
