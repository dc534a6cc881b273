#include "orchestrator/reactor/result_row.h"

#include <utility>

#include "experiments/methods/spec_codec.h"
#include "experiments/privacy/claim.h"
#include "experiments/privacy/claims.h"

namespace retort::orchestrator {
namespace {

// Names as in the sweep file.
std::string ReadingName(const TrialSpec& spec) {
  if (spec.role == Role::teacher) return "";
  switch (spec.reading) {
    case Reading::working:
      return "working";
    case Reading::printed:
      return "printed";
    case Reading::row_averaged:
      return "row-averaged";
    case Reading::sound:
      return "sound";
    case Reading::stated:
      return "stated";
  }
  return "";
}

ClaimSubject MakeClaimSubject(const Core& core, const Trial& trial) {
  ClaimSubject judged;
  judged.spec = &trial.spec;
  judged.audit_void = core.FindAuditVoid(trial.spec.id);
  if (!trial.spec.parent) return judged;
  const Trial& teacher = core.Get(*trial.spec.parent);
  judged.teacher = &teacher.spec;
  if (teacher.row) judged.teacher_claims = &teacher.row->claims;
  return judged;
}

std::vector<privacy::Claim> ComputeClaims(const Core& core, const Trial& trial) {
  return privacy::ComputeClaims(MakeClaimContext(MakeClaimSubject(core, trial), core.charges),
                                core.charges.CollectEvents(trial.spec.id));
}

void FillFromAttempt(const Trial& trial, storage::ResultRow& row) {
  if (trial.state == TrialState::parent_failed) {
    row.detail = "its teacher did not succeed";
    return;
  }
  if (!trial.ended) return;
  row.metrics = trial.ended->metrics;
  row.timings = trial.ended->timings;
  row.parameters_digest = trial.ended->parameters_digest;
  row.attempt_file = trial.ended->file;
  if (trial.ended->succeeded) return;
  row.failure = std::string(GetFailureName(trial.ended->failure));
  row.detail = trial.ended->detail;
}

}  // namespace

PrivacyCharges::Events SelectCountedCharges(const Core& core, TrialId trial, PrivacyCharges::Events events) {
  const Trial* known = core.Find(trial);
  return SelectCountedCharges(known == nullptr ? ClaimSubject() : MakeClaimSubject(core, *known), core.charges,
                              std::move(events));
}

PrivacyCharges::CountRule MakeCountRule(const Core& core) {
  return [&core](TrialId trial, PrivacyCharges::Events events) {
    return SelectCountedCharges(core, trial, std::move(events));
  };
}

storage::ResultRow ComposeRow(const Core& core, const Trial& trial) {
  RETORT_CHECK(IsFinal(trial.state));
  const TrialSpec& spec = trial.spec;
  storage::ResultRow row;
  row.trial = spec.id.Hex();
  row.name = spec.name;
  row.role = spec.role == Role::teacher ? "teacher" : "student";
  row.method = spec.method;
  row.reading = ReadingName(spec);
  row.teacher = spec.teacher;
  row.data = spec.data ? spec.data->name : "";
  row.network = spec.network;
  row.seed = spec.seed;
  row.state = std::string(GetStateName(trial.state));
  row.attempts = trial.attempts;
  row.spec_json = trial.spec_text != nullptr ? *trial.spec_text : EncodeTrialSpec(spec);
  row.provenance_json = core.settings().provenance_json;
  row.axes = spec.axes;
  FillFromAttempt(trial, row);
  row.claims = ComputeClaims(core, trial);
  row.row_digest = storage::ComputeRowDigest(row, spec);
  return row;
}

void WriteMissingRows(Core& core, Now now, Outbox& outbox) {
  while (!core.missing_rows().empty()) {
    const Trial& trial = core.At(core.missing_rows().begin()->second);
    Record(core, RowWritten{ComposeRow(core, trial)}, now, outbox);
  }
}

}  // namespace retort::orchestrator
