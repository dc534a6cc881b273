#include "monitoring/exporter.h"

#include <arpa/inet.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "monitoring/exposition.h"

namespace retort::monitoring {
namespace {

// The newest values, read by the server's threads.
class Snapshot final : public prometheus::Collectable {
 public:
  void Publish(MetricValues values) {
    const std::lock_guard lock(mutex_);
    values_ = std::move(values);
  }
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
    const std::lock_guard lock(mutex_);
    return ToPrometheus(values_);
  }

 private:
  mutable std::mutex mutex_;
  MetricValues values_;
};

// The one place where exceptions of prometheus-cpp are caught: it throws when it cannot bind.
std::unique_ptr<prometheus::Exposer> TryBind(const std::string& address) {
  try {
    return std::make_unique<prometheus::Exposer>(address, /*num_threads=*/1);
  } catch (const std::exception&) {
    return nullptr;
  }
}

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

}  // namespace

struct Exporter::Server {
  std::string host;
  std::shared_ptr<Snapshot> snapshot = std::make_shared<Snapshot>();
  std::unique_ptr<prometheus::Exposer> exposer;  // after `snapshot`: stops first
};

Result<std::unique_ptr<Exporter>> Exporter::Start(const ListenAddress& listen) {
  auto server = std::make_unique<Server>();
  server->host = listen.address;
  const int first = listen.port.value_or(kFirstMetricsPort);
  const int tries = listen.port ? 1 : kMetricsPortsTried;
  for (int port = first; port < first + tries && !server->exposer; ++port) {
    server->exposer = TryBind(listen.address + ":" + std::to_string(port));
  }
  if (!server->exposer && listen.port) {
    return EnvironmentError(
        "Metrics cannot be served on " + listen.address + ":" + std::to_string(*listen.port) +
        ": the port is busy, or the address is not one of this host. Name another port, or none "
        "to take the next free one from " +
        std::to_string(kFirstMetricsPort) + ".");
  }
  if (!server->exposer) {
    return EnvironmentError("No port from " + std::to_string(first) + " to " +
                            std::to_string(first + tries - 1) + " is free on " + listen.address +
                            " to serve metrics. Name one with --metrics-listen.");
  }
  server->exposer->RegisterCollectable(server->snapshot);
  return std::unique_ptr<Exporter>(new Exporter(std::move(server)));
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
  server_->exposer.reset();
}

void Exporter::Publish(MetricValues values) { server_->snapshot->Publish(std::move(values)); }

std::uint16_t Exporter::port() const {
  return static_cast<std::uint16_t>(server_->exposer->GetListeningPorts().front());
}

std::string Exporter::address() const { return server_->host + ":" + std::to_string(port()); }

}  // namespace retort::monitoring
