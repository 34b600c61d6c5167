#include "relay/http/server.hpp"

#include <string_view>
#include <utility>

#include <microhttpd.h>
#include <strings.h>

#include <txbox/base/error.hpp>

namespace txbox::relay {

namespace {

constexpr unsigned kConnectionsMost = 64;
constexpr unsigned kSecondsWithoutProgress = 5;
/// Of one connection: the request's line and headers, and the answer's headers.
constexpr std::size_t kConnectionMemory = 16 << 10;

struct ResponseDeleter {
  void operator()(MHD_Response* response) const noexcept { MHD_destroy_response(response); }
};

MHD_Result queue(MHD_Connection* connection, const HttpAnswer& answer) {
  const std::unique_ptr<MHD_Response, ResponseDeleter> response(MHD_create_response_from_buffer(
      answer.body.size(), const_cast<char*>(answer.body.data()), MHD_RESPMEM_MUST_COPY));
  if (!response) return MHD_NO;
  const auto header = [&response](const char* name, const char* value) {
    return MHD_add_response_header(response.get(), name, value) == MHD_YES;
  };
  bool whole = header(MHD_HTTP_HEADER_CONTENT_TYPE, answer.type.c_str()) &&
               header(MHD_HTTP_HEADER_CACHE_CONTROL, "no-store") && header("X-Content-Type-Options", "nosniff") &&
               header("X-Frame-Options", "DENY") &&
               header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'") &&
               header(MHD_HTTP_HEADER_CONNECTION, "close");
  if (answer.status == MHD_HTTP_METHOD_NOT_ALLOWED) whole = header(MHD_HTTP_HEADER_ALLOW, "GET, HEAD") && whole;
  return whole ? MHD_queue_response(connection, answer.status, response.get()) : MHD_NO;
}

HttpAnswer refusal(unsigned status, std::string text) { return {.status = status, .body = std::move(text) + "\n"}; }

struct HostValues {
  const HostCheck& hosts;
  bool any = false;
  bool allowed = true;
};

MHD_Result look_at_header(void* context, MHD_ValueKind, const char* name, const char* value) {
  auto& seen = *static_cast<HostValues*>(context);
  if (::strcasecmp(name, MHD_HTTP_HEADER_HOST) != 0) return MHD_YES;
  seen.any = true;
  seen.allowed = seen.allowed && seen.hosts.allows(value != nullptr ? value : "");
  return MHD_YES;
}

}  // namespace

struct HttpServer::State {
  State(HostCheck check, HttpPages served) : hosts(std::move(check)), pages(std::move(served)) {}
  ~State() {
    if (daemon == nullptr) return;
    // The listening descriptor comes back from it and is the socket's own.
    MHD_quiesce_daemon(daemon);
    MHD_stop_daemon(daemon);
  }

  HttpAnswer answer(MHD_Connection* connection, std::string_view path, std::string_view method) const;
  static MHD_Result on_request(void* context, MHD_Connection* connection, const char* url, const char* method,
                               const char* version, const char* upload, std::size_t* upload_size, void** request);

  HostCheck hosts;
  HttpPages pages;
  MHD_Daemon* daemon = nullptr;
};

HttpAnswer HttpServer::State::answer(MHD_Connection* connection, std::string_view path, std::string_view method) const {
  HostValues seen{hosts};
  MHD_get_connection_values(connection, MHD_HEADER_KIND, &look_at_header, &seen);
  // No browser leaves it out; a simple health check of HTTP/1.0 does.
  if (seen.any && !seen.allowed)
    return refusal(MHD_HTTP_FORBIDDEN, "this name is not served here; http.allowed_hosts names those that are");
  if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD)
    return refusal(MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD");
  const auto page = pages.find(path);
  if (page == pages.end()) return refusal(MHD_HTTP_NOT_FOUND, "no such page");
  return page->second();
}

MHD_Result HttpServer::State::on_request(void* context, MHD_Connection* connection, const char* url, const char* method,
                                         const char*, const char*, std::size_t*, void**) {
  // Answered as soon as the headers are there: what a client uploads is never read.
  try {
    return queue(connection, static_cast<const State*>(context)->answer(connection, url, method));
  } catch (const std::exception&) {
    return queue(connection, refusal(MHD_HTTP_INTERNAL_SERVER_ERROR, "this page could not be made"));
  }
}

HttpServer::HttpServer(const ListenSocket& socket, HostCheck hosts, HttpPages pages)
    : state_(std::make_unique<State>(std::move(hosts), std::move(pages))) {
  state_->daemon = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO | MHD_USE_ITC, 0, nullptr, nullptr,
                                    &State::on_request, state_.get(), MHD_OPTION_LISTEN_SOCKET, socket.descriptor(),
                                    MHD_OPTION_CONNECTION_LIMIT, kConnectionsMost, MHD_OPTION_CONNECTION_TIMEOUT,
                                    kSecondsWithoutProgress, MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionMemory,
                                    MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
  if (state_->daemon == nullptr)
    throw Error(ErrorCode::failure, "the thread for " + socket.address().text() + " failed");
}

HttpServer::~HttpServer() = default;

}  // namespace txbox::relay
