#include "orchestrator/results/results_view.h"

#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/privacy_event.h"
#include "orchestrator/core/core.h"
#include "orchestrator/core/inventory.h"
#include "orchestrator/core/privacy_charges.h"
#include "orchestrator/journal/folder_lock.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/journal/recovery.h"
#include "orchestrator/journal/request_inbox.h"
#include "orchestrator/journal/selection_draw.h"
#include "storage/datasets/mark_store.h"
#include "storage/files/path_status.h"

namespace retort::orchestrator {
namespace {

enum class Rows : unsigned char { opened, packed };

Result<TrialView> MakeView(const Trial& trial, bool running, Rows rows) {
  TrialView view;
  view.spec = trial.spec;
  view.planned = trial.planned;
  view.state = trial.state;
  // Nobody works on a folder that nobody owns: the next run takes such a trial up again.
  const bool abandoned = trial.state == TrialState::leased || trial.state == TrialState::running;
  if (abandoned && !running) view.state = TrialState::queued;
  view.attempts = trial.attempts;
  view.folder = trial.folder;
  view.failure = trial.failure;
  view.detail = trial.detail;
  view.retry_at = trial.retry_at;
  view.step = trial.step;
  view.total_steps = trial.total_steps;
  view.phase = trial.phase;
  view.pace = trial.pace;
  if (trial.row && rows == Rows::packed) {
    view.packed = trial.row;
  } else if (trial.row) {
    RETORT_ASSIGN_OR_RETURN(view.row, trial.row.Read(GetStateName(trial.state)));
  }
  return view;
}

// Planned trials, in the order of the plan; then the others.
std::vector<std::size_t> ListIndices(const Core& core) {
  std::vector<std::size_t> indices = core.plan();
  for (std::size_t index = 0; index < core.known(); ++index)
    if (!core.At(index).planned) indices.push_back(index);
  return indices;
}

Status ReadJournal(storage::Env& env, const std::string& directory, Core& core, Rows rows, Plans plans,
                   ResultsView& view) {
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::PathExists(env, GetJournalPath(directory)));
  if (!there)
    return EnvironmentError("there are no results in " + directory +
                            ": run the sweep first, or name its folder with "
                            "--results");
  if (const std::string hidden = DescribeHidden(env, directory); !hidden.empty()) return Refused(hidden + ".");
  view.directory = directory;
  view.running = IsFolderLocked(env, directory);
  view.run_over = storage::MayExist(env, GetExitCodePath(directory));
  RETORT_ASSIGN_OR_RETURN(const storage::LogContents contents,
                          storage::ReadRecordLog(env, GetJournalPath(directory), storage::LogKind::journal));
  JournalCodec codec;
  RETORT_RETURN_IF_ERROR(ReplayJournal(contents, codec, core));
  view.sweep = core.sweep();
  view.resolved_toml = core.resolved_toml();
  view.quota = ParseQuota(core.resolved_toml());
  view.usage = core.usage();
  view.unpacked = core.charges.unpacked();
  view.data = ListDataSpecs(core);
  view.noted_root = core.noted_root();
  view.inventory = core.inventory();
  view.newest_event = core.newest_event();
  view.requests = CountRequests(env, directory);
  view.terms = ReadRunTerms(core.run_provenance());
  for (const SlotDrained& drained : core.drained()) view.drained.push_back(FormatSlotDrained(core, drained));
  for (const PackingMeasured& measured : core.packed()) view.packed.push_back(FormatPackingMeasured(measured));
  view.trials.reserve(core.plan().size());
  for (const std::size_t index : ListIndices(core)) {
    const bool shown = core.At(index).planned || plans == Plans::every;
    RETORT_ASSIGN_OR_RETURN(TrialView trial, MakeView(core.At(index), view.running, shown ? rows : Rows::packed));
    (shown ? view.trials : view.unplanned).push_back(std::move(trial));
  }
  return {};
}

Core EmptyCore(const std::string& directory) { return Core({.results = directory, .provenance_json = {}}); }

Result<ResultsView> ReadWith(storage::Env& env, const std::string& directory, Rows rows, Plans plans) {
  Core core = EmptyCore(directory);
  ResultsView view;
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> folders, ListTrialFolders(env, directory));
  RETORT_RETURN_IF_ERROR(ReadJournal(env, directory, core, rows, plans, view));
  RETORT_ASSIGN_OR_RETURN(view.ledger, storage::ReadLedger(env, GetLedgerPath(directory)));
  view.ledger_lost = DescribeLostLedger(core, view.ledger.size());
  if (!view.ledger_lost.empty()) return view;
  std::set<TrialId> charged;
  for (const storage::LedgerEntry& entry : view.ledger) charged.insert(entry.attempt.trial);
  RETORT_ASSIGN_OR_RETURN(view.ledger_lost, DescribeLostTrials(env, core, folders, [&charged](TrialId id) {
                            return charged.contains(id);
                          }));
  return view;
}

}  // namespace

std::string FindAuditVoid(const TrialView& trial) {
  if (!trial.refuted.empty()) return std::string(privacy::kVoidRefuted);
  return trial.audit_unknown.empty() ? "" : std::string(privacy::reason::kAuditUnknown);
}

std::vector<std::shared_ptr<const DataSpec>> ListDataSpecs(const Core& core) {
  std::vector<std::shared_ptr<const DataSpec>> all;
  std::set<std::string> seen;
  const DataSpec* newest = nullptr;
  for (std::size_t index = 0; index < core.known(); ++index) {
    const std::shared_ptr<const DataSpec>& data = core.At(index).spec.data;
    if (data == nullptr || data.get() == newest) continue;
    newest = data.get();
    if (seen.insert(data->digest + storage::SplitName(*data)).second) all.push_back(data);
  }
  return all;
}

Result<storage::ResultRow> ReadRow(const TrialView& trial) {
  if (trial.row) return *trial.row;
  return trial.packed.Read(GetStateName(trial.state));
}

Result<ResultsView> ReadJournaled(storage::Env& env, const std::string& directory) {
  Core core = EmptyCore(directory);
  ResultsView view;
  RETORT_RETURN_IF_ERROR(ReadJournal(env, directory, core, Rows::opened, Plans::newest, view));
  return view;
}

Result<ResultsView> ReadResults(storage::Env& env, const std::string& directory, Plans plans) {
  return ReadWith(env, directory, Rows::opened, plans);
}

Result<ResultsView> ReadPacked(storage::Env& env, const std::string& directory) {
  return ReadWith(env, directory, Rows::packed, Plans::newest);
}

namespace {

using TrialsById = std::unordered_map<TrialId, const TrialView*>;
using ClaimsById = std::unordered_map<TrialId, std::vector<privacy::Claim>>;

const TrialView* Find(const TrialsById& trials, TrialId id) {
  const auto found = trials.find(id);
  return found == trials.end() ? nullptr : found->second;
}

// None of a row that cannot be read: `retort verify` names it.
std::vector<privacy::Claim> ClaimsIn(const TrialView& trial) {
  if (trial.row) return trial.row->claims;
  if (!trial.packed) return {};
  const Result<storage::ResultRow> row = ReadRow(trial);
  return row.ok() ? row->claims : std::vector<privacy::Claim>();
}

}  // namespace

PrivacyCharges CollectCharges(const ResultsView& view) {
  PrivacyCharges charges;
  charges.Load(view.ledger);
  return charges;
}

PrivacyCharges::CountRule MakeCountRule(const ResultsView& view, const PrivacyCharges& charges) {
  auto trials = std::make_shared<TrialsById>();
  for (const std::vector<TrialView>* some : {&view.trials, &view.unplanned})
    for (const TrialView& trial : *some) trials->emplace(trial.spec.id, &trial);
  auto claims = std::make_shared<ClaimsById>();  // of teachers that were asked about
  return [trials, claims, &charges](TrialId id, PrivacyCharges::Events events) {
    ClaimSubject judged;
    const TrialView* trial = Find(*trials, id);
    const TrialView* teacher = trial != nullptr && trial->spec.parent ? Find(*trials, *trial->spec.parent) : nullptr;
    if (trial != nullptr) judged.spec = &trial->spec;
    if (trial != nullptr) judged.audit_void = FindAuditVoid(*trial);
    if (teacher != nullptr) {
      const auto [known, fresh] = claims->try_emplace(teacher->spec.id);
      if (fresh) known->second = ClaimsIn(*teacher);
      judged.teacher = &teacher->spec;
      judged.teacher_claims = &known->second;
    }
    return SelectCountedCharges(judged, charges, std::move(events));
  };
}

}  // namespace retort::orchestrator
