#include "model_group.hpp"

#include <algorithm>

namespace txbox::sim {

void ModelPartition::append(int event, std::int64_t gap) {
  high += gap;
  records.push_back({high, event});
  ++high;
}

const ModelRecord* ModelPartition::from(std::int64_t offset) const {
  const auto first = std::lower_bound(records.begin(), records.end(), std::max(offset, low),
                                      [](const ModelRecord& record, std::int64_t at) { return record.offset < at; });
  const auto seen = std::find_if(first, records.end(),
                                 [](const ModelRecord& record) { return record.event != ModelRecord::kMarker; });
  return seen == records.end() ? nullptr : &*seen;
}

void ModelGroup::join(int member) {
  members_[member] = Member{};
  rebalance();
}

void ModelGroup::leave(int member) {
  if (members_.erase(member) > 0) rebalance();
}

void ModelGroup::put_out(int member) {
  const auto found = members_.find(member);
  if (found == members_.end() || found->second.out) return;
  found->second.out = true;
  found->second.to_assign.reset();
  rebalance();
}

bool ModelGroup::in_group(int member) const {
  const auto found = members_.find(member);
  return found != members_.end() && !found->second.out;
}

std::set<int> ModelGroup::members() const {
  std::set<int> ids;
  for (const auto& [id, member] : members_) ids.insert(id);
  return ids;
}

void ModelGroup::rebalance() {
  rebalancing_ = true;
  for (auto& [id, member] : members_) {
    if (member.out) continue;
    member.to_assign.reset();  // Of a generation that is over before the member heard of it.
    member.must_revoke = member.has_assignment;
    member.ready = !member.has_assignment;
  }
  complete();
}

void ModelGroup::complete() {
  if (!rebalancing_) return;
  std::vector<Member*> in;
  for (auto& [id, member] : members_) {
    if (member.out) continue;
    if (!member.ready) return;
    in.push_back(&member);
  }
  if (in.empty()) return;
  rebalancing_ = false;
  ++generation_;
  for (Member* member : in) {
    member->ready = false;
    member->generation = generation_;
    member->to_assign.emplace();
  }
  for (std::size_t index = 0; index < partitions.size(); ++index) {
    in[(index + generation_) % in.size()]->to_assign->push_back(static_cast<std::int32_t>(index));
  }
}

ModelGroup::Told ModelGroup::poll(int member, bool patient) {
  const auto found = members_.find(member);
  if (found == members_.end()) return {};
  Member& one = found->second;
  if (one.out) {
    if (!patient && random_.below(4) != 0) return {};  // It does not know yet.
    if (one.has_assignment) {
      // assignment_lost() can say no although another member has the partitions for long.
      return {random_.below(3) == 0 ? Word::revoked : Word::lost, {}};
    }
    join(member);
    return {};
  }
  if (one.must_revoke) {
    one.must_revoke = false;
    return {Word::revoked, {}};
  }
  if (one.to_assign) {
    Told told{Word::assigned, *one.to_assign};
    one.to_assign.reset();
    one.has_assignment = true;
    return told;
  }
  return {};
}

void ModelGroup::unassigned(int member) {
  const auto found = members_.find(member);
  if (found == members_.end()) return;
  if (found->second.out) return join(member);
  found->second.has_assignment = found->second.must_revoke = false;
  if (!rebalancing_) return;
  found->second.ready = true;
  complete();
}

bool ModelGroup::commit(int member, std::int32_t partition, std::int64_t offset, const std::string& metadata) {
  const auto found = members_.find(member);
  if (found == members_.end() || found->second.out || found->second.generation != generation_) return false;
  partitions[static_cast<std::size_t>(partition)].committed = {offset, metadata};
  return true;
}

}  // namespace txbox::sim
