#include "worker/audit/membership.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/nan_to_num.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/methods/methods.h"
#include "experiments/privacy/attack_bounds.h"
#include "experiments/privacy/audit_report.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"
#include "worker/audit/audited_trial.h"
#include "worker/audit/retraining.h"
#include "worker/data/dataset.h"
#include "worker/models/network.h"
#include "worker/noise/noise_key.h"

namespace retort::worker::audit {
namespace {

// The game of one-run audits (Steinke, Nasr and Jagielski 2023): fair coins, and guesses of some of them.
struct OneRunGame {
  privacy::Relation relation;  // neighbours differ in one coin
  privacy::OneRunAudit result;
};

// The proven epsilons of the attacked trial, under the game's relation.
struct GameProof {
  std::optional<double> at_delta;        // at the delta of the trial
  std::optional<double> at_alarm_delta;  // at privacy::kAlarmDelta
};

// Fills claim at `delta`, bounds and power of `finding`, whose confidence is set.
void FillFindingFromGame(const OneRunGame& game, double delta, const GameProof& proof, privacy::AuditFinding& finding) {
  const double error = 1 - finding.confidence;
  const privacy::OneRunAudit& result = game.result;
  privacy::Claim claim;
  claim.adjacency = game.relation.adjacency;
  claim.neighbour = game.relation.neighbour;
  claim.delta = delta;
  claim.lower = privacy::OneRunEpsilonLower(result, delta, error);
  claim.status = privacy::ClaimStatus::audited;
  claim.units = privacy::DescribeUnit(game.relation.adjacency);
  claim.accountant = "audit:" + std::string(privacy::AuditKindName(finding.kind));
  finding.claim = std::move(claim);
  finding.alarm_lower = privacy::OneRunEpsilonLower(result, privacy::kAlarmDelta, 1 - privacy::kAlarmConfidence);
  finding.proven = proof.at_delta;
  finding.alarm_proven = proof.at_alarm_delta;
  if (!proof.at_alarm_delta) finding.alarm_lower.reset();  // not comparable with what is proven at another delta
  const double detectable = privacy::OneRunDetectableEpsilon(result, delta, error);
  if (std::isfinite(detectable)) finding.detectable = detectable;
  finding.ceiling = privacy::OneRunEpsilonLower({result.canaries, result.guesses, result.guesses}, delta, error);
  finding.figures.insert(finding.figures.begin(), {{"coins", static_cast<double>(result.canaries)},
                                                   {"guesses", static_cast<double>(result.guesses)},
                                                   {"correct", static_cast<double>(result.correct)}});
}

// log(p / (1 - p)) of each example's own label, from the logits in double precision, in evaluation mode. Larger for
// smaller losses. An answer that is not finite scores as the least.
std::vector<double> ConfidenceScores(const Network& network, const Examples& examples) {
  constexpr std::int64_t kRows = 256;
  const at::NoGradGuard no_grad;
  std::vector<double> scores;
  scores.reserve(static_cast<std::size_t>(examples.size()));
  for (std::int64_t first = 0; first < examples.size(); first += kRows) {
    const std::int64_t rows = std::min(kRows, examples.size() - first);
    const at::Tensor logits = network.Forward(examples.Range(first, rows)).logits.to(at::kDouble);
    const at::Tensor label = examples.labels.narrow(0, first, rows).unsqueeze(1);
    const at::Tensor others = logits.scatter(1, label, -std::numeric_limits<double>::infinity()).logsumexp(1);
    const at::Tensor part =
        at::nan_to_num(logits.gather(1, label).squeeze(1) - others, std::numeric_limits<double>::lowest())
            .cpu()
            .contiguous();
    const auto* score = part.const_data_ptr<double>();
    scores.insert(scores.end(), score, score + rows);
  }
  return scores;
}

constexpr std::int64_t kGuessedShare = 4;  // a quarter of the pairs is guessed

// In each pair the larger score is guessed to be the private one.
OneRunGame PairGame(const std::vector<double>& members, const std::vector<double>& others) {
  std::vector<double> lead(members.size());
  for (std::size_t i = 0; i < lead.size(); ++i) lead[i] = members[i] - others[i];
  std::sort(lead.begin(), lead.end(), [](double a, double b) { return std::abs(a) > std::abs(b); });
  const auto pairs = static_cast<std::int64_t>(lead.size());
  const std::int64_t guesses = std::max<std::int64_t>(1, pairs / kGuessedShare);
  const auto correct = std::count_if(lead.begin(), lead.begin() + guesses, [](double gap) { return gap > 0; });
  return {privacy::kExample, {pairs, guesses, correct}};
}

void AddRates(const privacy::ScoreCurve& curve, std::int64_t runs, double confidence, privacy::AuditFinding& finding) {
  for (const auto& [name, rate] : {std::pair<std::string, double>{"tpr_at_fpr_0.001", 0.001},
                                   {"tpr_at_fpr_0.01", 0.01},
                                   {"tpr_at_fpr_0.1", 0.1}}) {
    const auto hits = static_cast<std::int64_t>(curve.HitsAt(rate));
    const privacy::RateLimits limits = privacy::ClopperPearsonLimits(hits, runs, confidence);
    finding.figures.emplace_back(name, static_cast<double>(hits) / static_cast<double>(runs));
    finding.figures.emplace_back(name + ".low", limits.low);
    finding.figures.emplace_back(name + ".high", limits.high);
  }
}

Dataset TrainedOn(const Dataset& data, const Examples& pool, const std::vector<std::int64_t>& rows) {
  Dataset shadow = data;
  shadow.train = pool.Rows(at::tensor(rows, at::kLong));
  return shadow;
}

// Per example of the pool, the sum and count of scores under shadow networks that did not see it.
struct OutScores {
  std::vector<double> sum, square;
  std::vector<std::int64_t> count;
};

Result<OutScores> TrainShadows(const AuditedTrial& trial, const Examples& pool, const AuditProgress& progress) {
  const auto n = static_cast<std::size_t>(pool.size());
  OutScores out{std::vector<double>(n), std::vector<double>(n), std::vector<std::int64_t>(n)};
  for (std::int64_t shadow = 0; shadow < trial.order.shadows; ++shadow) {
    const std::string phase =
        "LiRA shadow network " + std::to_string(shadow + 1) + " of " + std::to_string(trial.order.shadows) + ", step";
    const RngStream stream(0x5ad0ull + static_cast<std::uint64_t>(shadow), Purpose::split);
    std::vector<std::int64_t> order = Permutation(pool.size(), stream);
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(n / 2);
    TrialSpec spec = trial.inputs.spec;
    spec.seed += 1 + static_cast<std::uint64_t>(shadow);
    const Dataset data = TrainedOn(trial.inputs.data, pool, {order.begin(), middle});
    RETORT_ASSIGN_OR_RETURN(
        const std::unique_ptr<Network> network,
        Retrain(spec, data, *trial.env, [&](std::int64_t done, std::int64_t of) { progress(phase, done, of); }));
    const std::vector<double> scores = ConfidenceScores(*network, pool);
    for (auto row = middle; row != order.end(); ++row) {
      const auto i = static_cast<std::size_t>(*row);
      out.sum[i] += scores[i];
      out.square[i] += scores[i] * scores[i];
      ++out.count[i];
    }
  }
  return out;
}

// How far each score lies above the scores of networks that were not trained on the example, in pooled standard
// deviations.
std::vector<double> Standardised(const std::vector<double>& scores, const OutScores& out) {
  double spread = 0, freedom = 0, total = 0, seen = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto count = static_cast<double>(out.count[i]);
    total += out.sum[i];
    seen += count;
    if (out.count[i] < 2) continue;
    spread += out.square[i] - out.sum[i] * out.sum[i] / count;
    freedom += count - 1;
  }
  const double deviation = freedom > 0 && spread > 0 ? std::sqrt(spread / freedom) : 1;
  const double grand = seen > 0 ? total / seen : 0;
  std::vector<double> standard(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double mean = out.count[i] > 0 ? out.sum[i] / static_cast<double>(out.count[i]) : grand;
    standard[i] = (scores[i] - mean) / deviation;
  }
  return standard;
}

Result<privacy::AuditFinding> Lira(const AuditedTrial& trial, const Network& network, const Examples& members,
                                   const Examples& others, const AuditProgress& progress) {
  const Examples pool = Examples::Joined(members, others);
  RETORT_ASSIGN_OR_RETURN(const OutScores out, TrainShadows(trial, pool, progress));
  const std::vector<double> scores = Standardised(ConfidenceScores(network, pool), out);
  const auto middle = scores.begin() + static_cast<std::ptrdiff_t>(members.size());
  privacy::AuditFinding finding =
      MakeMembershipFinding(trial, "offline LiRA with " + std::to_string(trial.order.shadows) + " shadow networks",
                            {scores.begin(), middle}, {middle, scores.end()});
  finding.figures.emplace_back("shadows", static_cast<double>(trial.order.shadows));
  return finding;
}

constexpr std::int64_t kMaxCanaries = 1000;
constexpr std::int64_t kShareOfExamples = 8;
constexpr std::int64_t kShareGuessed = 10;  // guessed to be in, and as many to be out

std::vector<bool> FairCoins(std::int64_t n) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n));
  noise::FillFromOperatingSystem(bytes);
  std::vector<bool> coins(bytes.size());
  std::transform(bytes.begin(), bytes.end(), coins.begin(), [](std::uint8_t byte) { return (byte & 1) != 0; });
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
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  const auto n = static_cast<std::int64_t>(order.size());
  const std::int64_t each = std::max<std::int64_t>(1, n / kShareGuessed);
  std::int64_t correct = 0;
  for (std::int64_t i = 0; i < each; ++i) {
    correct += coins[order[static_cast<std::size_t>(i)]] ? 1 : 0;
    correct += coins[order[static_cast<std::size_t>(n - 1 - i)]] ? 0 : 1;
  }
  return {privacy::kExampleAdded, {n, 2 * each, correct}};
}

// The proven epsilon of the trial run once, with noise from the operating system.
std::optional<double> ComputeProvenOfOneRun(TrialSpec spec, double delta) {
  spec.noise = NoiseMode::secure;
  spec.privacy.delta = delta;
  const Result<std::vector<privacy::PrivacyEvent>> events = privacy::PlanEvents(spec);
  if (!events.ok()) return std::nullopt;
  return ProvenEpsilon(privacy::ComputeClaims({&spec, {}}, *events), privacy::kExampleAdded);
}

std::string WhyNoCanaries(const AuditedTrial& trial) {
  const TrialKind kind = FindKind(trial.inputs.spec);
  if (kind != TrialKind::dpsgd_teacher && kind != TrialKind::dpsgd_student)
    return "canaries are for trials that DP-SGD trains on the private examples";
  if (trial.inputs.data.train.size() < 2 * kShareOfExamples || trial.inputs.data.classes < 2)
    return "there are too few private examples to plant canaries among";
  return "";
}

std::int64_t ChooseCanaryCount(const AuditedTrial& trial) {
  const std::int64_t examples = trial.inputs.data.train.size();
  if (trial.order.canaries > 0) return std::min(trial.order.canaries, examples / 2);
  return std::min(kMaxCanaries, examples / kShareOfExamples);
}

}  // namespace

privacy::AuditFinding MakeMembershipFinding(const AuditedTrial& trial, const std::string& attack,
                                            std::vector<double> members, std::vector<double> others) {
  const auto n = static_cast<std::int64_t>(members.size());
  privacy::AuditFinding finding;
  finding.kind = privacy::AuditKind::membership;
  finding.subject = attack + ", " + std::to_string(n) + " private against " + std::to_string(n) + " test examples";
  finding.confidence = trial.order.confidence;
  if (trial.inputs.spec.data->split.shuffle != 0) {
    const GameProof proof{ProvenEpsilon(trial.order.claims, privacy::kExample),
                          ProvenEpsilon(trial.order.alarm_claims, privacy::kExample)};
    FillFindingFromGame(PairGame(members, others), trial.inputs.spec.privacy.delta, proof, finding);
    finding.claim->assumptions = {"split-is-a-random-permutation"};
  } else {
    finding.note = "the split is in file order, so that no coin decided which examples are private: no bound";
  }
  const privacy::ScoreCurve curve(std::move(members), std::move(others));
  finding.figures.emplace_back("auc", curve.Area());
  finding.figures.emplace_back("best_accuracy", curve.BestAccuracy());
  AddRates(curve, n, trial.order.confidence, finding);
  return finding;
}

Result<std::vector<privacy::AuditFinding>> AuditMembership(const AuditedTrial& trial, const AuditProgress& progress) {
  constexpr privacy::AuditKind kKind = privacy::AuditKind::membership;
  if (const std::string why = WhyNoFinalNetwork(trial); !why.empty())
    return std::vector{SkippedFinding(kKind, trial, why)};
  progress("membership", 0, 1);
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Network> network, FinalNetwork(trial));
  const Dataset& data = trial.inputs.data;
  const std::int64_t n = std::min(data.train.size(), data.test.size());
  const Examples members = data.train.First(n), others = data.test.First(n);
  std::vector<privacy::AuditFinding> findings;
  findings.push_back(MakeMembershipFinding(trial, "loss threshold", ConfidenceScores(*network, members),
                                           ConfidenceScores(*network, others)));
  if (trial.order.shadows == 0) return findings;
  if (!CanRetrain(trial.inputs.spec)) {
    findings.push_back(
        SkippedFinding(kKind, trial,
                       "LiRA needs shadow networks, and a shadow of this trial is a teacher and a student; "
                       "only trials that train one network on the private examples have them"));
    return findings;
  }
  RETORT_ASSIGN_OR_RETURN(privacy::AuditFinding lira, Lira(trial, *network, members, others, progress));
  findings.push_back(std::move(lira));
  return findings;
}

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
  if (const std::string why = WhyNoCanaries(trial); !why.empty())
    return SkippedFinding(privacy::AuditKind::canary, trial, why);
  const std::int64_t count = ChooseCanaryCount(trial);
  const std::vector<bool> coins = FairCoins(count);
  Dataset data = trial.inputs.data;
  data.train = PlantCanaries(trial.inputs.data.train, data.classes, coins);
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Network> network,
                          Retrain(trial.inputs.spec, data, *trial.env,
                                  [&](std::int64_t done, std::int64_t of) { progress("canary", done, of); }));
  const Examples canaries = trial.inputs.data.train.First(count).Relabelled(data.train.labels.narrow(0, 0, count));
  privacy::AuditFinding finding;
  finding.kind = privacy::AuditKind::canary;
  finding.subject = "one more training run with " + std::to_string(count) + " mislabelled canaries";
  finding.confidence = trial.order.confidence;
  const TrialSpec& spec = trial.inputs.spec;
  const GameProof proof{ComputeProvenOfOneRun(spec, spec.privacy.delta),
                        ComputeProvenOfOneRun(spec, privacy::kAlarmDelta)};
  FillFindingFromGame(Guess(ConfidenceScores(*network, canaries), coins), spec.privacy.delta, proof, finding);
  return finding;
}

}  // namespace retort::worker::audit
