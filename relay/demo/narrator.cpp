#include "relay/demo/narrator.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "relay/demo/number_text.hpp"

namespace txbox::relay::demo {
namespace {

constexpr std::string_view kBold = "\033[1m";
constexpr std::string_view kDim = "\033[2m";
constexpr std::string_view kRed = "\033[1;31m";
constexpr std::string_view kGreen = "\033[1;32m";

std::string_view name_of(Actor actor) {
  switch (actor) {
    case Actor::shop: return "shop";
    case Actor::broker: return "broker";
    case Actor::relay: return "relay";
    case Actor::reader: return "reader";
  }
  return "";
}

std::string_view colour_of(Actor actor) {
  switch (actor) {
    case Actor::shop: return "\033[36m";
    case Actor::broker: return "\033[35m";
    case Actor::relay: return "\033[33m";
    case Actor::reader: return "\033[34m";
  }
  return "";
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
  constexpr std::int64_t kWidth = 30;
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
  if (!colours_) return std::string(text);
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

void Narrator::line(Actor actor, std::string_view text, bool bad) {
  clear_moving_line();
  print(paint(kDim, right(in_seconds(elapsed()), 9)) + "  " + paint(colour_of(actor), left(name_of(actor), 6)) + "  " +
        (bad ? paint(kRed, text) : std::string(text)) + "\n");
}

void Narrator::say(Actor actor, std::string_view text) { line(actor, text, false); }
void Narrator::bad(Actor actor, std::string_view text) { line(actor, text, true); }

void Narrator::progress(std::int64_t committed, std::int64_t published, std::int64_t of) {
  constexpr std::chrono::milliseconds kRedrawEvery(60);
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now - last_redraw_ < kRedrawEvery) return;
  last_redraw_ = now;
  print("\r\033[K" + std::string(11, ' ') + paint(kDim, bar(published, of)) + "  " + with_commas(committed) +
        " committed, " + with_commas(published) + " in Kafka");
  moving_line_shown_ = true;
}

void Narrator::balance_line(std::string_view name, std::int64_t count, std::string_view remark, bool good) {
  print("  " + left(name, 26) + paint(good ? kBold : kRed, right(with_commas(count), 9)) + "   " +
        (good ? paint(kDim, remark) : paint(kRed, remark)) + "\n");
}

void Narrator::tell(const Outcome& outcome) {
  clear_moving_line();
  const Balance& balance = outcome.balance;
  print("\n" + paint(kBold, "The balance") + "\n");
  balance_line("orders committed", balance.committed,
               "the table orders holds " + with_commas(outcome.orders_in_file) + ", by plain SQL",
               outcome.orders_in_file == balance.committed);
  balance_line("published", balance.published, "committed orders that Kafka holds at least once", balance.lost == 0);
  balance_line("receipts", outcome.receipts, "rows that the outbox itself calls sent",
               outcome.receipts == balance.committed);
  balance_line("duplicates in Kafka", balance.duplicates, "sent again after a kill; the header id tells them apart",
               true);
  balance_line("rolled back", balance.rolled_back, "with their event: Kafka must hold none of them", true);
  balance_line("relay killed", outcome.kills,
               "with SIGKILL, " + std::to_string(outcome.kills_after_publishing) + " of them after it had published",
               true);
  print("\n");
  balance_line("lost", balance.lost, "committed, but not in Kafka", balance.lost == 0);
  balance_line("invented", balance.invented, "in Kafka, but never committed", balance.invented == 0);
  balance_line("altered", balance.altered, "another key or payload than was committed", balance.altered == 0);
  balance_line("out of order", balance.out_of_order,
               "within one of " + with_commas(balance.accounts) + " accounts, by first occurrence",
               balance.out_of_order == 0);

  const std::string took = "  (" + in_seconds(outcome.took) + ", --seed " + std::to_string(outcome.seed) + ")";
  if (outcome.holds()) {
    print("\n" + paint(kGreen, "The balance holds: nothing lost, nothing invented, every account in order.") +
          paint(kDim, took) + "\n");
  } else {
    const bool relay_failed = outcome.balance.holds() && outcome.relay_failures > 0;
    const std::string_view verdict = relay_failed ? "The relay failed by itself." : "The balance does not hold.";
    print("\n" + paint(kRed, verdict) + paint(kDim, took) + "\n");
  }
  if (json_) tell_in_json(outcome);
}

void Narrator::tell_in_json(const Outcome& outcome) {
  const Balance& balance = outcome.balance;
  const nlohmann::ordered_json object = {{"committed", balance.committed},
                                         {"published", balance.published},
                                         {"receipts", outcome.receipts},
                                         {"records", balance.records},
                                         {"duplicates", balance.duplicates},
                                         {"rolled_back", balance.rolled_back},
                                         {"accounts", balance.accounts},
                                         {"kills", outcome.kills},
                                         {"kills_after_publishing", outcome.kills_after_publishing},
                                         {"relay_failures", outcome.relay_failures},
                                         {"lost", balance.lost},
                                         {"invented", balance.invented},
                                         {"altered", balance.altered},
                                         {"out_of_order", balance.out_of_order},
                                         {"holds", outcome.holds()},
                                         {"seed", outcome.seed},
                                         {"seconds", static_cast<double>(outcome.took.count()) / 1000.0}};
  std::printf("%s\n", object.dump().c_str());
  std::fflush(stdout);
}

}  // namespace txbox::relay::demo
