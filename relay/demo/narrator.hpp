#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "relay/demo/ledger.hpp"

namespace txbox::relay::demo {

enum class Actor { shop, broker, relay, reader };

/// What was counted beside the topic itself.
struct Outcome {
  Balance balance;
  std::int64_t receipts = 0;        ///< Rows that the file says were sent.
  std::int64_t orders_in_file = 0;  ///< Of the table orders, by plain SQL.
  int kills = 0;
  int kills_after_publishing = 0;  ///< Of them, how many hit a relay that had published in that life.
  int relay_failures = 0;          ///< Ends of a relay that nobody had asked for, or with another exit code than 0.
  std::uint64_t seed = 0;
  std::chrono::milliseconds took{0};

  [[nodiscard]] bool holds() const noexcept {
    return balance.holds() && relay_failures == 0 && receipts == balance.committed &&
           orders_in_file == balance.committed;
  }
};

/// Tells the story: a line for each event with the time since the start, a moving line of counts on a terminal, the
/// balance at the end. Colours on a terminal only, and never with NO_COLOR. With `json` the words go to stderr and
/// stdout gets one object. One thread.
class Narrator {
 public:
  explicit Narrator(bool json);
  Narrator(const Narrator&) = delete;
  Narrator& operator=(const Narrator&) = delete;
  ~Narrator();

  void headline(std::string_view text);
  void say(Actor actor, std::string_view text);
  void bad(Actor actor, std::string_view text);
  /// Redraws the moving line; nothing where the output is no terminal.
  void progress(std::int64_t committed, std::int64_t published, std::int64_t of);
  void tell(const Outcome& outcome);
  [[nodiscard]] std::chrono::milliseconds elapsed() const;

 private:
  void line(Actor actor, std::string_view text, bool bad);
  void print(std::string_view text);
  void clear_moving_line();
  [[nodiscard]] std::string paint(std::string_view colour, std::string_view text) const;
  void balance_line(std::string_view name, std::int64_t count, std::string_view remark, bool good);
  void tell_in_json(const Outcome& outcome);

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_redraw_;
  bool json_;
  int descriptor_;
  bool terminal_;
  bool colours_;
  bool moving_line_shown_ = false;
};

}  // namespace txbox::relay::demo
