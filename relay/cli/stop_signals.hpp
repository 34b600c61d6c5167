#pragma once

namespace txbox::relay {

/// SIGTERM and SIGINT as a descriptor for poll(2). Make it before any thread starts: threads inherit the
/// mask that keeps the signals from ending the process. One a process, single-threaded.
class StopSignals {
 public:
  StopSignals();  ///< Throws failure.
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// How many came since the last call.
  int take() noexcept;

 private:
  int descriptor_;
};

}  // namespace txbox::relay
