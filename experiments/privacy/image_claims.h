// What may be claimed of the images that a trial's generator makes.
#pragma once

#include <string>
#include <vector>

#include "experiments/methods/trial_spec.h"
#include "experiments/privacy/claim.h"

namespace retort::privacy {

// Returns the claims of a trial as they hold for images of its generator. A generator that learned through the
// student alone post-processes what was released, and keeps the proven claims. One that the raw teacher trained, as a
// discriminator or through its Jacobian, has none. Claims about labels, and the formulas of papers that protect labels,
// say nothing of images.
[[nodiscard]] std::vector<Claim> ComputeImageClaims(const TrialSpec& spec, const std::vector<Claim>& claims);

// Returns a sentence that warns of images without a finite proven claim for an example, a member or a teacher, with
// what a paper's formula says of them; empty where they have one. `claims`: ComputeImageClaims.
[[nodiscard]] std::string WarnOfImages(const std::vector<Claim>& claims);

// Returns the least of these, as "ε ≤ 5.000 at δ = 1e-5 for one training example (add-remove)"; empty where
// WarnOfImages warns.
[[nodiscard]] std::string DescribeImages(const std::vector<Claim>& claims);

}  // namespace retort::privacy
