#include "orchestrator/row.h"

#include "experiments/privacy/claim.h"
#include "experiments/spec/spec_codec.h"

namespace retort::orchestrator {
namespace {

// The sweep file's words.
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
  }
  return "";
}

privacy::ClaimContext ContextOf(const Core& core, const Trial& trial) {
  privacy::ClaimContext context;
  context.spec = &trial.spec;
  if (trial.spec.parent) {
    const Trial& teacher = core.Get(*trial.spec.parent);
    if (teacher.row) context.teacher_claims = teacher.row->claims;
  }
  return context;
}

std::vector<privacy::Claim> ClaimsOf(const Core& core, const Trial& trial) {
  return privacy::ClaimsFor(ContextOf(core, trial), core.charges.EventsOf(trial.spec.id));
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
  row.failure = std::string(FailureName(trial.ended->failure));
  row.detail = trial.ended->detail;
}

}  // namespace

bool CostsItsData(const Core& core, TrialId trial, const privacy::PrivacyEvent* event) {
  const Trial* known = core.Find(trial);
  if (known == nullptr) return true;
  std::vector<privacy::PrivacyEvent> events = core.charges.EventsOf(trial);
  if (event != nullptr) events.push_back(*event);
  return events.empty() || !privacy::ChargedEvents(ContextOf(core, *known), events).empty();
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
  row.state = std::string(StateName(trial.state));
  row.attempts = trial.attempts;
  row.spec_json = trial.spec_text != nullptr ? *trial.spec_text : EncodeTrialSpec(spec);
  row.provenance_json = core.settings().provenance_json;
  row.axes = spec.axes;
  FillFromAttempt(trial, row);
  row.claims = ClaimsOf(core, trial);
  row.row_digest = storage::RowDigest(row, spec);
  return row;
}

}  // namespace retort::orchestrator
