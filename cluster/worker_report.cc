#include "cluster/worker_report.h"

#include <nlohmann/json.hpp>

#include "experiments/privacy/json_fields.h"

namespace retort::cluster {

std::string EncodeWorkerReport(const WorkerReport& report) {
  const nlohmann::json json = {{"build", report.build},     {"envelope", report.envelope},
                               {"torch", report.torch},     {"capability", report.capability},
                               {"threads", report.threads}, {"gflops", privacy::NumberToJson(report.gflops)}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<WorkerReport> DecodeWorkerReport(const std::string& json) {
  privacy::JsonFields fields(json, "worker report");
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

}  // namespace retort::cluster
