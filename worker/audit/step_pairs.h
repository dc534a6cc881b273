// The worst neighbours of each release mechanism, and mechanisms whose noise is scaled to what an audit can
// see.
#pragma once

#include <cstdint>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "worker/audit/release_step.h"

namespace retort::worker::audit {

// All mass of student and teacher on two classes; the student is undecided, and the neighbours swap the
// teacher's label: the gradients are antiparallel on every row. `group` as in NeighbourPair.
[[nodiscard]] NeighbourPair MakeOppositeLabelPair(std::int64_t rows, std::int64_t classes, std::int64_t group);

// One of three members moves its vote from class 0 to class 1 on every row.
[[nodiscard]] NeighbourPair MakeMovedVotePair(std::int64_t rows, std::int64_t classes, std::int64_t group);

// One of three members answers with an opposite gradient on every row; the other two are opposite to each other.
// `rule`: how they answer.
[[nodiscard]] NeighbourPair MakeTurnedMemberPair(std::int64_t rows, std::int64_t classes,
                                                 const release::MemberRule& rule);

// What audits a trial's release step: its own mechanism and worst neighbours, the noise scaled so that one
// sample has parameter `mu`, since at the trial's own noise no number of samples may show anything.
struct ScaledStep {
  TrialSpec spec;  // noise from the operating system
  std::int64_t members = 1;
  NeighbourPair pair;
};

// Of a student that draws noise on gradients or votes: FindKind is gradient_student or vote_student. `mu` in (0,
// inf). Where every member draws for itself, their sum is audited, which shows less than a member's own answer.
[[nodiscard]] ScaledStep ScaleStep(const TrialSpec& spec, std::int64_t classes, double mu);
[[nodiscard]] MechanismMaker MakeMechanismMaker(const ScaledStep& step, std::int64_t classes);

}  // namespace retort::worker::audit
