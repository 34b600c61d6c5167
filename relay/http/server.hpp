#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "relay/http/host_check.hpp"
#include "relay/http/listen_socket.hpp"

namespace txbox::relay {

struct HttpAnswer {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

/// By path. Each is called on the server's thread, must not wait, and may throw (500).
using HttpPages = std::map<std::string, std::function<HttpAnswer()>, std::less<>>;

/// Serves pages that are only looked at: GET and HEAD, one request a connection, on one thread of its own. Few
/// connections, small requests and short waits are allowed, so that no client costs the process more than that; a
/// client that is too slow is dropped. Construct and destroy on one thread.
class HttpServer {
 public:
  /// Serves at once. Throws failure. `socket` must live as long.
  HttpServer(const ListenSocket& socket, HostCheck hosts, HttpPages pages);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  /// Takes no more requests, ends those under way, and stops the thread.
  ~HttpServer();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace txbox::relay
