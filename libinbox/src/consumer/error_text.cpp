#include "libinbox/src/consumer/error_text.hpp"

#include <txbox/base/utf8.hpp>

namespace txbox::inbox::consumer {

namespace {
constexpr std::string_view kCut = "...";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
}  // namespace

std::string tidy_reason(std::string_view text) {
  std::string tidy;
  std::size_t room_for_cut = 0;  // As much of it as still fits with the mark of a cut behind it.
  while (!text.empty()) {
    const std::size_t length = base::utf8_sequence_length(text);
    const bool control = length == 1 && (static_cast<unsigned char>(text.front()) < 0x20 || text.front() == 0x7F);
    tidy.append(length == 0 ? kReplacement : control ? " " : text.substr(0, length));
    if (tidy.size() + kCut.size() <= kLongestReason) room_for_cut = tidy.size();
    if (tidy.size() > kLongestReason) return tidy.replace(room_for_cut, std::string::npos, kCut);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return tidy;
}

std::string reason_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    const std::string text = tidy_reason(error.what() == nullptr ? "" : error.what());
    return text.empty() ? "the handler failed without a reason" : text;
  } catch (...) {
    return "the handler threw something that is no std::exception";
  }
}

}  // namespace txbox::inbox::consumer
