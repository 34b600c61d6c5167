#include "relay/demo/narrator.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "relay/demo/number_text.hpp"

namespace txbox::relay::demo {
namespace {

constexpr std::string_view kBold = "\033[1m";
constexpr std::string_view kDim = "\033[2m";
constexpr std::string_view kRed = "\033[1;31m";
constexpr std::string_view kGreen = "\033[1;32m";

struct Style {
  std::string_view name;
  std::string_view colour;
};

Style style_of(Actor actor) {
  switch (actor) {
    case Actor::shop: return {"shop", "\033[36m"};
    case Actor::broker: return {"broker", "\033[35m"};
    case Actor::relay: return {"relay", "\033[33m"};
    case Actor::copier: return {"copier", "\033[34m"};
    case Actor::billing: return {"billing", "\033[32m"};
    case Actor::reader: return {"reader", "\033[37m"};
  }
  return {};
}

bool wants_colours(bool terminal) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool refused = no_color != nullptr && *no_color != '\0';
  return terminal && !refused && term != nullptr && std::string_view(term) != "dumb";
}

std::string left(std::string_view text, std::size_t width) {
  std::string padded(text);
  padded.resize(std::max(width, padded.size()), ' ');
  return padded;
}

std::string right(std::string_view text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + std::string(text);
}

std::string bar(std::int64_t done, std::int64_t of) {
  constexpr std::int64_t kWidth = 18;
  const std::int64_t filled = of > 0 ? std::clamp<std::int64_t>(done * kWidth / of, 0, kWidth) : kWidth;
  return "[" + std::string(static_cast<std::size_t>(filled), '#') +
         std::string(static_cast<std::size_t>(kWidth - filled), '.') + "]";
}

}  // namespace

Narrator::Narrator(bool json)
    : json_(json),
      descriptor_(json ? STDERR_FILENO : STDOUT_FILENO),
      terminal_(isatty(descriptor_) == 1),
      colours_(wants_colours(terminal_)) {}

Narrator::~Narrator() { clear_moving_line(); }

std::chrono::milliseconds Narrator::elapsed() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start_);
}

void Narrator::print(std::string_view text) {
  // Written at once, so that a pipe shows the story as it happens.
  std::FILE* out = json_ ? stderr : stdout;
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
}

std::string Narrator::paint(std::string_view colour, std::string_view text) const {
  if (!colours_ || colour.empty()) return std::string(text);
  return std::string(colour) + std::string(text) + "\033[0m";
}

void Narrator::clear_moving_line() {
  if (moving_line_shown_) print("\r\033[K");
  moving_line_shown_ = false;
}

void Narrator::headline(std::string_view text) {
  clear_moving_line();
  print(paint(kBold, text) + "\n\n");
}

void Narrator::line(Actor actor, std::string_view text, std::string_view colour) {
  clear_moving_line();
  const Style style = style_of(actor);
  print(paint(kDim, right(in_seconds(elapsed()), 9)) + "  " + paint(style.colour, left(style.name, 7)) + "  " +
        paint(colour, text) + "\n");
}

void Narrator::say(Actor actor, std::string_view text) { line(actor, text, {}); }
void Narrator::stress(Actor actor, std::string_view text) { line(actor, text, kBold); }
void Narrator::bad(Actor actor, std::string_view text) { line(actor, text, kRed); }

void Narrator::progress(const Progress& progress) {
  constexpr std::chrono::milliseconds kRedrawEvery(60);
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now - last_redraw_ < kRedrawEvery) return;
  last_redraw_ = now;
  constexpr std::string_view kTurning = R"(|/-\)";
  const char turning = kTurning[redraws_++ % kTurning.size()];
  print("\r\033[K" + std::string(9, ' ') + turning + " " + paint(kDim, bar(progress.applied, progress.of)) + "  " +
        with_commas(progress.committed) + " committed, " + with_commas(progress.published) + " in Kafka, " +
        with_commas(progress.applied) + " billed");
  moving_line_shown_ = true;
}

void Narrator::heading(std::string_view text) {
  clear_moving_line();
  print("\n" + paint(kBold, text) + "\n");
}

void Narrator::row(const Row& row) {
  if (row.name.empty() && row.value.empty()) {
    print("\n");
    return;
  }
  print("  " + left(row.name, 24) + paint(row.good ? kBold : kRed, right(row.value, 13)));
  if (!row.remark.empty()) print("   " + paint(row.good ? kDim : kRed, row.remark));
  print("\n");
}

void Narrator::verdict(std::string_view text, std::string_view aside, bool good) {
  clear_moving_line();
  print("\n" + paint(good ? kGreen : kRed, text) + paint(kDim, aside) + "\n");
}

}  // namespace txbox::relay::demo
