#pragma once

#include <chrono>
#include <string>
#include <utility>

namespace txbox::inbox {

/// What became of one message, as its handler says. Made by `done`, retry_after() and park(); a handler that throws
/// instead has failed, which counts as an attempt and is repeated after the consumer's own delay.
class Outcome {
 public:
  enum class Kind {
    done,         ///< Applied: the claim, the effect and the position commit together.
    retry_after,  ///< Not now: what the handler wrote is undone; counts as an attempt.
    park,         ///< Never: what the handler wrote is undone, the message becomes a dead letter at once.
  };

  Outcome() = default;  ///< As `done`.

  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  /// Of retry_after(); zero otherwise.
  [[nodiscard]] std::chrono::milliseconds delay() const noexcept { return delay_; }
  /// Of park(); empty otherwise.
  [[nodiscard]] const std::string& reason() const noexcept { return reason_; }
  friend bool operator==(const Outcome&, const Outcome&) = default;

 private:
  Outcome(Kind kind, std::chrono::milliseconds delay, std::string reason)
      : kind_(kind), delay_(delay), reason_(std::move(reason)) {}
  friend Outcome retry_after(std::chrono::milliseconds delay);
  friend Outcome park(std::string reason);

  Kind kind_ = Kind::done;
  std::chrono::milliseconds delay_{0};
  std::string reason_;
};

/// `return txbox::inbox::done;`
inline const Outcome done;

/// Asks for the message again, not before `delay` has passed (a negative one is zero). Its partition waits, others go
/// on. After as many tries as ConsumerOptions::attempts it becomes a dead letter like one that failed.
[[nodiscard]] inline Outcome retry_after(std::chrono::milliseconds delay) {
  return {Outcome::Kind::retry_after,
          delay < std::chrono::milliseconds::zero() ? std::chrono::milliseconds::zero() : delay,
          {}};
}

/// Gives the message up: a dead letter with this reason, which people will read. It must not repeat the payload; what
/// is longer than a few hundred bytes is cut.
[[nodiscard]] inline Outcome park(std::string reason) {
  return {Outcome::Kind::park, std::chrono::milliseconds::zero(), std::move(reason)};
}

}  // namespace txbox::inbox
