#include "cluster/sample_order.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "experiments/base/json.h"

namespace retort::cluster {
namespace {

nlohmann::json ToJson(const SampleEvaluation& evaluation) {
  return {{"network", evaluation.network},
          {"training", evaluation.training},
          {"held_out", evaluation.held_out},
          {"test", evaluation.test},
          {"epochs", evaluation.epochs},
          {"epoch", evaluation.epoch},
          {"held_out_accuracy", MakeJsonNumber(evaluation.held_out_accuracy)},
          {"accuracy", MakeJsonNumber(evaluation.accuracy)},
          {"frechet_distance", MakeJsonNumber(evaluation.frechet_distance)}};
}

Result<SampleEvaluation> ReadEvaluation(const std::string& json) {
  JsonFields fields(json, "evaluation of samples");
  SampleEvaluation evaluation;
  evaluation.network = fields.String("network");
  evaluation.training = fields.Count("training");
  evaluation.held_out = fields.Count("held_out");
  evaluation.test = fields.Count("test");
  evaluation.epochs = fields.Count("epochs");
  evaluation.epoch = fields.Count("epoch");
  evaluation.held_out_accuracy = fields.Number("held_out_accuracy");
  evaluation.accuracy = fields.Number("accuracy");
  evaluation.frechet_distance = fields.Number("frechet_distance");
  RETORT_RETURN_IF_ERROR(fields.status());
  return evaluation;
}

}  // namespace

std::string EncodeSampleOrder(const SampleOrder& order) {
  return DumpJson({{"trial", order.trial},
                   {"spec", order.spec},
                   {"attempt_file", order.attempt_file},
                   {"parameters", order.parameters},
                   {"teacher_file", order.teacher_file},
                   {"teacher_parameters", order.teacher_parameters},
                   {"data_path", order.data_path},
                   {"folder", order.folder},
                   {"format", order.format},
                   {"labels", static_cast<int>(order.labels)},
                   {"count", order.count},
                   {"seed", std::to_string(order.seed)},
                   {"evaluate", order.evaluate}});
}

Result<SampleOrder> DecodeSampleOrder(const std::string& json) {
  JsonFields fields(json, "sample order");
  SampleOrder order;
  for (const auto& [key, value] :
       {std::pair{"trial", &order.trial}, std::pair{"spec", &order.spec},
        std::pair{"attempt_file", &order.attempt_file}, std::pair{"parameters", &order.parameters},
        std::pair{"teacher_file", &order.teacher_file}, std::pair{"teacher_parameters", &order.teacher_parameters},
        std::pair{"data_path", &order.data_path}, std::pair{"folder", &order.folder},
        std::pair{"format", &order.format}})
    *value = fields.String(key);
  order.labels =
      static_cast<SampleLabels>(fields.Enumerator("labels", static_cast<std::uint8_t>(SampleLabels::released)));
  order.count = fields.Count("count");
  const std::string seed = fields.String("seed");
  const auto [end, error] = std::from_chars(seed.data(), seed.data() + seed.size(), order.seed);
  if (error != std::errc() || end != seed.data() + seed.size()) fields.Fail("seed", "a whole number in digits");
  order.evaluate = fields.Flag("evaluate");
  RETORT_RETURN_IF_ERROR(fields.status());
  return order;
}

std::string EncodeSampleReport(const SampleReport& report) {
  return DumpJson({{"channels", report.channels},
                   {"height", report.height},
                   {"width", report.width},
                   {"labels", report.labels},
                   {"digest", report.digest},
                   {"evaluation", report.evaluation ? DumpJson(ToJson(*report.evaluation)) : ""}});
}

Result<SampleReport> DecodeSampleReport(const std::string& json) {
  JsonFields fields(json, "sample report");
  SampleReport report;
  report.channels = fields.Count("channels");
  report.height = fields.Count("height");
  report.width = fields.Count("width");
  report.labels = fields.Counts("labels");
  report.digest = fields.String("digest");
  const std::string evaluation = fields.String("evaluation");
  RETORT_RETURN_IF_ERROR(fields.status());
  if (evaluation.empty()) return report;
  RETORT_ASSIGN_OR_RETURN(report.evaluation, ReadEvaluation(evaluation));
  return report;
}

}  // namespace retort::cluster
