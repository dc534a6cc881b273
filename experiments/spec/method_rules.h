// What a method asks of its trial: the reading, the teacher, the inputs, and the keys that only it uses.
#pragma once

#include <string>
#include <vector>

#include "experiments/spec/trial_judge.h"

namespace retort {

// Names of the teachers in the file that are of these kinds.
[[nodiscard]] std::vector<std::string> TeachersOf(const SweepDocument& document, KindMask kinds);

void CheckReading(const Composition& trial, Judge& judge);
void CheckTeaching(const Composition& trial, Judge& judge);
// With the data set at hand.
void CheckSource(const Composition& trial, Judge& judge);
// Keys that mean nothing, or nothing true, beside the others of the trial.
void CheckMethodKeys(const Composition& trial, Judge& judge);

}  // namespace retort
