// Trials of the quickstart sweep, in the numbers that privacy depends on.
#pragma once

#include <memory>
#include <vector>

#include "experiments/privacy/claim.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"

namespace retort::privacy {

inline std::shared_ptr<const DataSpec> Digits() {
  auto data = std::make_shared<DataSpec>();
  data->name = "digits";
  data->classes = 10;
  data->split.train = {0, 8000};
  data->split.public_range = {8000, 9000};
  data->split.test = {9000, 10000};
  return data;
}

inline TrialSpec GradientStudent(Reading reading) {
  TrialSpec spec;
  spec.data = Digits();
  spec.reading = reading;
  spec.steps = 160;
  spec.batch = 256;
  return spec;
}

inline TrialSpec VoteStudent() {
  TrialSpec spec = GradientStudent(Reading::sound);
  spec.source = QuerySource::public_split;
  spec.queries = 300;
  spec.release.vote_noise = 40;
  return spec;
}

inline TrialSpec DpSgd(Role role) {
  TrialSpec spec;
  spec.data = Digits();
  spec.role = role;
  spec.method = "dpsgd";
  spec.source = role == Role::student ? QuerySource::private_split : QuerySource::generator;
  spec.network = "tanh-cnn";
  spec.steps = 80;
  spec.batch = 1024;
  spec.release.norm_bound = 0.1;
  spec.release.noise_multiplier = 2.1;
  spec.inputs.shift = 0;
  return spec;
}

// The same over all examples in every step.
inline TrialSpec DpGd(Role role) {
  TrialSpec spec = DpSgd(role);
  spec.method = "dp-gd";
  spec.batch = spec.data->PrivateExamples();
  return spec;
}

inline TrialSpec Teacher(const std::string& method) {
  TrialSpec spec;
  spec.data = Digits();
  spec.role = Role::teacher;
  spec.method = method;
  if (method == "ensemble") spec.members = 100;
  return spec;
}

inline TrialSpec Calibrated(TrialSpec spec, ClaimTarget claim, double epsilon, Calibrate what = Calibrate::noise) {
  spec.privacy.claim = claim;
  spec.privacy.epsilon = epsilon;
  spec.privacy.calibrate = what;
  return spec;
}

inline std::vector<Claim> PlannedClaims(const TrialSpec& spec, std::vector<Claim> teacher = {}) {
  return ComputeClaims({&spec, std::move(teacher)}, PlanEvents(spec).value());
}

// The claim under (adjacency, neighbour) that is not a paper formula; null when there is none.
inline const Claim* Find(const std::vector<Claim>& claims, Adjacency adjacency, Neighbour neighbour) {
  for (const Claim& claim : claims) {
    if (claim.adjacency == adjacency && claim.neighbour == neighbour && claim.status != ClaimStatus::paper_formula) {
      return &claim;
    }
  }
  return nullptr;
}

inline const Claim* FindPaper(const std::vector<Claim>& claims) {
  for (const Claim& claim : claims) {
    if (claim.status == ClaimStatus::paper_formula) return &claim;
  }
  return nullptr;
}

}  // namespace retort::privacy
