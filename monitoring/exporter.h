// The scrape endpoint of world rank 0, and the same text for node_exporter's textfile collector.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "experiments/base/status.h"
#include "monitoring/connections.h"
#include "monitoring/credentials.h"
#include "monitoring/listen_address.h"
#include "monitoring/metrics.h"

namespace retort::monitoring {

inline constexpr std::uint16_t kFirstMetricsPort = 9477;
inline constexpr int kMetricsPortsTried = 64;

// Serves /metrics from a thread of its own until destroyed. A connection that sends nothing, or sends or reads slowly,
// delays no other, and is closed.
class Exporter {
 public:
  // `run`: the value that the parameter `run` of a request must have if it has one; a scrape that was meant for another
  // run at the same address is answered with 404. Error: environment, when the port that was named is busy, or the
  // certificate cannot be used. Without a port, and with kMetricsPortsTried of them busy, any free one is taken.
  [[nodiscard]] static Result<std::unique_ptr<Exporter>> Start(const ListenAddress& listen,
                                                               const Protection& protection = {},
                                                               const std::string& run = "",
                                                               const ConnectionLimits& limits = {});
  ~Exporter();
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  // Sets what the next scrape sees. Only moves `values`; the thread that answers formats them, once. Thread-safe.
  void Publish(MetricValues values);
  [[nodiscard]] std::uint16_t port() const;
  // "127.0.0.1:9477"; where every address of the host is listened on, that of `host`.
  [[nodiscard]] std::string address(std::string_view host = "127.0.0.1") const;
  [[nodiscard]] std::string url(std::string_view host = "127.0.0.1") const;  // "http://127.0.0.1:9477/metrics"
  // Whether it listens on every address.
  [[nodiscard]] bool anywhere() const;
  // Returns a file_sd document of this one target. Ends with a newline.
  [[nodiscard]] std::string Targets(std::string_view sweep, std::string_view host = "127.0.0.1") const;

 private:
  struct Server;
  explicit Exporter(std::unique_ptr<Server> server);
  std::unique_ptr<Server> server_;
};

// Formats a file_sd document of one target: `address` is "host:port"; an empty `run` is left out.
[[nodiscard]] std::string FormatTargets(std::string_view address, std::string_view sweep, std::string_view run = {},
                                        bool encrypted = false);

// The text that Prometheus scrapes.

// Formats the values as Prometheus text exposition, version 0.0.4: the families of the catalogue in its order, without
// those that have no series. `sweep`: the value of a label of that name, the first of every sample; empty: no such
// label.
[[nodiscard]] std::string FormatExposition(const MetricValues& values, std::string_view sweep = {});

}  // namespace retort::monitoring
