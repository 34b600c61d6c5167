#include <txbox/kafka/producer.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <exception>
#include <memory>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include <txbox/base/check.hpp>
#include <txbox/base/error.hpp>
#include <txbox/kafka/errors.hpp>

#include "connection_watch.hpp"
#include "handles.hpp"
#include "log_level.hpp"
#include "producer_configuration.hpp"
#include "topic_creation.hpp"
#include "topic_description.hpp"

namespace txbox::kafka {
namespace {

static_assert(sizeof(void*) >= sizeof(std::uint64_t), "a record's tag travels in librdkafka's opaque pointer");

class Descriptor {
 public:
  Descriptor() : number_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (number_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(number_); }
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

Persistence persistence_of(const rd_kafka_message_t* message) noexcept {
  switch (rd_kafka_message_status(message)) {
    case RD_KAFKA_MSG_STATUS_NOT_PERSISTED: return Persistence::not_persisted;
    case RD_KAFKA_MSG_STATUS_POSSIBLY_PERSISTED: return Persistence::possibly_persisted;
    case RD_KAFKA_MSG_STATUS_PERSISTED: return Persistence::persisted;
  }
  return Persistence::possibly_persisted;
}

LogLevel level_of(int syslog_level, std::string_view facility, std::string_view text) noexcept {
  // librdkafka warns of each producer with this property; it is our own choice, and nobody can act on the warning.
  if (text.find("enable.gapless.guarantee is experimental") != std::string_view::npos) return LogLevel::debug;
  return kafka::level_of(syslog_level, facility);
}

std::chrono::milliseconds not_negative(std::chrono::milliseconds timeout) {
  return std::max(timeout, std::chrono::milliseconds(0));
}

/// Where rd_kafka_new() fails late it has freed the interceptors of the configuration that it leaves to its caller, and
/// destroying that would free them twice (librdkafka before 2.13.0, #5240). Each wrong configuration costs its memory.
void keep_for_ever(rd_kafka_conf_t* configuration) noexcept {
  // Some are kept in reach only so that a search for leaks does not find them.
  static std::array<std::atomic<rd_kafka_conf_t*>, 64> kept;
  static std::atomic<std::size_t> count;
  kept[count++ % kept.size()] = configuration;
}

/// Owns what it returns: producev() takes the headers only when it succeeds, on every one of its error paths
/// (produceva() of 2.0.2 frees them twice when the partition does not exist).
HeadersHandle to_headers(std::span<const HeaderView> headers) {
  HeadersHandle list(rd_kafka_headers_new(headers.size()));
  for (const HeaderView& header : headers) {
    const BytesView name(header.name);
    const rd_kafka_resp_err_t error =
        rd_kafka_header_add(list.get(), name.data(), static_cast<ssize_t>(name.size()), header.value.data(),
                            static_cast<ssize_t>(header.value.size()));
    TXBOX_CHECK(error == RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  return list;
}

}  // namespace

/// Everything that librdkafka's callbacks reach. They run inside poll() on the caller's thread only.
/// Members die in reverse order: queue and topics before the client, descriptor and connections after it.
struct Producer::State {
  explicit State(const ProducerOptions& options);
  ~State();

  rd_kafka_topic_t* topic(const std::string& name) const;
  void serve(std::chrono::milliseconds timeout);
  void purge() noexcept;

  static void on_report(rd_kafka_t* client, const rd_kafka_message_t* message, void* opaque) noexcept;
  static void on_error(rd_kafka_t* client, int error, const char* reason, void* opaque) noexcept;
  static void on_log(const rd_kafka_t* client, int level, const char* facility, const char* text) noexcept;

  LogSink log;
  Descriptor descriptor;
  ConnectionWatch connections{descriptor.number()};
  std::vector<DeliveryReport>* reports = nullptr;  ///< Set during poll().
  std::exception_ptr failure;                      ///< What a callback could not throw; poll() does.
  std::optional<ClientError> client_error;
  std::size_t in_queue = 0;
  ClientHandle client;
  QueueHandle queue;
  std::unordered_map<std::string, TopicHandle> topics;
  /// Most records follow one of their own topic.
  mutable const std::pair<const std::string, TopicHandle>* newest_topic = nullptr;
};

Producer::State::State(const ProducerOptions& options) : log(options.log) {
  ConfigurationHandle configuration = producer_configuration(options);
  rd_kafka_conf_set_opaque(configuration.get(), this);
  rd_kafka_conf_set_dr_msg_cb(configuration.get(), on_report);
  rd_kafka_conf_set_error_cb(configuration.get(), on_error);
  rd_kafka_conf_set_log_cb(configuration.get(), on_log);
  connections.watch(configuration.get());
  std::array<char, 512> reason{};
  client.reset(rd_kafka_new(RD_KAFKA_PRODUCER, configuration.get(), reason.data(), reason.size()));
  if (!client) {
    keep_for_ever(configuration.release());
    throw Error(ErrorCode::configuration, std::string("kafka configuration: ") + reason.data());
  }
  static_cast<void>(configuration.release());
  rd_kafka_set_log_queue(client.get(), nullptr);
  queue.reset(rd_kafka_queue_get_main(client.get()));
  const std::uint64_t one = 1;  // eventfd(2) takes eight bytes.
  rd_kafka_queue_io_event_enable(queue.get(), descriptor.number(), &one, sizeof(one));
  // librdkafka writes when its queue stops being empty: what lies there already (a log line) would hide what follows.
  eventfd_write(descriptor.number(), one);
}

Producer::State::~State() {
  // librdkafka must not write to the descriptor any more when its number may belong to somebody else.
  if (queue) rd_kafka_queue_io_event_enable(queue.get(), -1, nullptr, 0);
  if (client) purge();
}

rd_kafka_topic_t* Producer::State::topic(const std::string& name) const {
  if (newest_topic == nullptr || newest_topic->first != name) {
    const auto found = topics.find(name);
    TXBOX_CHECK(found != topics.end());
    newest_topic = &*found;
  }
  return newest_topic->second.get();
}

void Producer::State::serve(std::chrono::milliseconds timeout) {
  rd_kafka_poll(client.get(), static_cast<int>(not_negative(timeout).count()));
  if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
}

void Producer::State::purge() noexcept {
  // Not waiting for the broker threads: one may be stuck in name resolution. The reports say when it is done.
  rd_kafka_purge(client.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
}

void Producer::State::on_report(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) noexcept {
  auto& self = *static_cast<State*>(opaque);
  --self.in_queue;
  try {
    self.reports->push_back({.tag = reinterpret_cast<std::uint64_t>(message->_private),
                             .error = message->err,
                             .persistence = persistence_of(message),
                             .partition = message->partition,
                             .offset = message->offset >= 0 ? message->offset : -1});
  } catch (...) {
    self.failure = std::current_exception();
  }
}

void Producer::State::on_error(rd_kafka_t* client, int error, const char* reason, void* opaque) noexcept {
  // It accompanies every other error and says nothing by itself.
  if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) return;
  auto& self = *static_cast<State*>(opaque);
  try {
    if (error == RD_KAFKA_RESP_ERR__FATAL) {
      std::array<char, 512> text{};
      const rd_kafka_resp_err_t cause = rd_kafka_fatal_error(client, text.data(), text.size());
      self.client_error = ClientError{.error = cause, .text = text.data()};
    } else {
      self.client_error = ClientError{.error = error, .text = reason != nullptr ? reason : ""};
    }
  } catch (...) {
    self.failure = std::current_exception();
  }
}

void Producer::State::on_log(const rd_kafka_t* client, int level, const char* facility, const char* text) noexcept {
  auto* self = static_cast<State*>(rd_kafka_opaque(client));
  if (self == nullptr || !self->log) return;
  try {
    self->log(level_of(level, facility, text), std::string("librdkafka ") + facility + ": " + text);
  } catch (...) {
    self->failure = std::current_exception();
  }
}

Producer::Producer(const ProducerOptions& options) : state_(std::make_unique<State>(options)) {}

Producer::~Producer() = default;

void Producer::add_topic(const std::string& topic) {
  if (state_->topics.contains(topic)) return;
  TopicHandle handle(rd_kafka_topic_new(state_->client.get(), topic.c_str(), nullptr));
  if (!handle) {
    throw Error(ErrorCode::invalid_argument, "kafka topic " + topic + ": " + describe(rd_kafka_last_error()));
  }
  state_->topics.emplace(topic, std::move(handle));
}

int Producer::produce(const std::string& topic, std::int32_t partition, BytesView key, BytesView payload,
                      std::span<const HeaderView> headers, std::uint64_t tag) {
  TXBOX_CHECK(partition >= 0);
  HeadersHandle list = to_headers(headers);
  // librdkafka only reads key and payload: RD_KAFKA_MSG_F_COPY.
  const rd_kafka_resp_err_t error = rd_kafka_producev(
      state_->client.get(), RD_KAFKA_V_RKT(state_->topic(topic)), RD_KAFKA_V_PARTITION(partition),
      RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key.data(), key.size()),
      RD_KAFKA_V_VALUE(const_cast<char*>(payload.data()), payload.size()), RD_KAFKA_V_HEADERS(list.get()),
      RD_KAFKA_V_OPAQUE(reinterpret_cast<void*>(tag)), RD_KAFKA_V_END);
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return error;
  static_cast<void>(list.release());
  ++state_->in_queue;
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

void Producer::poll(std::chrono::milliseconds timeout, std::vector<DeliveryReport>& out) {
  state_->reports = &out;
  const std::unique_ptr<State, void (*)(State*)> reset(state_.get(), [](State* state) { state->reports = nullptr; });
  state_->serve(timeout);
}

int Producer::report_descriptor() const noexcept { return state_->descriptor.number(); }

void Producer::drain_report_descriptor() noexcept {
  eventfd_t count = 0;
  eventfd_read(state_->descriptor.number(), &count);  // EAGAIN, its only error here, says that nothing was to be read.
}

void Producer::purge() { state_->purge(); }

std::size_t Producer::in_queue() const noexcept { return state_->in_queue; }

bool Producer::fatal() const noexcept {
  return rd_kafka_fatal_error(state_->client.get(), nullptr, 0) != RD_KAFKA_RESP_ERR_NO_ERROR;
}

std::optional<ClientError> Producer::take_client_error() { return std::exchange(state_->client_error, std::nullopt); }

std::vector<ConnectionEnd> Producer::take_connection_ends() { return state_->connections.take(); }

ConnectionTally Producer::connection_tally() { return state_->connections.tally(); }

std::string Producer::cluster_id(std::chrono::milliseconds timeout) {
  char* id = rd_kafka_clusterid(state_->client.get(), static_cast<int>(not_negative(timeout).count()));
  if (id == nullptr) return {};
  std::string copy(id);
  rd_kafka_mem_free(state_->client.get(), id);
  return copy;
}

std::vector<TopicDescription> Producer::describe_topics(const std::vector<std::string>& topics,
                                                        std::chrono::milliseconds timeout) {
  return kafka::describe_topics(state_->client.get(), topics, not_negative(timeout));
}

std::vector<TopicCreation> Producer::create_topics(const std::vector<std::string>& topics, TopicShape shape,
                                                   std::chrono::milliseconds timeout) {
  return kafka::create_topics(state_->client.get(), topics, shape, not_negative(timeout));
}

}  // namespace txbox::kafka
