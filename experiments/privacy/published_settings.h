// The settings that the papers publish, evaluated: what their formula gives, and what holds.
#pragma once

#include <string>
#include <vector>

#include "experiments/privacy/claim.h"

namespace retort::privacy {

struct PublishedSetting {
  std::string method;          // "DPDFD Alg. 1, one noise per batch"
  std::string formula;         // in short
  std::string claimed;         // epsilon as the paper gives it
  std::vector<Claim> printed;  // the formula at published parameters, of an example or of a label (delta 0); as many as
                               // `claimed` names, or fewer
  std::vector<Claim> example;  // by way of the whole teacher, or of one member of disjoint shards
  std::vector<Claim> answer;   // of one answer, and of one slot where latents may persist
  std::vector<Claim> member;   // of an ensemble or a federation; else none
};

// Computed anew. 16 million lattice points at most; well below a second.
[[nodiscard]] std::vector<PublishedSetting> ComputePublishedSettings();

}  // namespace retort::privacy
