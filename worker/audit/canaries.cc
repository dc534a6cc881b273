#include "worker/audit/canaries.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "experiments/spec/trial_kind.h"
#include "worker/audit/confidence_score.h"
#include "worker/audit/one_run.h"
#include "worker/audit/retraining.h"
#include "worker/noise/noise_key.h"

namespace retort::worker::audit {
namespace {

constexpr std::int64_t kMostCanaries = 1000;
constexpr std::int64_t kShareOfExamples = 8;
constexpr std::int64_t kShareGuessed = 10;  // to be in, and as many to be out

std::vector<bool> FairCoins(std::int64_t n) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n));
  noise::FillFromOperatingSystem(bytes);
  std::vector<bool> coins(bytes.size());
  std::transform(bytes.begin(), bytes.end(), coins.begin(),
                 [](std::uint8_t byte) { return (byte & 1) != 0; });
  return coins;
}

at::Tensor WrongLabels(const at::Tensor& labels, std::int64_t classes) {
  const at::Tensor rows = at::arange(labels.size(0), labels.options());
  return (labels + 1 + rows.remainder(classes - 1)).remainder(classes);
}

// Guesses of coins from scores, most certain first: at each end a tenth.
OneRunGame Guess(const std::vector<double>& scores, const std::vector<bool>& coins) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  const auto n = static_cast<std::int64_t>(order.size());
  const std::int64_t each = std::max<std::int64_t>(1, n / kShareGuessed);
  std::int64_t correct = 0;
  for (std::int64_t i = 0; i < each; ++i) {
    correct += coins[order[static_cast<std::size_t>(i)]] ? 1 : 0;
    correct += coins[order[static_cast<std::size_t>(n - 1 - i)]] ? 0 : 1;
  }
  return {privacy::kExampleAdded, {n, 2 * each, correct}};
}

// What is proven of the trial when it is run once, with noise from the operating system.
std::optional<double> ProvenOfOneRun(TrialSpec spec, double delta) {
  spec.noise = NoiseMode::secure;
  spec.delta = delta;
  const Result<std::vector<privacy::PrivacyEvent>> events = privacy::PlannedEvents(spec);
  if (!events.ok()) return std::nullopt;
  return ProvenEpsilon(privacy::ClaimsFor({&spec, {}}, *events), privacy::kExampleAdded);
}

std::string NoCanaries(const AuditedTrial& trial) {
  const TrialKind kind = KindOf(trial.inputs.spec);
  if (kind != TrialKind::dpsgd_teacher && kind != TrialKind::dpsgd_student)
    return "canaries are for trials that DP-SGD trains on the private examples";
  if (trial.inputs.data.train.size() < 2 * kShareOfExamples || trial.inputs.data.classes < 2)
    return "there are too few private examples to plant canaries among";
  return "";
}

std::int64_t CanaryCount(const AuditedTrial& trial) {
  const std::int64_t examples = trial.inputs.data.train.size();
  if (trial.order.canaries > 0) return std::min(trial.order.canaries, examples / 2);
  return std::min(kMostCanaries, examples / kShareOfExamples);
}

}  // namespace

Examples PlantCanaries(const Examples& train, std::int64_t classes, const std::vector<bool>& coins) {
  const auto n = static_cast<std::int64_t>(coins.size());
  at::Tensor labels = train.labels.clone();
  labels.narrow(0, 0, n).copy_(WrongLabels(train.labels.narrow(0, 0, n), classes));
  std::vector<std::int64_t> absent;
  for (std::int64_t i = 0; i < n; ++i)
    if (!coins[static_cast<std::size_t>(i)]) absent.push_back(i);
  return train.Without(absent).Relabelled(std::move(labels));
}

Result<privacy::AuditFinding> AuditCanaries(const AuditedTrial& trial, const AuditProgress& progress) {
  if (const std::string why = NoCanaries(trial); !why.empty())
    return NotDone(privacy::AuditKind::canary, trial, why);
  const std::int64_t count = CanaryCount(trial);
  const std::vector<bool> coins = FairCoins(count);
  Dataset data = trial.inputs.data;
  data.train = PlantCanaries(trial.inputs.data.train, data.classes, coins);
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Network> network,
                          Retrain(trial.inputs.spec, data, *trial.env,
                                  [&](std::int64_t done, std::int64_t of) { progress("canary", done, of); }));
  const Examples canaries =
      trial.inputs.data.train.First(count).Relabelled(data.train.labels.narrow(0, 0, count));
  privacy::AuditFinding finding;
  finding.kind = privacy::AuditKind::canary;
  finding.subject = "one more training run with " + std::to_string(count) + " mislabelled canaries";
  finding.confidence = trial.order.confidence;
  const TrialSpec& spec = trial.inputs.spec;
  const GameProof proof{ProvenOfOneRun(spec, spec.delta), ProvenOfOneRun(spec, privacy::kAlarmDelta)};
  JudgeGame(Guess(ConfidenceScores(*network, canaries), coins), spec.delta, proof, finding);
  return finding;
}

}  // namespace retort::worker::audit
