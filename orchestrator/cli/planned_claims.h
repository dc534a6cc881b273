// What the trials of a plan may claim if nothing fails, worked out one after the other: a plan may have a hundred
// thousand, and their claims take more memory than it does.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "experiments/privacy/accountant.h"
#include "experiments/privacy/claim.h"
#include "experiments/spec/trial_spec.h"

namespace retort::orchestrator::cli {

// The teachers of a plan by id. `trials` outlives it, unmoved.
class TeacherSpecs {
 public:
  explicit TeacherSpecs(std::span<const TrialSpec> trials);
  // Null without a teacher.
  [[nodiscard]] const TrialSpec* Of(const TrialSpec& student) const;

 private:
  std::unordered_map<TrialId, const TrialSpec*> teachers_;
};

// Not thread-safe.
class PlannedClaims {
 public:
  // `voids`: why nothing that is proven of a trial holds, after audits; those who rest on it claim what is
  // left.
  explicit PlannedClaims(std::map<TrialId, std::string> voids = {}) : voids_(std::move(voids)) {}

  // `teacher`: the spec of spec.parent; null without one. The reference is good until the next call.
  [[nodiscard]] const std::vector<privacy::Claim>& Of(const TrialSpec& spec, const TrialSpec* teacher);

  // Claims that are held, so that equal trials cost their search alone.
  static constexpr std::size_t kMostRemembered = 4096;
  [[nodiscard]] std::size_t remembered() const { return accountant_ ? accountant_->computed() : 0; }

 private:
  [[nodiscard]] const std::vector<privacy::Claim>& IfNothingFails(const TrialSpec& spec,
                                                                  std::vector<privacy::Claim> teacher_claims);

  [[nodiscard]] const std::vector<privacy::Claim>& AsAuditsLeaveThem(
      const TrialSpec& spec, const std::vector<privacy::Claim>& claims);

  std::map<TrialId, std::string> voids_;
  std::optional<privacy::Accountant> accountant_;  // begun anew where it has become large
  std::vector<privacy::Claim> unknown_, withdrawn_;
};

}  // namespace retort::orchestrator::cli
