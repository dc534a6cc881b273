#include "monitoring/exporter.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace retort::monitoring {
namespace {

constexpr std::chrono::seconds kClosing{2};
constexpr const char* kTls = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

using Text = std::shared_ptr<const std::string>;

// The newest values, and the text that was made of them.
class Snapshot {
 public:
  void Publish(MetricValues values) {
    auto newest = std::make_shared<Page>(std::move(values));
    const std::lock_guard lock(mutex_);
    page_.swap(newest);
  }
  [[nodiscard]] Text Newest() const {
    std::shared_ptr<Page> page;
    {
      const std::lock_guard lock(mutex_);
      page = page_;
    }
    std::call_once(page->once, [&page] { page->text = FormatExposition(page->values); });
    return {page, &page->text};
  }

 private:
  struct Page {
    explicit Page(MetricValues taken) : values(std::move(taken)) {}
    MetricValues values;
    std::once_flag once;
    std::string text;
  };
  mutable std::mutex mutex_;
  std::shared_ptr<Page> page_ = std::make_shared<Page>(MetricValues());
};

struct Header {
  const char *name, *value;
};

// `body` is kept until it is sent.
MHD_Result Reply(MHD_Connection* connection, unsigned status, Header header, const Text& body = nullptr) {
  MHD_Response* response = body == nullptr
                               ? MHD_create_response_from_buffer(0, nullptr, MHD_RESPMEM_PERSISTENT)
                               : MHD_create_response_from_buffer_with_free_callback_cls(
                                     body->size(), const_cast<char*>(body->data()),  // NOLINT: it is only read
                                     [](void* kept) { delete static_cast<Text*>(kept); }, new Text(body));
  if (response == nullptr) return MHD_NO;
  if (header.name != nullptr) MHD_add_response_header(response, header.name, header.value);
  MHD_add_response_header(response, "Connection", "close");
  const MHD_Result queued = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return queued;
}

std::string_view ToView(const char* text) { return text == nullptr ? std::string_view() : text; }

std::optional<sockaddr_storage> SocketAddress(const std::string& host, int port) {
  sockaddr_storage where{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(where);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(where);
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
    return where;
  }
  where = {};
  if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) != 1) return std::nullopt;
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(static_cast<std::uint16_t>(port));
  return where;
}

bool IsOfThisHost(const std::string& host) {
  const std::optional<sockaddr_storage> where = SocketAddress(host, 0);
  if (!where) return false;
  const int probe = ::socket(where->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  const socklen_t size = where->ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  const bool bound = ::bind(probe, reinterpret_cast<const sockaddr*>(&*where), size) == 0;
  ::close(probe);
  return bound;
}

// A host may have IPv6 alone; the loopback of one kind is as good as that of the other.
std::string HostToListenOn(const std::string& asked) {
  return asked == "127.0.0.1" && !IsOfThisHost(asked) && IsOfThisHost("::1") ? "::1" : asked;
}

std::string JsonString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') quoted += '\\';
    if (byte >= 0x20) {
      quoted += c;
      continue;
    }
    char escape[8];
    std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(byte));
    quoted += escape;
  }
  return quoted + "\"";
}

std::string InBrackets(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

}  // namespace

struct Exporter::Server {
  explicit Server(const ConnectionLimits& allowed) : limits(allowed), guard(allowed) {}

  std::string host, credentials, certificate, run;
  ConnectionLimits limits;
  ConnectionGuard guard;
  Snapshot snapshot;
  MHD_Daemon* daemon = nullptr;

  // Called by the server's thread, before it closes a connection that is over.
  static void Watch(void* self, MHD_Connection* connection, void**, MHD_ConnectionNotificationCode what) {
    const MHD_ConnectionInfo* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == nullptr) return;
    ConnectionGuard& guard = static_cast<Server*>(self)->guard;
    if (what == MHD_CONNECTION_NOTIFY_STARTED)
      guard.Began(info->connect_fd);
    else
      guard.Ended(info->connect_fd);
  }

  static MHD_Result Accepts(void* self, const sockaddr*, socklen_t) {
    return static_cast<Server*>(self)->guard.MayBegin() ? MHD_YES : MHD_NO;
  }

  // One for every request: what is not /metrics is not there.
  static MHD_Result Answer(void* self, MHD_Connection* connection, const char* url, const char* method, const char*,
                           const char*, std::size_t* upload, void** seen) {
    // The first call is about the headers; a body is passed over.
    if (*seen == nullptr) {
      *seen = self;
      return MHD_YES;
    }
    if (*upload > 0) {
      *upload = 0;
      return MHD_YES;
    }
    return static_cast<const Server*>(self)->AnswerAbout(connection, url, method);
  }

  MHD_Result AnswerAbout(MHD_Connection* connection, std::string_view url, std::string_view method) const {
    const char* given = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    const char* wanted = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "run");
    if (!credentials.empty() && !IsAuthorized(ToView(given), credentials))
      return Reply(connection, MHD_HTTP_UNAUTHORIZED, {"WWW-Authenticate", "Basic realm=\"retort\""});
    if (url != "/metrics" || (wanted != nullptr && wanted != run)) return Reply(connection, MHD_HTTP_NOT_FOUND, {});
    if (method != "GET" && method != "HEAD")
      return Reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, {"Allow", "GET, HEAD"});
    return Reply(connection, MHD_HTTP_OK, {"Content-Type", "text/plain; version=0.0.4; charset=utf-8"},
                 snapshot.Newest());
  }

  // `daemon` stays null when it cannot listen there.
  void Listen(int port) {
    const std::optional<sockaddr_storage> where = SocketAddress(host, port);
    if (!where) return;
    unsigned flags = MHD_USE_AUTO_INTERNAL_THREAD | (certificate.empty() ? 0U : static_cast<unsigned>(MHD_USE_TLS));
    // "::" is every address of both kinds.
    if (where->ss_family == AF_INET6) flags |= host == "::" ? MHD_USE_DUAL_STACK : MHD_USE_IPv6;
    MHD_OptionItem encryption[] = {{MHD_OPTION_HTTPS_MEM_KEY, 0, certificate.data()},
                                   {MHD_OPTION_HTTPS_MEM_CERT, 0, certificate.data()},
                                   {MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kTls)},
                                   {MHD_OPTION_END, 0, nullptr}};
    daemon = MHD_start_daemon(flags, 0, &Accepts, this, &Answer, this, MHD_OPTION_SOCK_ADDR, &*where,
                              MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(limits.idle.count()),
                              MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(limits.connections),
                              MHD_OPTION_NOTIFY_CONNECTION, &Watch, this, MHD_OPTION_ARRAY,
                              certificate.empty() ? encryption + 3 : encryption, MHD_OPTION_END);
  }
};

Result<std::unique_ptr<Exporter>> Exporter::Start(const ListenAddress& listen, const Protection& protection,
                                                  const std::string& run, const ConnectionLimits& limits) {
  auto server = std::make_unique<Server>(limits);
  server->host = HostToListenOn(listen.address);
  server->credentials = protection.credentials;
  server->certificate = protection.certificate;
  server->run = run;
  const int first = listen.port.value_or(kFirstMetricsPort);
  const int tries = listen.port ? 1 : kMetricsPortsTried;
  for (int port = first; port < first + tries && server->daemon == nullptr; ++port) server->Listen(port);
  if (server->daemon == nullptr && !listen.port) server->Listen(0);
  if (server->daemon != nullptr) return std::unique_ptr<Exporter>(new Exporter(std::move(server)));
  return EnvironmentError("Metrics cannot be served on " + InBrackets(listen.address) +
                          (listen.port ? ":" + std::to_string(*listen.port) + ": the port is busy, or" : ":") +
                          " the address is not one of this host" +
                          (protection.certificate.empty() ? "" : ", or the certificate cannot be used") +
                          ". Name another port, or none to take the next free one from " +
                          std::to_string(kFirstMetricsPort) + "; --metrics-listen none serves nothing.");
}

Exporter::Exporter(std::unique_ptr<Server> server) : server_(std::move(server)) {}

// libmicrohttpd 0.9.75 crashes when it is stopped while it refuses a request (its answer is dropped then, and used): it
// is stopped when it has no connection left.
Exporter::~Exporter() {
  server_->guard.EndAll(kClosing);
  MHD_stop_daemon(server_->daemon);
}

void Exporter::Publish(MetricValues values) { server_->snapshot.Publish(std::move(values)); }

std::uint16_t Exporter::port() const {
  const MHD_DaemonInfo* info = MHD_get_daemon_info(server_->daemon, MHD_DAEMON_INFO_BIND_PORT);
  return info == nullptr ? std::uint16_t{0} : info->port;
}

bool Exporter::anywhere() const { return server_->host == "0.0.0.0" || server_->host == "::"; }

std::string Exporter::address(std::string_view host) const {
  return InBrackets(anywhere() ? std::string(host) : server_->host) + ":" + std::to_string(port());
}

std::string Exporter::url(std::string_view host) const {
  return (server_->certificate.empty() ? "http://" : "https://") + address(host) + "/metrics";
}

std::string FormatTargets(std::string_view address, std::string_view sweep, std::string_view run, bool encrypted) {
  return "[{\"targets\": [" + JsonString(address) + "], \"labels\": {\"sweep\": " + JsonString(sweep) +
         (run.empty() ? "" : ", \"__param_run\": " + JsonString(run)) +
         (encrypted ? ", \"__scheme__\": \"https\"" : "") + "}}]\n";
}

std::string Exporter::Targets(std::string_view sweep, std::string_view host) const {
  return FormatTargets(address(host), sweep, server_->run, !server_->certificate.empty());
}

namespace {

using Sample = prometheus::ClientMetric;

prometheus::MetricType ToPrometheus(MetricType type) {
  switch (type) {
    case MetricType::counter:
      return prometheus::MetricType::Counter;
    case MetricType::gauge:
      return prometheus::MetricType::Gauge;
    case MetricType::histogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

// Each bucket counts what is at most its bound.
Sample::Histogram ToPrometheus(const Histogram& distribution) {
  Sample::Histogram histogram;
  histogram.sample_sum = distribution.sum();
  for (std::size_t i = 0; i < distribution.counts().size(); ++i) {
    const bool bounded = i < distribution.bounds().size();
    histogram.sample_count += distribution.counts()[i];
    histogram.bucket.push_back(
        {histogram.sample_count, bounded ? distribution.bounds()[i] : std::numeric_limits<double>::infinity()});
  }
  return histogram;
}

Sample MakeSample(const MetricFamily& family, std::string_view sweep, const MetricValues::Labels& labels) {
  Sample sample;
  if (!sweep.empty()) sample.label.push_back({"sweep", std::string(sweep)});
  for (std::size_t i = 0; i < labels.size(); ++i)
    sample.label.push_back({std::string(family.labels[i].name), labels[i]});
  return sample;
}

prometheus::MetricFamily Collect(const MetricFamily& family, const MetricValues& values, std::string_view sweep) {
  prometheus::MetricFamily collected{std::string(family.name), std::string(family.help), ToPrometheus(family.type), {}};
  if (family.type == MetricType::histogram) {
    collected.metric.push_back(MakeSample(family, sweep, {}));
    collected.metric.back().histogram = ToPrometheus(values.Distribution(family.metric));
  }
  collected.metric.reserve(collected.metric.size() + values.Series(family.metric).size());
  for (const auto& [labels, value] : values.Series(family.metric)) {
    Sample& sample = collected.metric.emplace_back(MakeSample(family, sweep, labels));
    (family.type == MetricType::counter ? sample.counter.value : sample.gauge.value) = value;
  }
  return collected;
}

}  // namespace

std::string FormatExposition(const MetricValues& values, std::string_view sweep) {
  std::vector<prometheus::MetricFamily> families;
  for (const MetricFamily& family : MetricCatalogue()) {
    prometheus::MetricFamily collected = Collect(family, values, sweep);
    if (!collected.metric.empty()) families.push_back(std::move(collected));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace retort::monitoring
