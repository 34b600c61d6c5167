#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include <txbox/base/error.hpp>
#include <txbox/store/file_guard.hpp>

#include "file_text.hpp"

namespace txbox::store {

namespace {

constexpr std::string_view kFirstLine = "txbox-witness 1";

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

template <typename Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// Lines `name value` in any order; a name of a later version is passed over.
bool parse_field(std::string_view line, Witness& witness) {
  const std::size_t space = line.find(' ');
  const std::string_view name = line.substr(0, space);
  const std::string_view value = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
  if (name == "incarnation") return parse_number(value, witness.incarnation);
  if (name == "anchor_id") return parse_number(value, witness.anchor_id);
  if (name == "anchor_nonce_prefix") return parse_number(value, witness.anchor_nonce_prefix);
  if (name == "device") return parse_number(value, witness.device);
  if (name == "inode") return parse_number(value, witness.inode);
  if (name == "machine_id") witness.machine_id = value;
  return true;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

WitnessFile::WitnessFile(std::string state_directory, const std::string& store_uuid) {
  // The uuid comes out of a table that anyone may write, and becomes a file name.
  const auto harmless = [](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f') || letter == '-';
  };
  if (store_uuid.empty() || !std::all_of(store_uuid.begin(), store_uuid.end(), harmless)) {
    throw Error(ErrorCode::schema_differs, "txbox_meta: store_uuid is not a uuid: restore the row or a backup");
  }
  namespace fs = std::filesystem;
  std::error_code error;
  const bool made = fs::create_directories(state_directory, error);
  if (error)
    throw Error(ErrorCode::configuration, state_directory + ": the state directory cannot be made: " + error.message());
  if (made) fs::permissions(state_directory, fs::perms::owner_all, error);
  if (error) throw Error(ErrorCode::failure, state_directory + ": " + error.message());
  path_ = std::move(state_directory) + "/" + store_uuid + ".witness";
}

std::optional<Witness> WitnessFile::read() const {
  const std::optional<std::string> text = read_small_file(path_);
  if (!text) return std::nullopt;
  std::string_view left = *text;
  if (next_line(left) != kFirstLine) return std::nullopt;
  Witness witness;
  while (!left.empty()) {
    const std::string_view line = next_line(left);
    if (line == "end") return witness;  // Without its last line the file is not whole.
    if (!parse_field(line, witness)) return std::nullopt;
  }
  return std::nullopt;
}

void WitnessFile::write(const Witness& witness) const {
  std::string text(kFirstLine);
  text += "\nincarnation " + std::to_string(witness.incarnation);
  text += "\nanchor_id " + std::to_string(witness.anchor_id);
  text += "\nanchor_nonce_prefix " + std::to_string(witness.anchor_nonce_prefix);
  text += "\ndevice " + std::to_string(witness.device);
  text += "\ninode " + std::to_string(witness.inode);
  text += "\nmachine_id " + witness.machine_id;
  text += "\nend\n";
  replace_small_file(path_, text);
}

std::string state_directory_in(const std::map<std::string, std::string>& environment) {
  const auto value_of = [&environment](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  // systemd gives a list where several directories are configured; the first is ours.
  if (const std::string state = value_of("STATE_DIRECTORY"); !state.empty()) return state.substr(0, state.find(':'));
  // A relative path must be ignored, says the XDG base directory specification.
  if (const std::string xdg = value_of("XDG_STATE_HOME"); xdg.starts_with('/')) return xdg + "/outbox-relay";
  if (const std::string home = value_of("HOME"); !home.empty()) return home + "/.local/state/outbox-relay";
  throw Error(ErrorCode::configuration, "no state directory: none of STATE_DIRECTORY, XDG_STATE_HOME and HOME is set");
}

std::string default_state_directory() {
  std::map<std::string, std::string> ours;
  for (const char* name : {"STATE_DIRECTORY", "XDG_STATE_HOME", "HOME"}) ours[name] = environment(name);
  return state_directory_in(ours);
}

}  // namespace txbox::store
