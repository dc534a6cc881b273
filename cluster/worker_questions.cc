#include "cluster/worker_questions.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "cluster/messages.h"
#include "cluster/worker_process.h"
#include "experiments/base/digests.h"
#include "experiments/base/json.h"

namespace retort::cluster {
namespace {

FailureKind FailureFor(StatusCode code) {
  switch (code) {
    case StatusCode::usage:
    case StatusCode::refused:
      return FailureKind::configuration;
    case StatusCode::damage:
      return FailureKind::disk;
    default:
      return FailureKind::internal;
  }
}

constexpr const char* kNone = "none";

}  // namespace

Status SendAnswer(SocketLink& link, const Result<std::string>& answer) {
  const Status status = answer.ok() ? link.Send({{}, {}, 0, Answer{*answer}}) : answer.status();
  Ended ended;
  ended.succeeded = status.ok();
  if (!status.ok()) {
    ended.failure = FailureFor(status.code());
    ended.detail = status.message();
  }
  return link.Send({{}, {}, 0, ended});
}

std::string EncodeGraphAnswer(const GraphAnswer& answer) {
  const nlohmann::json json = {{"state", answer.state}, {"graph", FormatHex(answer.graph)}};
  return DumpJson(json);
}

Result<GraphAnswer> DecodeGraphAnswer(const std::string& json) {
  return ReadJson<GraphAnswer>(json, "graph answer", [](const nlohmann::json& read) -> Result<GraphAnswer> {
    std::optional<std::string> graph = ParseHex(read.at("graph").get<std::string>());
    if (!graph) return DamageError("graph answer does not decode: 'graph' is not in hex digits");
    return GraphAnswer{read.at("state").get<std::vector<std::string>>(), *std::move(graph)};
  });
}

std::string EncodeWorkerReport(const WorkerReport& report) {
  const nlohmann::json json = {{"build", report.build},     {"envelope", report.envelope},
                               {"torch", report.torch},     {"capability", report.capability},
                               {"threads", report.threads}, {"gflops", MakeJsonNumber(report.gflops)}};
  return DumpJson(json);
}

Result<WorkerReport> DecodeWorkerReport(const std::string& json) {
  JsonFields fields(json, "worker report");
  WorkerReport report;
  report.build = fields.String("build");
  report.envelope = fields.Integer("envelope");
  report.torch = fields.String("torch");
  report.capability = fields.String("capability");
  report.threads = fields.Integer("threads");
  report.gflops = fields.Number("gflops");
  RETORT_RETURN_IF_ERROR(fields.status());
  return report;
}

std::string EncodeModelOrder(const ModelOrder& order) {
  const nlohmann::json json = {
      {"network", order.network},       {"weights", order.weights}, {"input", order.input},
      {"logits_out", order.logits_out}, {"classes", order.classes}, {"channels", order.channels},
      {"height", order.height},         {"width", order.width},     {"torchscript", order.torchscript},
      {"non_finite", order.non_finite}, {"layers", order.layers}};
  return DumpJson(json);
}

Result<ModelOrder> DecodeModelOrder(const std::string& json) {
  JsonFields fields(json, "model order");
  ModelOrder order;
  order.network = fields.String("network");
  order.layers = fields.String("layers");
  order.weights = fields.String("weights");
  order.input = fields.String("input");
  order.logits_out = fields.String("logits_out");
  for (const auto& [key, value] : {std::pair{"classes", &order.classes}, std::pair{"channels", &order.channels},
                                   std::pair{"height", &order.height}, std::pair{"width", &order.width}}) {
    *value = fields.Integer(key);
    if (*value < 0 || *value > (std::int64_t{1} << 20)) fields.Fail(key, "a number from 0 to 2^20");
  }
  order.torchscript = fields.Flag("torchscript");
  order.non_finite = fields.Flag("non_finite");
  RETORT_RETURN_IF_ERROR(fields.status());
  return order;
}

std::string EncodeScriptOrder(const ScriptOrder& order) {
  const nlohmann::json json = {{"spec", order.spec},
                               {"attempt_file", order.attempt_file},
                               {"out", order.out},
                               {"description", order.description},
                               {"generator", order.generator}};
  return DumpJson(json);
}

Result<ScriptOrder> DecodeScriptOrder(const std::string& json) {
  JsonFields fields(json, "script order");
  ScriptOrder order;
  order.spec = fields.String("spec");
  order.attempt_file = fields.String("attempt_file");
  order.out = fields.String("out");
  order.description = fields.String("description");
  order.generator = fields.Flag("generator");
  RETORT_RETURN_IF_ERROR(fields.status());
  return order;
}

Hello MakeCudaAnswer(const std::string& build, const Result<int>& usable) {
  if (!usable.ok()) return {build, kNone, {usable.status().message()}};
  Hello hello{build, "cuda", {}};
  for (int ordinal = 0; ordinal < *usable; ++ordinal) hello.capabilities.push_back("cuda:" + std::to_string(ordinal));
  return hello;
}

Result<int> CountUsableCuda(const std::string& program, const std::vector<std::string>& environment,
                            std::chrono::milliseconds deadline) {
  RETORT_ASSIGN_OR_RETURN(WorkerProcess worker, WorkerProcess::Spawn({program, {kProbeCuda}, environment, ""}));
  const Result<std::optional<Envelope>> received = worker.link().Receive(deadline);
  if (!received.ok()) return EnvironmentError("The worker program ended when it looked for CUDA devices.");
  if (!received->has_value()) return EnvironmentError("The worker program did not answer whether it has CUDA devices.");
  const Hello* hello = std::get_if<Hello>(&(*received)->message);
  if (hello == nullptr) return EnvironmentError("The worker program answered something else.");
  if (hello->device == "cuda" && !hello->capabilities.empty()) return static_cast<int>(hello->capabilities.size());
  return EnvironmentError(hello->capabilities.empty() ? "No GPU support." : hello->capabilities.front());
}

}  // namespace retort::cluster
