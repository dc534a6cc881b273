#include "worker/methods/stop_rule.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace retort::worker {
namespace {

std::optional<double> Find(const Series& values, std::string_view name) {
  for (const auto& [key, value] : values)
    if (key == name) return value;
  return std::nullopt;
}

Result<std::optional<double>> Measure(const TrialSpec& spec, const Series& series, Method& method) {
  if (spec.stop.metric == StopMetric::loss) {
    const std::optional<double> student = Find(series, "train.student_loss");
    return student ? student : Find(series, "train.loss");
  }
  RETORT_ASSIGN_OR_RETURN(const Outcome outcome, method.Finish());
  return Find(outcome.metrics, "test.accuracy");
}

}  // namespace

bool IsStopCheck(const TrialSpec& spec, std::int64_t completed) {
  if (spec.stop.metric == StopMetric::none) return false;
  const std::int64_t first = std::max<std::int64_t>(spec.stop.after, 1);
  return completed >= first && (completed - first) % spec.stop.every == 0;
}

bool ShouldRecordLoss(const TrialSpec& spec, std::int64_t step, std::int64_t within, std::int64_t of,
                      std::int64_t every) {
  if (within % every == 0 || within + 1 == of) return true;
  return spec.stop.metric == StopMetric::loss && IsStopCheck(spec, step + 1);
}

Result<bool> ShouldStop(const TrialSpec& spec, const Series& series, Method& method) {
  RETORT_ASSIGN_OR_RETURN(const std::optional<double> value, Measure(spec, series, method));
  if (!value) return false;
  return spec.stop.above ? *value > spec.stop.threshold : *value < spec.stop.threshold;
}

}  // namespace retort::worker
