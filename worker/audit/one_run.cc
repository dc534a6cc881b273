#include "worker/audit/one_run.h"

#include <cmath>
#include <string>
#include <utility>

namespace retort::worker::audit {

void JudgeGame(const OneRunGame& game, double delta, const GameProof& proof, privacy::AuditFinding& finding) {
  const double error = 1 - finding.confidence;
  const privacy::OneRunAudit& result = game.result;
  privacy::Claim claim;
  claim.adjacency = game.relation.adjacency;
  claim.neighbour = game.relation.neighbour;
  claim.delta = delta;
  claim.lower = privacy::OneRunEpsilonLower(result, delta, error);
  claim.status = privacy::ClaimStatus::audited;
  claim.units = privacy::UnitsOf(game.relation.adjacency);
  claim.accountant = "audit:" + std::string(privacy::AuditKindName(finding.kind));
  finding.claim = std::move(claim);
  finding.alarm_lower =
      privacy::OneRunEpsilonLower(result, privacy::kAlarmDelta, 1 - privacy::kAlarmConfidence);
  finding.proven = proof.at_delta;
  finding.alarm_proven = proof.at_alarm_delta;
  if (!proof.at_alarm_delta)
    finding.alarm_lower.reset();  // not comparable with what is proven at another delta
  const double detectable = privacy::OneRunDetectableEpsilon(result, delta, error);
  if (std::isfinite(detectable)) finding.detectable = detectable;
  finding.ceiling =
      privacy::OneRunEpsilonLower({result.canaries, result.guesses, result.guesses}, delta, error);
  finding.figures.insert(finding.figures.begin(), {{"coins", static_cast<double>(result.canaries)},
                                                   {"guesses", static_cast<double>(result.guesses)},
                                                   {"correct", static_cast<double>(result.correct)}});
}

}  // namespace retort::worker::audit
