#include "relay/engine/trouble_note.hpp"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>

#include <txbox/base/error.hpp>
#include <txbox/store/file_guard.hpp>

#include "relay/engine/one_line.hpp"

namespace txbox::relay {

namespace {

std::string path_of(const std::string& state_directory, std::int64_t pid) {
  return state_directory + "/relay-" + std::to_string(pid) + ".trouble";
}

std::optional<BrokerTrouble> trouble_from(std::string_view word) {
  for (const BrokerTrouble trouble : kBrokerTroubles) {
    if (to_string(trouble) == word) return trouble;
  }
  return std::nullopt;
}

}  // namespace

TroubleNote::TroubleNote(const std::string& state_directory, std::int64_t pid) : path_(path_of(state_directory, pid)) {
  // Of a process that had this number before, and was killed.
  std::error_code none;
  std::filesystem::remove(path_, none);
}

TroubleNote::~TroubleNote() { show(std::nullopt); }

void TroubleNote::show(const std::optional<TroubleFigures>& trouble) noexcept {
  const auto kind = trouble ? std::optional(trouble->kind) : std::nullopt;
  if (kind == shown_) return;
  shown_ = kind;
  try {
    if (!trouble) {
      std::filesystem::remove(path_);
      return;
    }
    const std::string fresh = path_ + ".new";
    {
      std::ofstream file(fresh, std::ios::trunc);
      file << to_string(trouble->kind) << '\n' << to_ms(trouble->since) << '\n' << one_line(trouble->text) << '\n';
      if (!file.flush()) return;
    }
    std::filesystem::rename(fresh, path_);
  } catch (const std::exception&) {
    // It is for people, and they have the log.
  }
}

std::optional<TroubleFigures> read_trouble_note(const std::string& state_directory, std::int64_t pid) {
  std::ifstream file(path_of(state_directory, pid));
  std::string kind;
  std::string since;
  TroubleFigures trouble;
  if (!std::getline(file, kind) || !std::getline(file, since) || !std::getline(file, trouble.text)) return std::nullopt;
  const std::optional<BrokerTrouble> known = trouble_from(kind);
  std::int64_t since_ms = 0;
  const auto [end, error] = std::from_chars(since.data(), since.data() + since.size(), since_ms);
  if (!known || error != std::errc() || end != since.data() + since.size()) return std::nullopt;
  trouble.kind = *known;
  trouble.since = WallTime(std::chrono::milliseconds(since_ms));
  return trouble;
}

std::string state_directory_of(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  std::map<std::string, std::string> environment;
  for (std::string entry; std::getline(file, entry, '\0');) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) environment[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  try {
    return environment.empty() ? store::default_state_directory() : store::state_directory_in(environment);
  } catch (const Error&) {
    return {};  // A status without a note is one all the same.
  }
}

}  // namespace txbox::relay
