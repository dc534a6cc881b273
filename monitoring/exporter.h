// The scrape endpoint of world rank 0, and the same text for node_exporter's textfile collector.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "experiments/spec/status.h"
#include "monitoring/listen_address.h"
#include "monitoring/metrics.h"

namespace retort::monitoring {

inline constexpr std::uint16_t kFirstMetricsPort = 9477;
inline constexpr int kMetricsPortsTried = 64;

// Prometheus text exposition, version 0.0.4.
[[nodiscard]] std::string ExpositionText(const MetricValues& values);
// file_sd document with one target; `address` is "host:port". Ends with a newline.
[[nodiscard]] std::string TargetsJson(std::string_view address, std::string_view sweep);

// Serves /metrics from threads of its own until destroyed.
class Exporter {
 public:
  // Error: environment when the port that was named is busy, or none from kFirstMetricsPort is free.
  [[nodiscard]] static Result<std::unique_ptr<Exporter>> Start(const ListenAddress& listen);
  ~Exporter();
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  // What the next scrape sees. Cheap; thread-safe.
  void Publish(MetricValues values);
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string address() const;  // "127.0.0.1:9477"

 private:
  struct Server;
  explicit Exporter(std::unique_ptr<Server> server);
  std::unique_ptr<Server> server_;
};

}  // namespace retort::monitoring
