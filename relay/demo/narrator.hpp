#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace txbox::relay::demo {

enum class Actor { shop, broker, relay, copier, billing, reader };

/// How far the orders have come.
struct Progress {
  std::int64_t committed = 0;
  std::int64_t published = 0;
  std::int64_t applied = 0;
  std::int64_t of = 0;
};

/// Tells the story: a line for each event with the time since the start, a moving line of counts on a terminal, a table
/// at the end. Colours on a terminal only, and never with NO_COLOR. With `json` the words go to stderr and stdout is
/// left to the one object. One thread.
class Narrator {
 public:
  explicit Narrator(bool json);
  Narrator(const Narrator&) = delete;
  Narrator& operator=(const Narrator&) = delete;
  ~Narrator();

  void headline(std::string_view text);
  void say(Actor actor, std::string_view text);
  void stress(Actor actor, std::string_view text);  ///< What a reader must not miss.
  void bad(Actor actor, std::string_view text);
  /// Redraws the moving line; nothing where the output is no terminal.
  void progress(const Progress& progress);

  /// A line of the table at the end; an empty name and value leave a line free.
  struct Row {
    std::string_view name;
    std::string_view value;
    std::string_view remark;
    bool good = true;
  };
  void heading(std::string_view text);
  void row(const Row& row);
  void verdict(std::string_view text, std::string_view aside, bool good);

  [[nodiscard]] std::chrono::milliseconds elapsed() const;
  [[nodiscard]] bool json() const noexcept { return json_; }

 private:
  void line(Actor actor, std::string_view text, std::string_view colour);
  void print(std::string_view text);
  void clear_moving_line();
  [[nodiscard]] std::string paint(std::string_view colour, std::string_view text) const;

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_redraw_;
  std::size_t redraws_ = 0;
  bool json_;
  int descriptor_;
  bool terminal_;
  bool colours_;
  bool moving_line_shown_ = false;
};

}  // namespace txbox::relay::demo
