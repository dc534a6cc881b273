// Whether the answers of Confident-GNMax cost no more on the votes at hand than was said beforehand. Their cost stays
// in here: what leaves is whether it, with noise and a margin, stays below the bound.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "experiments/privacy/accountants/vote_costs.h"
#include "experiments/privacy/privacy_event.h"
#include "worker/noise/lattice_samplers.h"
#include "worker/release/answers.h"
#include "worker/release/charge.h"

namespace retort::worker::release {

struct ConsensusSettings {
  privacy::PrivacyEvent planned;  // of privacy::PlanConsensusTest
  std::int64_t members = 0, classes = 0;
  std::int64_t threshold = 0;
};

// Sees the votes on every query once, and is asked once.
class ConsensusTest {
 public:
  // Error: usage, where no cost can be computed (privacy::VoteCosts).
  [[nodiscard]] static Result<std::unique_ptr<ConsensusTest>> Create(const ConsensusSettings& settings,
                                                                     noise::NoiseKey key);
  // Once queries were seen, about those that differ: as many draws of a threshold say that none was drawn twice.
  [[nodiscard]] privacy::PrivacyEvent Describe() const;
  // Takes note of the votes on some of the queries; of equal ones once. Error: refused, where there are none.
  [[nodiscard]] Status Observe(const Answers& answers);
  // Whether cost + smooth sensitivity * (margin + Z) * noise <= the cost that is allowed, Z a standard Gaussian. The
  // charge is spent. Error: refused, where it does not fit, where other queries were seen than the event says, or at
  // the second call.
  [[nodiscard]] Result<bool> Release(Charge&& charge);

 private:
  ConsensusTest(const ConsensusSettings& settings, privacy::VoteCosts costs, noise::LatticeGaussian lattice,
                noise::NoiseKey key);
  ConsensusSettings settings_;
  privacy::VoteCosts costs_;
  noise::LatticeGaussian lattice_;
  noise::NoiseKey key_;
  std::int64_t asked_ = 0;
  std::set<std::string> seen_;  // digests of queries
  std::vector<privacy::Consensus> queries_;
  bool released_ = false;
};

}  // namespace retort::worker::release
