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

// Prometheus text exposition, version 0.0.4: the families of the catalogue in its order, those without any
// series left out.
[[nodiscard]] std::string ExpositionText(const MetricValues& values);
// file_sd document with one target; `address` is "host:port". Ends with a newline.
[[nodiscard]] std::string TargetsJson(std::string_view address, std::string_view sweep);

// The first line of the file, "user:password". Error: environment when it cannot be read, or other users can; usage
// when it has another form.
[[nodiscard]] Result<std::string> ReadCredentials(const std::string& path);

// Serves /metrics from threads of its own until destroyed.
class Exporter {
 public:
  // `credentials`: "user:password" that HTTP basic authentication asks for; empty: everyone who reaches the endpoint
  // reads it. Error: environment when the port that was named is busy, or none from kFirstMetricsPort is free.
  [[nodiscard]] static Result<std::unique_ptr<Exporter>> Start(const ListenAddress& listen,
                                                               const std::string& credentials = "");
  ~Exporter();
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  // What the next scrape sees. Takes no longer than moving `values`: text is made of them by the thread that
  // answers, once. Thread-safe.
  void Publish(MetricValues values);
  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] std::string address() const;  // "127.0.0.1:9477"
  [[nodiscard]] std::string url() const;      // "http://127.0.0.1:9477/metrics"

 private:
  struct Server;
  explicit Exporter(std::unique_ptr<Server> server);
  std::unique_ptr<Server> server_;
};

}  // namespace retort::monitoring
