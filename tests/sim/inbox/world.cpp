#include "world.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace txbox::sim {

using namespace inbox::consumer;
using namespace std::chrono_literals;

namespace {

constexpr int kTroubleSteps = 900;
constexpr int kDrainSteps = 120'000;

}  // namespace

bool tracing() {
  static const bool on = std::getenv("TXBOX_SIM_TRACE") != nullptr;
  return on;
}

void trace(const std::string& text) {
  if (tracing()) std::cerr << text << '\n';
}

World::World(std::uint64_t seed, LeftOut what) : random(seed), left_out(what) {
  draw_weather();
  make_topic();
  for (std::size_t count = 0; count < wanted_processes_; ++count) start_process();
}

void World::pass_time(std::chrono::milliseconds time) {
  steady += time;
  wall += time;
}

void World::start_process() {
  CoreOptions mine = options;
  mine.seed = random.next();
  const int id = next_process_++;
  trace("--- process " + std::to_string(id) + " starts");
  processes_.push_back(std::make_unique<Process>(*this, id, mine));
  group->join(id);
}

/// It is killed: what it had open is gone, and the group hears of it when its session ends.
void World::end_process(std::size_t index) {
  const Process& process = *processes_[index];
  trace("--- process " + std::to_string(process.id()) + " is killed");
  database->crash(process.id());
  if (process.started()) ++lost_starts[*process.started()];
  dead_in_group_.insert(process.id());
  frozen_.erase(process.id());
  processes_.erase(processes_.begin() + static_cast<std::ptrdiff_t>(index));
}

void World::end_all() {
  while (!processes_.empty()) end_process(0);
  for (const int id : dead_in_group_) group->leave(id);
  dead_in_group_.clear();
}

void World::run_process(std::size_t index) {
  Process& process = *processes_[index];
  try {
    if (process.act()) return;
  } catch (const Killed&) {
    return end_process(index);
  }
  group->leave(process.id());
  processes_.erase(processes_.begin() + static_cast<std::ptrdiff_t>(index));
}

void World::act() {
  if (application_holds_until_ && *application_holds_until_ <= steady) {
    application_holds_until_.reset();
    database->roll_back(ModelDatabase::kApplication);
  }
  if (!dead_in_group_.empty() && chance(peace ? 4 : 30)) {
    group->leave(*dead_in_group_.begin());
    dead_in_group_.erase(dead_in_group_.begin());
  }
  while (processes_.size() < wanted_processes_) start_process();
  for (auto frozen = frozen_.begin(); frozen != frozen_.end();) {
    if (chance(20)) group->put_out(frozen->first);
    frozen = frozen->second <= steady ? frozen_.erase(frozen) : std::next(frozen);
  }
  std::size_t index = random.below(processes_.size());
  for (std::size_t looked = 0; looked < processes_.size(); ++looked) {
    Process& process = *processes_[index];
    if (!frozen_.contains(process.id()) && (process.busy() || process.idle_until() <= steady)) {
      pass_time(std::chrono::milliseconds(random.below(3)));
      return run_process(index);
    }
    index = (index + 1) % processes_.size();
  }
  SteadyTime next = steady + 100ms;
  for (const auto& process : processes_) {
    if (!frozen_.contains(process->id())) next = std::min(next, process->idle_until());
  }
  pass_time(std::max(1ms, std::chrono::ceil<std::chrono::milliseconds>(next - steady)));
}

bool World::done() const {
  const Database& now = database->now();
  for (std::size_t number = 0; number < now.rows.size(); ++number) {
    const ModelPartition& partition = group->partitions[number];
    const Database::Row& row = now.rows[number];
    if (!row.there || row.next < partition.high || !partition.committed) return false;
    if (partition.committed->offset != row.next || partition.committed->metadata.empty()) return false;
  }
  return !database->locked();
}

std::string World::what_is_left() const {
  std::string left;
  const Database& now = database->now();
  for (std::size_t number = 0; number < now.rows.size(); ++number) {
    const ModelPartition& partition = group->partitions[number];
    left += " o" + std::to_string(number) + ": " +
            (now.rows[number].there ? std::to_string(now.rows[number].next) : "nothing") + " of " +
            std::to_string(partition.high) + ", Kafka " +
            (partition.committed ? std::to_string(partition.committed->offset) : "nothing");
  }
  return left;
}

void World::settle() {
  for (int count = 0; count < kDrainSteps; ++count) {
    act();
    if (count % 8 == 0 && done()) return;
  }
  violated("not everything was done in the end:" + what_is_left());
}

/// One process with `drain` over what was produced while nobody ran; it must end by itself, with everything done.
void World::drain() {
  trace("--- drain");
  end_all();
  wanted_processes_ = 0;
  for (int count = 0; count < 3; ++count) produce();
  options.drain = true;
  for (int count = 0; count < kDrainSteps; ++count) {
    if (processes_.empty()) {
      if (count > 0 && done()) return;
      if (count > 0 && dead_in_group_.empty()) violated("a drain ended before everything was done:" + what_is_left());
      for (const int id : dead_in_group_) group->leave(id);  // A message killed it: once more.
      dead_in_group_.clear();
      start_process();
    }
    act();
  }
  violated("a drain did not end:" + what_is_left());
}

void World::run() {
  for (int count = 0; count < kTroubleSteps; ++count) {
    trouble();
    act();
  }
  make_peace();
  settle();
  if (chance(2)) drain();
  judge_end();
}

}  // namespace txbox::sim
