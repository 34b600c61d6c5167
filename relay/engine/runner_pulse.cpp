#include "relay/engine/runner_pulse.hpp"

#include "relay/engine/runner_state.hpp"

namespace txbox::relay {

namespace {

std::string count_of_files(std::size_t count) { return std::to_string(count) + (count == 1 ? " file" : " files"); }

std::string words_of(const RunSurvey& survey) {
  if (survey.stopping) return "stopping: waiting for what is in flight";
  std::string text;
  if (survey.serving > 0) text = "serving " + count_of_files(survey.serving);
  if (survey.waiting > 0) {
    text += (text.empty() ? "waiting for " : ", waiting for ") + count_of_files(survey.waiting);
    if (!survey.first_wait.empty()) text += " (" + survey.first_wait + ")";
  }
  if (text.empty()) text = "waiting for a file to appear";
  if (survey.outage) text += "; Kafka does not answer, rows are kept";
  return text;
}

}  // namespace

RunnerPulse pulse_of(const RunSurvey& survey) { return {survey.ready, survey.stopping, words_of(survey)}; }

void Runner::State::serve_pulse() {
  const SteadyTime time = now();
  // A file that was tried is there again for a later time.
  const bool tried = !all_ended && (to_open.empty() || to_open.begin()->first > first_scan);
  const bool ended = stopping || stopped;
  const bool news = (tried && !pulse.ready) || (ended && !pulse.stopping);
  if (!news && time < next_pulse) return;
  next_pulse = time + options.pulse_interval;
  RunSurvey survey;
  survey.ready = pulse.ready || tried;
  survey.stopping = ended;
  survey.outage = core.status().outage;
  survey.serving = serving_count;
  survey.waiting = to_open.size();
  if (!to_open.empty()) survey.first_wait = files[to_open.begin()->second]->told;
  pulse = pulse_of(survey);
  // What waits and why it waits has lines of its own, and so have a stop and an outage.
  if (survey.serving != serving_told && tried && !survey.stopping) {
    serving_told = survey.serving;
    say(LogLevel::info, "serving " + count_of_files(survey.serving));
  }
  if (options.pulse) options.pulse(pulse);
}

}  // namespace txbox::relay
