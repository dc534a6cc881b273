#include "orchestrator/cli/planned_claims.h"

#include <utility>

#include "experiments/privacy/withdrawn_claim.h"

namespace retort::orchestrator::cli {

TeacherSpecs::TeacherSpecs(std::span<const TrialSpec> trials) {
  for (const TrialSpec& spec : trials)
    if (spec.role == Role::teacher) teachers_.emplace(spec.id, &spec);
}

const TrialSpec* TeacherSpecs::Of(const TrialSpec& student) const {
  const auto found = student.parent ? teachers_.find(*student.parent) : teachers_.end();
  return found == teachers_.end() ? nullptr : found->second;
}

const std::vector<privacy::Claim>& PlannedClaims::Of(const TrialSpec& spec, const TrialSpec* teacher) {
  if (remembered() >= kMostRemembered) accountant_.reset();
  if (!accountant_) accountant_.emplace();
  std::vector<privacy::Claim> of_teacher;
  if (teacher != nullptr) of_teacher = AsAuditsLeaveThem(*teacher, IfNothingFails(*teacher, {}));
  return AsAuditsLeaveThem(spec, IfNothingFails(spec, std::move(of_teacher)));
}

const std::vector<privacy::Claim>& PlannedClaims::AsAuditsLeaveThem(
    const TrialSpec& spec, const std::vector<privacy::Claim>& claims) {
  const auto found = voids_.find(spec.id);
  if (found == voids_.end()) return claims;
  withdrawn_ = claims;
  for (privacy::Claim& claim : withdrawn_)
    if (claim.status == privacy::ClaimStatus::proven)
      claim = privacy::Withdrawn(std::move(claim), found->second);
  return withdrawn_;
}

const std::vector<privacy::Claim>& PlannedClaims::IfNothingFails(const TrialSpec& spec,
                                                                 std::vector<privacy::Claim> teacher_claims) {
  const Result<std::vector<privacy::PrivacyEvent>> events = privacy::PlannedEvents(spec);
  if (events.ok()) return accountant_->ClaimsFor({&spec, std::move(teacher_claims)}, *events);
  privacy::Claim unknown;
  unknown.delta = spec.delta;
  unknown.reason = events.status().message();
  return unknown_ = {std::move(unknown)};
}

}  // namespace retort::orchestrator::cli
