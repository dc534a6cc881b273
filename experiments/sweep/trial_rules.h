// Checks which combinations of values make a trial that can work.
#pragma once

#include "experiments/sweep/trial_resolver.h"

namespace retort {

// Below it, a worker on a busy machine would be taken for one that hangs.
inline constexpr double kMinDeadlineSeconds = 1;

// Reports each rule that the trial breaks, at the strongest assignment that takes part.
// Returns whether there was none.
bool CheckStudent(const ResolvedTrial& trial, const Layers& layers, const SweepDocument& document,
                  DiagnosticCollector& diagnostics);
// The same of what calibration has solved for.
bool CheckSolved(const ResolvedTrial& trial, const Layers& layers, const SweepDocument& document,
                 DiagnosticCollector& diagnostics);
bool CheckTeacher(const ResolvedTrial& trial, const TeacherDefinition& teacher, DiagnosticCollector& diagnostics);
// Warns of a delta above 1/N of the private examples.
void WarnAboutLargeDelta(const ResolvedTrial& trial, Position where, DiagnosticCollector& diagnostics);

}  // namespace retort
