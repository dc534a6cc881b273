// The scrape endpoint of world rank 0, and the same text for node_exporter's textfile collector.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "experiments/spec/status.h"
#include "monitoring/connection_limits.h"
#include "monitoring/listen_address.h"
#include "monitoring/metrics.h"

namespace retort::monitoring {

inline constexpr std::uint16_t kFirstMetricsPort = 9477;
inline constexpr int kMetricsPortsTried = 64;

// Prometheus text exposition, version 0.0.4: the families of the catalogue in its order, those without any
// series left out. `sweep`: the value of a label of that name, the first of every sample; empty: no such label.
[[nodiscard]] std::string ExpositionText(const MetricValues& values, std::string_view sweep = {});

// Who may read the endpoint, and how. Empty: everyone who reaches it; plain HTTP.
struct Protection {
  std::string credentials;  // "user:password" of HTTP basic authentication
  std::string certificate;  // PEM text of a certificate chain and its private key: HTTPS
};

// The first line of the file, "user:password", without a carriage return at its end. Error: environment when it cannot
// be read, or other users can; usage when it has another form.
[[nodiscard]] Result<std::string> ReadCredentials(const std::string& path);
// The file's text: a PEM certificate, first of its chain, and its private key. Error: environment when it cannot be read,
// or other users can, or the certificate has expired; usage when one of the two is missing, needs a passphrase, or they do
// not belong together.
[[nodiscard]] Result<std::string> ReadCertificate(const std::string& path);

// Serves /metrics from a thread of its own until destroyed. Connections that say nothing, or speak or read slowly, keep nobody
// waiting, and are closed.
class Exporter {
 public:
  // `run`: what the parameter `run` of a request has to be where it has one: whoever scrapes an address that another run
  // has left is told that it is not there (404). Error: environment, when the port that was named is busy, or the
  // certificate cannot be used. Without a port, and with kMetricsPortsTried of them busy, any free one is taken.
  [[nodiscard]] static Result<std::unique_ptr<Exporter>> Start(const ListenAddress& listen,
                                                               const Protection& protection = {},
                                                               const std::string& run = "",
                                                               const ConnectionLimits& limits = {});
  ~Exporter();
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  // What the next scrape sees. Takes no longer than moving `values`: text is made of them by the thread that
  // answers, once. Thread-safe.
  void Publish(MetricValues values);
  [[nodiscard]] std::uint16_t port() const;
  // "127.0.0.1:9477"; where every address of the host is listened on, that of `host`.
  [[nodiscard]] std::string address(std::string_view host = "127.0.0.1") const;
  [[nodiscard]] std::string url(std::string_view host = "127.0.0.1") const;  // "http://127.0.0.1:9477/metrics"
  // Does it listen on every address?
  [[nodiscard]] bool anywhere() const;
  // file_sd document of this one target. Ends with a newline.
  [[nodiscard]] std::string Targets(std::string_view sweep, std::string_view host = "127.0.0.1") const;

 private:
  struct Server;
  explicit Exporter(std::unique_ptr<Server> server);
  std::unique_ptr<Server> server_;
};

// What Targets() writes: `address` is "host:port"; an empty `run` is left out.
[[nodiscard]] std::string TargetsJson(std::string_view address, std::string_view sweep, std::string_view run = {},
                                      bool encrypted = false);

}  // namespace retort::monitoring
