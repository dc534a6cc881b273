// What claims and totals are told of a trial, wherever it is kept: one rule for the core of a run and for whoever reads a
// folder.
#pragma once

#include <string>
#include <vector>

#include "experiments/privacy/claim.h"
#include "experiments/spec/trial_spec.h"
#include "orchestrator/charge_book.h"

namespace retort::orchestrator {

// Borrows what it points to.
struct JudgedTrial {
  const TrialSpec* spec = nullptr;     // null: nobody knows the trial
  const TrialSpec* teacher = nullptr;  // null: it has none, or nobody knows it
  const std::vector<privacy::Claim>* teacher_claims = nullptr;  // of its row; null: it has none
  std::string audit_void;  // why audits of the trial leave what it charged without a bound; empty where they leave it one
};

// With those of the teacher's claims that `charges` and today's rules support.
[[nodiscard]] privacy::ClaimContext ContextOf(const JudgedTrial& trial, const ChargeBook& charges);

// What totals count of the trial's charged `events`: ChargedEvents (claim.h), void where audits leave no bound.
[[nodiscard]] ChargeBook::Events CountedCharges(const JudgedTrial& trial, const ChargeBook& charges,
                                                ChargeBook::Events events);

}  // namespace retort::orchestrator
