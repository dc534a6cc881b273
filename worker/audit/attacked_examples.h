// The examples that membership inference tells apart: private ones that no student was asked about, and as many test
// examples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "worker/audit/audited_trial.h"
#include "worker/data/dataset.h"
#include "worker/models/network.h"

namespace retort::worker::audit {

// A student gives away most of what it was asked about (Jagielski et al. 2023, "Students parrot their teachers"), which
// says nothing about what its teacher knows besides. So private examples that a student of direct training was asked
// about are left out, and those that the public or the test split shows, too. Places alone, or images that are in
// two splits, decide it, not what was learnt from an example: which of a pair is private stays a fair coin.
struct AttackedExamples {
  Examples members, others;                 // of one size
  std::vector<std::int64_t> places;         // of the members among the private examples, rising
  std::vector<std::int64_t> others_places;  // of the others among the test examples, rising
  // What RMIA compares an example with: neither among the two above nor learnt from, as far as there are as many.
  Examples population;
  std::string population_name;           // "test", "public", or "attacked": the members and others themselves
  std::int64_t queried = 0, shared = 0;  // private examples that were left out
};

// Of a trial with private and test examples. Sizes may be 0.
[[nodiscard]] AttackedExamples ChooseAttacked(const AuditedTrial& trial);

// The private examples at whose places a student is asked about, by the trial's keys alone; rising.
[[nodiscard]] std::vector<std::int64_t> ListQueriedPlaces(const TrialSpec& spec, std::int64_t examples);

// log(p / (1 - p)) of each example's own label, from the logits in double precision, in evaluation mode. Larger for
// smaller losses. An answer that is not finite scores as the least.
[[nodiscard]] std::vector<double> ComputeConfidenceScores(const Network& network, const Examples& examples);

}  // namespace retort::worker::audit
