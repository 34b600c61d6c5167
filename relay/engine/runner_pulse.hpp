#pragma once

#include <cstddef>
#include <string>

namespace txbox::relay {

/// What has become of a run, for whoever watches over the process.
struct RunnerPulse {
  bool ready = false;     ///< Each file that was there at the start was tried: it is served, or waits for its turn.
  bool stopping = false;  ///< A signal came, the drain is at its end, or no file is left.
  std::string words;      ///< The same for a person, in one line.
};

struct RunSurvey {
  bool ready = false;
  bool stopping = false;
  bool outage = false;      ///< Kafka does not take what it was given.
  std::size_t serving = 0;  ///< Files.
  std::size_t waiting = 0;  ///< Files that are to be opened.
  std::string first_wait;   ///< Why the next of them waits, with its path; empty: it was not tried yet.
};

[[nodiscard]] RunnerPulse pulse_of(const RunSurvey& survey);

}  // namespace txbox::relay
