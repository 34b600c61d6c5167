#include "model_database.hpp"

namespace txbox::sim {

void ModelDatabase::add_event() {
  // Events are numbered by the world; every snapshot has room for them.
  const auto grow = [](Database& database) {
    database.claims.push_back(Claimed::no);
    database.ended.push_back(0);
    database.effects.push_back(0);
    database.dead.push_back(0);
  };
  grow(now_);
  grow(work_);
  grow(durable_);
  for (Database& database : since_barrier_) grow(database);
}

bool ModelDatabase::begin(int holder) {
  if (holder_ != kNobody) return false;
  holder_ = holder;
  work_ = now_;
  return true;
}

Database& ModelDatabase::open(int holder) {
  if (holder_ != holder) violated("a statement outside of a transaction");
  return work_;
}

void ModelDatabase::commit(int holder) {
  if (holder_ != holder) violated("a commit without a transaction");
  holder_ = kNobody;
  now_ = work_;
  if (!full_sync_) since_barrier_.push_back(now_);
}

void ModelDatabase::roll_back(int holder) {
  if (holder_ == holder) holder_ = kNobody;
}

void ModelDatabase::catch_up() {
  if (full_sync_) return;
  durable_ = now_;
  since_barrier_.clear();
}

void ModelDatabase::power_cut(std::uint64_t random) {
  holder_ = kNobody;
  if (full_sync_) return;
  const std::size_t kept = random % (since_barrier_.size() + 1);
  if (kept > 0) durable_ = since_barrier_[kept - 1];
  now_ = durable_;
  since_barrier_.clear();
}

void ModelDatabase::restore(const Database& copy) {
  const std::size_t events = now_.claims.size();
  now_ = copy;
  now_.claims.resize(events, Claimed::no);
  now_.ended.resize(events, 0);
  now_.effects.resize(events, 0);
  now_.dead.resize(events, 0);
  durable_ = now_;
  since_barrier_.clear();
}

}  // namespace txbox::sim
