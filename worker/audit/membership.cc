#include "worker/audit/membership.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "experiments/privacy/audit_bounds.h"
#include "experiments/privacy/score_attack.h"
#include "worker/audit/confidence_score.h"
#include "worker/audit/final_network.h"
#include "worker/audit/one_run.h"
#include "worker/audit/retraining.h"

namespace retort::worker::audit {
namespace {

constexpr std::int64_t kGuessedShare = 4;  // a quarter of the pairs is guessed

// In each pair the larger score is guessed to be the private one.
OneRunGame PairGame(const std::vector<double>& members, const std::vector<double>& others) {
  std::vector<double> lead(members.size());
  for (std::size_t i = 0; i < lead.size(); ++i) lead[i] = members[i] - others[i];
  std::sort(lead.begin(), lead.end(), [](double a, double b) { return std::abs(a) > std::abs(b); });
  const auto pairs = static_cast<std::int64_t>(lead.size());
  const std::int64_t guesses = std::max<std::int64_t>(1, pairs / kGuessedShare);
  const auto correct =
      std::count_if(lead.begin(), lead.begin() + guesses, [](double gap) { return gap > 0; });
  return {privacy::kExample, {pairs, guesses, correct}};
}

void AddRates(const privacy::ScoreCurve& curve, std::int64_t runs, double confidence,
              privacy::AuditFinding& finding) {
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

Result<OutScores> TrainShadows(const AuditedTrial& trial, const Examples& pool,
                               const AuditProgress& progress) {
  const auto n = static_cast<std::size_t>(pool.size());
  OutScores out{std::vector<double>(n), std::vector<double>(n), std::vector<std::int64_t>(n)};
  for (std::int64_t shadow = 0; shadow < trial.order.shadows; ++shadow) {
    const std::string phase = "LiRA shadow network " + std::to_string(shadow + 1) + " of " +
                              std::to_string(trial.order.shadows) + ", step";
    const RngStream stream(0x5ad0ull + static_cast<std::uint64_t>(shadow), Purpose::split);
    std::vector<std::int64_t> order = Permutation(pool.size(), stream);
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(n / 2);
    TrialSpec spec = trial.inputs.spec;
    spec.seed += 1 + static_cast<std::uint64_t>(shadow);
    const Dataset data = TrainedOn(trial.inputs.data, pool, {order.begin(), middle});
    RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Network> network,
                            Retrain(spec, data, *trial.env,
                                    [&](std::int64_t done, std::int64_t of) { progress(phase, done, of); }));
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

// How far each score lies above what networks give that never saw the example, in pooled standard deviations.
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
      JudgeMembership(trial, "offline LiRA with " + std::to_string(trial.order.shadows) + " shadow networks",
                      {scores.begin(), middle}, {middle, scores.end()});
  finding.figures.emplace_back("shadows", static_cast<double>(trial.order.shadows));
  return finding;
}

}  // namespace

privacy::AuditFinding JudgeMembership(const AuditedTrial& trial, const std::string& attack,
                                      std::vector<double> members, std::vector<double> others) {
  const auto n = static_cast<std::int64_t>(members.size());
  privacy::AuditFinding finding;
  finding.kind = privacy::AuditKind::membership;
  finding.subject =
      attack + ", " + std::to_string(n) + " private against " + std::to_string(n) + " test examples";
  finding.confidence = trial.order.confidence;
  if (trial.inputs.spec.data->split.shuffle != 0) {
    const GameProof proof{ProvenEpsilon(trial.order.claims, privacy::kExample),
                          ProvenEpsilon(trial.order.alarm_claims, privacy::kExample)};
    JudgeGame(PairGame(members, others), trial.inputs.spec.delta, proof, finding);
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

Result<std::vector<privacy::AuditFinding>> AuditMembership(const AuditedTrial& trial,
                                                           const AuditProgress& progress) {
  constexpr privacy::AuditKind kKind = privacy::AuditKind::membership;
  if (const std::string why = NoFinalNetwork(trial); !why.empty())
    return std::vector{NotDone(kKind, trial, why)};
  progress("membership", 0, 1);
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<Network> network, FinalNetwork(trial));
  const Dataset& data = trial.inputs.data;
  const std::int64_t n = std::min(data.train.size(), data.test.size());
  const Examples members = data.train.First(n), others = data.test.First(n);
  std::vector<privacy::AuditFinding> findings;
  findings.push_back(JudgeMembership(trial, "loss threshold", ConfidenceScores(*network, members),
                                     ConfidenceScores(*network, others)));
  if (trial.order.shadows == 0) return findings;
  if (!CanRetrain(trial.inputs.spec)) {
    findings.push_back(
        NotDone(kKind, trial,
                "LiRA needs shadow networks, and a shadow of this trial is a teacher and a student; "
                "only trials that train one network on the private examples have them"));
    return findings;
  }
  RETORT_ASSIGN_OR_RETURN(privacy::AuditFinding lira, Lira(trial, *network, members, others, progress));
  findings.push_back(std::move(lira));
  return findings;
}

}  // namespace retort::worker::audit
