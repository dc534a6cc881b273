// What may be claimed of the pictures that a trial's generator makes.
#pragma once

#include <string>
#include <vector>

#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/claim.h"

namespace retort::privacy {

// Returns the claims of a trial as they hold for pictures of its generator. A generator that learned through the
// student alone post-processes what was released, and keeps the proven claims. One that the raw teacher trained, as a
// discriminator or through its Jacobian, has none. Claims about labels, and the formulas of papers that protect labels,
// say nothing of pictures.
[[nodiscard]] std::vector<Claim> ComputePictureClaims(const TrialSpec& spec, const std::vector<Claim>& claims);

// Returns a sentence that warns of pictures without a finite proven claim for an example, a member or a teacher, with
// what a paper's formula says of them; empty where they have one. `claims`: ComputePictureClaims.
[[nodiscard]] std::string WarnOfPictures(const std::vector<Claim>& claims);

// Returns the least of these, as "ε ≤ 5.000 at δ = 1e-5 for one training example (add-remove)"; empty where
// WarnOfPictures warns.
[[nodiscard]] std::string DescribePictures(const std::vector<Claim>& claims);

}  // namespace retort::privacy
