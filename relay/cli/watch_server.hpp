#pragma once

#include <memory>

#include <txbox/base/log.hpp>

#include "relay/cli/watch_pages.hpp"
#include "relay/config/configuration.hpp"

namespace txbox::relay {

/// The pages, served where http.listen says; where it says nothing there are neither figures nor anything that is open.
class WatchServer {
 public:
  /// Throws configuration where the address may not be had.
  WatchServer(const Configuration& configuration, std::shared_ptr<const Liveness> liveness, const LogSink& log);

  /// For RunnerOptions.
  [[nodiscard]] const std::shared_ptr<FigureBoard>& board() const noexcept { return board_; }

 private:
  std::shared_ptr<FigureBoard> board_;
  std::unique_ptr<ListenSocket> socket_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace txbox::relay
