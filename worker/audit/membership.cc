#include "worker/audit/membership.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

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
#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/attack_bounds.h"
#include "experiments/privacy/audit_report.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"
#include "experiments/privacy/relation.h"
#include "worker/audit/attacked_examples.h"
#include "worker/audit/audited_trial.h"
#include "worker/audit/likelihood_attacks.h"
#include "worker/audit/retraining.h"
#include "worker/audit/shadow_trials.h"
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
  claim.lower = privacy::ComputeOneRunEpsilonLower(result, delta, error);
  claim.status = privacy::ClaimStatus::audited;
  claim.units = privacy::DescribeUnit(game.relation.adjacency);
  claim.accountant = "audit:" + std::string(privacy::AuditKindName(finding.kind));
  finding.claim = std::move(claim);
  finding.alarm_lower = privacy::ComputeOneRunEpsilonLower(result, privacy::kAlarmDelta, 1 - privacy::kAlarmConfidence);
  finding.proven = proof.at_delta;
  finding.alarm_proven = proof.at_alarm_delta;
  if (!proof.at_alarm_delta) finding.alarm_lower.reset();  // not comparable with what is proven at another delta
  std::vector<privacy::PrivacyPair> proven;
  if (proof.at_delta) proven.push_back({*proof.at_delta, delta});
  if (proof.at_alarm_delta) proven.push_back({*proof.at_alarm_delta, privacy::kAlarmDelta});
  if (!proven.empty())
    finding.p_value = privacy::ComputeOneRunTradeOffPValue(result, privacy::MakePairsTradeOff(proven));
  const double mu = privacy::ComputeOneRunMuLower(result, error);
  const double detectable = privacy::ComputeOneRunDetectableEpsilon(result, delta, error);
  if (std::isfinite(detectable)) finding.detectable = detectable;
  finding.ceiling = privacy::ComputeOneRunEpsilonLower({result.canaries, result.guesses, result.guesses}, delta, error);
  finding.figures.insert(finding.figures.begin(),
                         {{"coins", static_cast<double>(result.canaries)},
                          {"guesses", static_cast<double>(result.guesses)},
                          {"correct", static_cast<double>(result.correct)},
                          {"gdp_mu_lower", mu},
                          {"gdp_epsilon_lower", mu > 0 ? privacy::ComputeGaussianEpsilon(delta, mu) : 0}});
  const double needed = privacy::ComputeOneRunNeededAccuracy(result, delta, error, privacy::kAuditPower);
  if (std::isfinite(needed)) finding.needed_accuracy = needed;
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

// Rates at small false positive rates, the least of which is one of the examples at least, and the whole curve.
void AddCurve(const privacy::ScoreCurve& curve, std::int64_t runs, double confidence, privacy::AuditFinding& finding) {
  for (const auto& [name, rate] : {std::pair<std::string, double>{"tpr_at_fpr_0.0001", 0.0001},
                                   {"tpr_at_fpr_0.001", 0.001},
                                   {"tpr_at_fpr_0.01", 0.01},
                                   {"tpr_at_fpr_0.1", 0.1}}) {
    if (rate < 0.001 && rate * static_cast<double>(runs) < 1) continue;
    const auto hits = static_cast<std::int64_t>(curve.HitsAt(rate));
    const privacy::RateLimits limits = privacy::ComputeClopperPearsonLimits(hits, runs, confidence);
    finding.figures.emplace_back(name, static_cast<double>(hits) / static_cast<double>(runs));
    finding.figures.emplace_back(name + ".low", limits.low);
    finding.figures.emplace_back(name + ".high", limits.high);
  }
  finding.curve = privacy::AuditCurve{runs, runs, curve.Points()};
}

// The least epsilon that a paper's formula claims under `relation` at `delta` or less.
std::optional<double> FormulaEpsilon(const std::vector<privacy::Claim>& claims, const privacy::Relation& relation,
                                     double delta) {
  std::optional<double> least;
  for (const privacy::Claim& claim : claims) {
    if (claim.status != privacy::ClaimStatus::paper_formula || claim.delta > delta) continue;
    if (claim.adjacency != relation.adjacency || claim.neighbour != relation.neighbour) continue;
    least = std::min(least.value_or(claim.epsilon), claim.epsilon);
  }
  return least;
}

// What was left out, as a clause; empty where nothing was.
std::string DescribeLeftOut(const AttackedExamples& attacked) {
  std::string text;
  if (attacked.queried > 0)
    text = std::to_string(attacked.queried) + " private examples that the student was asked about are left out";
  if (attacked.shared > 0)
    text += std::string(text.empty() ? "" : ", and ") + std::to_string(attacked.shared) +
            " private examples whose pictures are in two splits are left out";
  return text;
}

void AddNote(const std::string& note, privacy::AuditFinding& finding) {
  if (!note.empty()) finding.note += (finding.note.empty() ? "" : "; ") + note;
}

std::pair<Scores, Scores> Split(const Scores& scores, std::size_t members) {
  const auto middle = scores.begin() + static_cast<std::ptrdiff_t>(members);
  return {{scores.begin(), middle}, {middle, scores.end()}};
}

// Findings of the attacks that need shadows, all on the same ones.
Status AttackWithShadows(const AuditedTrial& trial, const Network& network, const AttackedExamples& attacked,
                         const AuditProgress& progress, std::vector<privacy::AuditFinding>& findings) {
  RETORT_ASSIGN_OR_RETURN(const ShadowScores shadows, TrainShadows(trial, attacked, progress));
  const Scores scores = ComputeConfidenceScores(network, Examples::Joined(attacked.members, attacked.others));
  const std::string with = " with " + std::to_string(trial.order.shadows) +
                           (trial.inputs.teacher ? " shadows, each a teacher and its student" : " shadow networks");
  const auto add = [&](const std::string& attack, const Scores& attack_scores) {
    auto [members, others] = Split(attack_scores, attacked.places.size());
    privacy::AuditFinding finding = MakeMembershipFinding(trial, attack + with, std::move(members), std::move(others));
    finding.figures.emplace_back("shadows", static_cast<double>(trial.order.shadows));
    AddNote(DescribeLeftOut(attacked), finding);
    findings.push_back(std::move(finding));
  };
  add("offline LiRA", ScoreOfflineLira(scores, shadows));
  add("LiRA", ScoreLira(scores, shadows));
  add("RMIA", ScoreRmia(scores, ComputeConfidenceScores(network, attacked.population), shadows));
  findings.back().figures.emplace_back("population", static_cast<double>(attacked.population.size()));
  return {};
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
  return FindProvenEpsilon(privacy::ComputeClaims({&spec, {}}, *events), privacy::kExampleAdded);
}

std::string WhyNoCanaries(const AuditedTrial& trial) {
  if (!TrainsByDpSgd(FindKind(trial.inputs.spec)))
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
    const GameProof proof{FindProvenEpsilon(trial.order.claims, privacy::kExample),
                          FindProvenEpsilon(trial.order.alarm_claims, privacy::kExample)};
    FillFindingFromGame(PairGame(members, others), trial.inputs.spec.privacy.delta, proof, finding);
    finding.claim->assumptions = {"split-is-a-random-permutation"};
    finding.formula = FormulaEpsilon(trial.order.claims, privacy::kExample, finding.claim->delta);
  } else {
    finding.note = "the split is in file order, so that no coin decided which examples are private: no bound";
  }
  const privacy::ScoreCurve curve(std::move(members), std::move(others));
  finding.figures.emplace_back("auc", curve.Area());
  finding.figures.emplace_back("best_accuracy", curve.BestAccuracy());
  AddCurve(curve, n, trial.order.confidence, finding);
  return finding;
}

Result<std::vector<privacy::AuditFinding>> AuditMembership(const AuditedTrial& trial, const AuditProgress& progress) {
  constexpr privacy::AuditKind kKind = privacy::AuditKind::membership;
  if (const std::string why = ExplainNoFinalNetwork(trial); !why.empty())
    return std::vector{MakeSkippedFinding(kKind, trial, why)};
  progress("membership", 0, 1);
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Network> network, MakeFinalNetwork(trial));
  const AttackedExamples attacked = ChooseAttacked(trial);
  if (attacked.places.empty())
    return std::vector{
        MakeSkippedFinding(kKind, trial, "no pair of examples is left to be told apart: " + DescribeLeftOut(attacked))};
  std::vector<privacy::AuditFinding> findings;
  findings.push_back(MakeMembershipFinding(trial, "loss threshold", ComputeConfidenceScores(*network, attacked.members),
                                           ComputeConfidenceScores(*network, attacked.others)));
  AddNote(DescribeLeftOut(attacked), findings.back());
  if (trial.order.shadows == 0) return findings;
  if (const std::string why = ExplainNoShadows(trial); !why.empty())
    findings.push_back(MakeSkippedFinding(kKind, trial, "LiRA and RMIA: " + why));
  else
    RETORT_RETURN_IF_ERROR(AttackWithShadows(trial, *network, attacked, progress, findings));
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
    return MakeSkippedFinding(privacy::AuditKind::canary, trial, why);
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
  FillFindingFromGame(Guess(ComputeConfidenceScores(*network, canaries), coins), spec.privacy.delta, proof, finding);
  return finding;
}

}  // namespace retort::worker::audit
