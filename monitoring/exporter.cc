#include "monitoring/exporter.h"

#include <arpa/inet.h>
#include <civetweb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "monitoring/credentials.h"

namespace retort::monitoring {
namespace {

// The newest values, and the text that was made of them.
class Snapshot {
 public:
  void Publish(MetricValues values) {
    auto newest = std::make_shared<Page>(std::move(values));
    const std::lock_guard lock(mutex_);
    page_.swap(newest);
  }
  [[nodiscard]] std::shared_ptr<const std::string> Text() const {
    std::shared_ptr<Page> page;
    {
      const std::lock_guard lock(mutex_);
      page = page_;
    }
    std::call_once(page->once, [&page] { page->text = ExpositionText(page->values); });
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

// Opens a connection and drops it.
void Knock(const std::string& host, std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, host == "0.0.0.0" ? "127.0.0.1" : host.c_str(), &address.sin_addr);
  static_cast<void>(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
  ::close(fd);
}

void Reply(mg_connection* connection, const char* status, const char* headers, const std::string& body) {
  mg_printf(connection, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\nConnection: close\r\n\r\n", status, headers,
            body.size());
  mg_write(connection, body.data(), body.size());
}

}  // namespace

struct Exporter::Server {
  std::string host;
  std::string expected;  // value of the Authorization header; empty: none is asked for
  Snapshot snapshot;
  mg_context* context = nullptr;

  // One for every request: what is not /metrics is not there.
  static int Answer(mg_connection* connection) {
    const mg_request_info* request = mg_get_request_info(connection);
    const auto* server = static_cast<const Server*>(request->user_data);
    const char* given = mg_get_header(connection, "Authorization");
    if (!server->expected.empty() && !EqualInConstantTime(given == nullptr ? "" : given, server->expected)) {
      Reply(connection, "401 Unauthorized", "WWW-Authenticate: Basic realm=\"retort\"\r\n", "");
    } else if (std::string_view(request->local_uri) != "/metrics") {
      Reply(connection, "404 Not Found", "", "");
    } else if (std::string_view(request->request_method) != "GET") {
      Reply(connection, "405 Method Not Allowed", "Allow: GET\r\n", "");
    } else {
      Reply(connection, "200 OK", "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n",
            *server->snapshot.Text());
    }
    return 1;
  }

  // `context` stays null when it cannot listen there.
  void Listen(int port) {
    const std::string where = host + ":" + std::to_string(port);
    const char* options[] = {"listening_ports", where.c_str(), "num_threads", "2", "request_timeout_ms", "10000",
                             "enable_keep_alive", "no", nullptr};
    mg_callbacks callbacks{};
    callbacks.begin_request = &Answer;
    callbacks.log_message = [](const mg_connection*, const char*) { return 1; };  // stderr is not the library's
    context = mg_start(&callbacks, this, options);
  }
};

Result<std::unique_ptr<Exporter>> Exporter::Start(const ListenAddress& listen, const std::string& credentials) {
  auto server = std::make_unique<Server>();
  server->host = listen.address;
  if (!credentials.empty()) server->expected = BasicAuthorization(credentials);
  const int first = listen.port.value_or(kFirstMetricsPort);
  const int tries = listen.port ? 1 : kMetricsPortsTried;
  for (int port = first; port < first + tries && server->context == nullptr; ++port)
    server->Listen(port);
  if (server->context != nullptr) return std::unique_ptr<Exporter>(new Exporter(std::move(server)));
  if (listen.port) {
    return EnvironmentError(
        "Metrics cannot be served on " + listen.address + ":" + std::to_string(*listen.port) +
        ": the port is busy, or the address is not one of this host. Name another port, or none "
        "to take the next free one from " +
        std::to_string(kFirstMetricsPort) + ".");
  }
  return EnvironmentError("No port from " + std::to_string(first) + " to " + std::to_string(first + tries - 1) +
                          " is free on " + listen.address + " to serve metrics. Name one with --metrics-listen.");
}

Exporter::Exporter(std::unique_ptr<Server> server) : server_(std::move(server)) {}

// The server notices that it shall stop at a connection, or else after two seconds.
Exporter::~Exporter() {
  const std::jthread knocking([this, at = port()](const std::stop_token& stopped) {
    while (!stopped.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      Knock(server_->host, at);
    }
  });
  mg_stop(server_->context);
}

void Exporter::Publish(MetricValues values) { server_->snapshot.Publish(std::move(values)); }

std::uint16_t Exporter::port() const {
  mg_server_port port{};
  return mg_get_server_ports(server_->context, 1, &port) == 1 ? static_cast<std::uint16_t>(port.port) : 0;
}

std::string Exporter::address() const { return server_->host + ":" + std::to_string(port()); }

std::string Exporter::url() const { return "http://" + address() + "/metrics"; }

}  // namespace retort::monitoring
