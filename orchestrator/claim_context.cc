#include "orchestrator/claim_context.h"

#include <utility>

namespace retort::orchestrator {

privacy::ClaimContext ContextOf(const JudgedTrial& trial, const ChargeBook& charges) {
  privacy::ClaimContext context;
  context.spec = trial.spec;
  if (trial.teacher == nullptr || trial.teacher_claims == nullptr) return context;
  context.teacher_claims = *trial.teacher_claims;
  privacy::WithdrawUnsupported({trial.teacher, {}}, charges.EventsOf(trial.teacher->id), context.teacher_claims);
  return context;
}

ChargeBook::Events CountedCharges(const JudgedTrial& trial, const ChargeBook& charges, ChargeBook::Events events) {
  if (!trial.audit_void.empty()) return privacy::Voided(std::move(events), trial.audit_void);
  return privacy::ChargedEvents(ContextOf(trial, charges), events);
}

}  // namespace retort::orchestrator
