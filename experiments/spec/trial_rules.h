// Which combinations of values make a trial that can work.
#pragma once

#include "experiments/spec/trial_resolver.h"

namespace retort {

// vote_noise times grain: the range of the exact sampler.
inline constexpr double kLeastVoteNoise = 0.015625;
inline constexpr double kMostVoteNoise = 1048576;
// Below it a busy machine looks like a worker that hangs.
inline constexpr double kLeastDeadlineSeconds = 1;

// Complains about each rule that the trial breaks, at the strongest assignment that takes part.
// Returns whether there was none.
bool CheckStudent(const Composition& trial, const Layers& layers, const SweepDocument& document,
                  Complaints& complaints);
// The same of what calibration has solved for.
bool CheckSolved(const Composition& trial, const Layers& layers, const SweepDocument& document,
                 Complaints& complaints);
bool CheckTeacher(const Composition& trial, const TeacherDefinition& teacher, Complaints& complaints);
// delta above 1/N of the private examples.
void WarnOfLargeDelta(const Composition& trial, Position where, Complaints& complaints);

}  // namespace retort
