#include "monitoring/exporter.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <cstdio>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "monitoring/http_server.h"

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
  [[nodiscard]] HttpBody Newest() const {
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

}  // namespace

struct Exporter::Server {
  std::string credentials, run;
  Snapshot snapshot;
  std::unique_ptr<HttpServer> http;  // last: answers from the above

  // What is not /metrics is not there.
  [[nodiscard]] HttpReply Answer(const HttpRequest& request) const {
    if (!credentials.empty() && !IsAuthorized(request.Header("Authorization"), credentials))
      return {401, {{"WWW-Authenticate", "Basic realm=\"retort\""}}};
    if (request.path != "/metrics" || request.Argument("run").value_or(run) != run) return {404};
    if (request.method != "GET" && request.method != "HEAD") return {405, {{"Allow", "GET, HEAD"}}};
    return {200, {{"Content-Type", "text/plain; version=0.0.4; charset=utf-8"}}, snapshot.Newest()};
  }
};

Result<std::unique_ptr<Exporter>> Exporter::Start(const ListenAddress& listen, const Protection& protection,
                                                  const std::string& run, const ConnectionLimits& limits) {
  auto server = std::make_unique<Server>();
  server->credentials = protection.credentials;
  server->run = run;
  HttpOptions options;
  options.address = listen.address;
  options.port = listen.port;
  options.first_port = kFirstMetricsPort;
  options.ports_tried = kMetricsPortsTried;
  options.certificate = protection.certificate;
  options.limits = limits;
  server->http = HttpServer::Start(options, [&of = *server](const HttpRequest& request) { return of.Answer(request); });
  if (server->http != nullptr) return std::unique_ptr<Exporter>(new Exporter(std::move(server)));
  return EnvironmentError("Metrics cannot be served on " + BracketHost(listen.address) +
                          (listen.port ? ":" + std::to_string(*listen.port) + ": the port is busy, or" : ":") +
                          " the address is not one of this host" +
                          (protection.certificate.empty() ? "" : ", or the certificate cannot be used") +
                          ". Name another port, or none to take the next free one from " +
                          std::to_string(kFirstMetricsPort) + "; --metrics-listen none serves nothing.");
}

Exporter::Exporter(std::unique_ptr<Server> server) : server_(std::move(server)) {}

Exporter::~Exporter() = default;

void Exporter::Publish(MetricValues values) { server_->snapshot.Publish(std::move(values)); }

std::uint16_t Exporter::port() const { return server_->http->port(); }

bool Exporter::anywhere() const { return server_->http->anywhere(); }

std::string Exporter::address(std::string_view host) const { return server_->http->Address(host); }

std::string Exporter::url(std::string_view host) const { return server_->http->Origin(host) + "/metrics"; }

std::string FormatTargets(std::string_view address, std::string_view sweep, std::string_view run, bool encrypted) {
  return "[{\"targets\": [" + JsonString(address) + "], \"labels\": {\"sweep\": " + JsonString(sweep) +
         (run.empty() ? "" : ", \"__param_run\": " + JsonString(run)) +
         (encrypted ? ", \"__scheme__\": \"https\"" : "") + "}}]\n";
}

std::string Exporter::Targets(std::string_view sweep, std::string_view host) const {
  return FormatTargets(address(host), sweep, server_->run, server_->http->encrypted());
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
  for (const MetricFamily& family : GetMetricCatalogue()) {
    prometheus::MetricFamily collected = Collect(family, values, sweep);
    if (!collected.metric.empty()) families.push_back(std::move(collected));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace retort::monitoring
