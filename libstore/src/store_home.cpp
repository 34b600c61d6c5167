#include <algorithm>

#include <txbox/store/statement.hpp>
#include <txbox/store/store_home.hpp>
#include <txbox/store/transaction.hpp>

#include "outbox_sql.hpp"

namespace txbox::store {

namespace {

std::string home_text(const FileIdentity& identity) {
  return std::to_string(identity.device) + ' ' + std::to_string(identity.inode) + ' ' + identity.machine_id;
}

bool shares_a_part(std::string_view one, std::string_view other) {
  for (int part = 0; part < 3; ++part) {
    const std::string_view first = one.substr(0, one.find(' '));
    const std::string_view second = other.substr(0, other.find(' '));
    if (first == second && !first.empty()) return true;
    one.remove_prefix(std::min(one.size(), first.size() + 1));
    other.remove_prefix(std::min(other.size(), second.size() + 1));
  }
  return false;
}

}  // namespace

HomeVerdict check_home(Connection& connection, const FileIdentity& here) {
  const std::string text = home_text(here);
  WriteTransaction transaction(connection.handle());
  Statement find(connection.handle(), sql::kFindHome);
  if (find.step()) {
    const HomeVerdict verdict = shares_a_part(text, find.column_text(0)) ? HomeVerdict::same : HomeVerdict::copied;
    find.reset();
    transaction.commit();
    return verdict;
  }
  Statement record(connection.handle(), sql::kRecordHome);
  record.bind(1, std::string_view(text));
  record.execute();
  transaction.commit();
  return HomeVerdict::first_run;
}

}  // namespace txbox::store
