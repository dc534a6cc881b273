// The game of one-run audits (Steinke, Nasr and Jagielski 2023): fair coins, and guesses of some of them.
#pragma once

#include <optional>

#include "experiments/privacy/audit_bounds.h"
#include "experiments/privacy/audit_report.h"
#include "experiments/privacy/relation.h"

namespace retort::worker::audit {

struct OneRunGame {
  privacy::Relation relation;  // neighbours differ in one coin
  privacy::OneRunAudit result;
};

// What is proven of what was attacked, under the game's relation.
struct GameProof {
  std::optional<double> at_delta;        // at the delta of the trial
  std::optional<double> at_alarm_delta;  // at privacy::kAlarmDelta
};

// Fills claim at `delta`, bounds and power of `finding`, whose confidence is set.
void JudgeGame(const OneRunGame& game, double delta, const GameProof& proof, privacy::AuditFinding& finding);

}  // namespace retort::worker::audit
