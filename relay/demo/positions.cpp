#include "relay/demo/positions.hpp"

namespace txbox::relay::demo {

Positions::Positions(const std::string& db, const Group& group)
    : db_(store::Connection::open(db, {.purpose = store::OpenPurpose::tool})),
      inbox_(db_, group.name),
      topic_(group.topic) {
  inbox_.use_cluster(group.cluster_id);
}

Standing Positions::against(const std::vector<std::int64_t>& ends) {
  Standing standing;
  std::int32_t partition = 0;
  for (const std::int64_t end : ends) {
    const auto position = inbox_.position({.topic = topic_, .partition = partition++});
    const std::int64_t next = position ? position->next_offset : 0;
    standing.delivered += next;
    standing.unread += end - next;
    standing.taken += position ? position->assignment : 0;
  }
  return standing;
}

}  // namespace txbox::relay::demo
