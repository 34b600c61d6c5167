#include "relay/cli/watch_server.hpp"

#include <utility>

namespace txbox::relay {

WatchServer::WatchServer(const Configuration& configuration, std::shared_ptr<const Liveness> liveness,
                         const LogSink& log) {
  const auto address = listen_address_of(configuration);
  if (!address) return;
  board_ = std::make_shared<FigureBoard>();
  socket_ = std::make_unique<ListenSocket>(*address);
  HostCheck hosts(*address, configuration.list("http.allowed_hosts"));
  server_ = std::make_unique<HttpServer>(*socket_, std::move(hosts), watch_pages(board_, std::move(liveness)));
  log(LogLevel::info, "metrics and pages at " + socket_->address().text());
}

}  // namespace txbox::relay
