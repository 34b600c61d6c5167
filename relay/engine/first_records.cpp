#include "relay/engine/first_records.hpp"

#include <txbox/base/check.hpp>

namespace txbox::relay {

namespace {
/// Far below producer.id.expiration.ms (a day, unless somebody chose otherwise), and so rare that the wait for one
/// acknowledgement costs nothing.
constexpr std::chrono::minutes kQuiet{1};
}  // namespace

std::vector<kafka::HeaderView> KeptRecord::header_views() const {
  std::vector<kafka::HeaderView> views;
  views.reserve(headers.size());
  for (const auto& [name, value] : headers) views.push_back({name, value});
  return views;
}

FirstRecords::Place& FirstRecords::place(const std::string& topic, std::int32_t partition) {
  if (newest_ == nullptr || newest_->first != topic) newest_ = &*topics_.try_emplace(topic).first;
  const auto index = static_cast<std::size_t>(partition);
  if (index >= newest_->second.size()) newest_->second.resize(index + 1);
  return newest_->second[index];
}

FirstRecords::Verdict FirstRecords::judge(const std::string& topic, std::int32_t partition, std::uint64_t tag,
                                          SteadyTime now) {
  Place& where = place(topic, partition);
  if (where.state == State::open && now - where.used_at > kQuiet) where.state = State::fresh;
  where.used_at = now;
  switch (where.state) {
    case State::open: return Verdict::send;
    case State::first_sent: return Verdict::keep;
    case State::fresh: break;
  }
  where.state = State::first_sent;
  firsts_.emplace(tag, std::pair(topic, partition));
  return Verdict::send;
}

void FirstRecords::keep(KeptRecord record) {
  Place& where = place(record.topic, record.partition);
  TXBOX_CHECK(where.state == State::first_sent);
  where.kept.push_back(std::move(record));
}

std::deque<KeptRecord> FirstRecords::answered(std::uint64_t tag) {
  const auto found = firsts_.find(tag);
  if (found == firsts_.end()) return {};
  const auto [topic, partition] = found->second;
  firsts_.erase(found);
  Place& where = place(topic, partition);
  where.state = State::open;
  return std::exchange(where.kept, {});
}

void FirstRecords::clear() {
  topics_.clear();
  newest_ = nullptr;
  firsts_.clear();
}

}  // namespace txbox::relay
