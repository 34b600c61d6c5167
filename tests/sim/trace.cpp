#include "trace.hpp"

#include <cstdlib>
#include <iostream>
#include <type_traits>

namespace txbox::sim {

using namespace relay;

bool tracing() {
  static const bool on = std::getenv("TXBOX_SIM_TRACE") != nullptr;
  return on;
}

void trace(const std::string& text) {
  if (tracing()) std::cerr << text << '\n';
}

namespace {

const char* word(ProducerKind kind) { return kind == ProducerKind::main ? "main" : "probation"; }

void print_rows(std::span<const store::OutboxRow> rows) {
  for (const store::OutboxRow& row : rows) {
    std::cerr << ' ' << row.id << (row.sent ? "s" : "");
    if (row.held) std::cerr << ':' << to_string(*row.held);
  }
  std::cerr << '\n';
}

}  // namespace

void trace(const Event& event) {
  if (!tracing()) return;
  std::visit(
      [](const auto& what) {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, event::DatabaseOpened>) {
          std::cerr << "opened " << what.database << " settled " << what.progress.settled_through << " lanes";
          for (const auto& lane : what.held_lanes) std::cerr << ' ' << lane.lane << '=' << lane.held;
          std::cerr << '\n';
        } else if constexpr (std::is_same_v<What, event::RowsRead>) {
          std::cerr << "rows " << what.database << " after " << what.after << (what.exhausted ? " (all):" : ":");
          print_rows(what.rows);
        } else if constexpr (std::is_same_v<What, event::ReadyRead>) {
          std::cerr << "ready " << what.database << " after " << what.after << (what.exhausted ? " (all):" : ":");
          print_rows(what.rows);
        } else if constexpr (std::is_same_v<What, event::Reports>) {
          for (const event::Report& report : what.reports) {
            std::cerr << "report " << report.database << '/' << report.row << ' ' << word(report.producer) << '.'
                      << report.generation << " kind " << static_cast<int>(report.kind) << " offset " << report.offset
                      << '\n';
          }
        } else if constexpr (std::is_same_v<What, event::ProducerReady>) {
          std::cerr << "new producer " << word(what.producer) << '.' << what.generation << '\n';
        } else if constexpr (std::is_same_v<What, event::ConnectionEnded>) {
          std::cerr << "connection of " << word(what.producer) << (what.came_up ? " ended" : " did not come up")
                    << '\n';
        } else if constexpr (std::is_same_v<What, event::TopicDescribed>) {
          std::cerr << "topic " << what.topic << " state " << static_cast<int>(what.facts.state) << " partitions "
                    << what.facts.partitions << '\n';
        } else if constexpr (std::is_same_v<What, event::Marked>) {
          std::cerr << "marked " << what.database << '#' << what.mark << " settled " << what.result.settled_through
                    << " clear " << what.result.clear_lanes.size() << '\n';
        } else if constexpr (std::is_same_v<What, event::Released>) {
          std::cerr << "released " << what.database << ' ' << what.rows << (what.more ? " more\n" : "\n");
        } else if constexpr (std::is_same_v<What, event::Pruned>) {
          std::cerr << "pruned " << what.database << ' ' << what.step.deleted << (what.step.more ? " more\n" : "\n");
        }
      },
      event);
}

void trace(const Command& command) {
  if (!tracing()) return;
  std::visit(
      [](const auto& what) {
        using What = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<What, command::Mark>) {
          std::cerr << "    mark " << what.database << '#' << what.mark << " receipts";
          for (const auto& receipt : what.receipts) std::cerr << ' ' << receipt.id;
          std::cerr << " holds";
          for (const auto& hold : what.holds) std::cerr << ' ' << hold.id << ':' << to_string(hold.state);
          std::cerr << " settled " << what.settled_through << '\n';
        } else if constexpr (std::is_same_v<What, command::Rebuild>) {
          std::cerr << "    rebuild " << word(what.producer) << '.' << what.next_generation << '\n';
        } else if constexpr (std::is_same_v<What, command::Read>) {
          std::cerr << "    read " << what.database << " after " << what.after << " limit " << what.limits.rows << '\n';
        } else if constexpr (std::is_same_v<What, command::ReadReady>) {
          std::cerr << "    read ready " << what.database << " after " << what.after << " scanned "
                    << what.scanned_through << '\n';
        } else if constexpr (std::is_same_v<What, command::ReleaseLane>) {
          std::cerr << "    release lane " << what.lane << '\n';
        } else if constexpr (std::is_same_v<What, command::ReleaseTopic>) {
          std::cerr << "    release topic " << what.topic << '\n';
        } else if constexpr (std::is_same_v<What, command::ReleaseDue>) {
          std::cerr << "    release due\n";
        } else if constexpr (std::is_same_v<What, command::Prune>) {
          std::cerr << "    prune " << what.database << " sent before " << what.limits.sent_before_ms << '\n';
        } else if constexpr (std::is_same_v<What, command::Reload>) {
          std::cerr << "    reload\n";
        } else if constexpr (std::is_same_v<What, command::Say>) {
          std::cerr << "    say: " << what.text << '\n';
        }
      },
      command);
}

}  // namespace txbox::sim
