// What of a trial decides which claims it may have.
#pragma once

#include <string_view>
#include <vector>

#include "experiments/privacy/claim.h"
#include "experiments/privacy/privacy_event.h"
#include "experiments/spec/trial_spec.h"

namespace retort::privacy {

// What is done to a teacher's answers is post-processing of the teacher; an unknown void may be a second way
// to the private examples.
[[nodiscard]] bool OnlyAsksTheTeacher(const TrialSpec& spec, const std::vector<PrivacyEvent>& events);

// What the test split chose in a teacher, its students carry on.
[[nodiscard]] bool SelectedOnTest(const TrialSpec& spec, const std::vector<Claim>& teacher);
// Adds that to what the claims assume.
void LabelSelection(std::vector<Claim>& claims);

// Why a trial that releases nothing of its own has no bound for an example: a name of reasons.h.
[[nodiscard]] std::string_view WithoutRelease(const TrialSpec& spec);

}  // namespace retort::privacy
