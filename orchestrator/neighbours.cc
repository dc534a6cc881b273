#include "orchestrator/neighbours.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "experiments/privacy/relation.h"
#include "orchestrator/audit_store.h"
#include "orchestrator/folder_lock.h"
#include "orchestrator/journal.h"
#include "orchestrator/refutation_notes.h"
#include "orchestrator/refuted_claims.h"
#include "orchestrator/root_examples.h"
#include "orchestrator/view_charges.h"
#include "storage/byte_codec.h"
#include "storage/presence.h"

namespace retort::orchestrator {
namespace {

constexpr std::size_t kLogHeader = 16, kRecordHeader = 10;
constexpr std::uint32_t kMostOfFirst = 64U << 20;

// The first record of a folder's journal, which no two runs make alike; empty where there is none.
std::string BeginningOf(storage::Env& env, const std::string& folder) {
  const auto file = env.OpenInput(JournalPath(folder));
  if (!file.ok()) return "";
  std::string head(kRecordHeader, '\0');
  if (!(*file)->ReadAt(kLogHeader, head.size(), head.data()).ok()) return "";
  storage::ByteReader reader(head);
  const std::uint32_t length = reader.U32();
  if (length > kMostOfFirst) return "";
  std::string payload(length, '\0');
  return (*file)->ReadAt(kLogHeader + kRecordHeader, length, payload.data()).ok() ? head + payload : "";
}

// What names the examples of a data set: to the sweep of `view`, else to the one that asks.
std::string ExamplesOf(const ResultsView& view, const UnpackedDigests& known, const std::string& digest) {
  return UnpackedOf(view.unpacked.contains(digest) ? view.unpacked : known, digest);
}

NeighbourSweep SweepOf(const ResultsView& view, const UnpackedDigests& known) {
  NeighbourSweep sweep;
  sweep.directory = view.directory;
  sweep.running = view.running;
  sweep.noted_root = view.noted_root;
  const ChargeBook charges = ChargesIn(view);
  const ChargeBook::Counts counts = CountsOf(view, charges);
  for (const std::string& digest : charges.Digests()) {
    const std::vector<privacy::PrivacyEvent> sum = charges.SumOn(digest, counts);
    if (sum.empty()) continue;
    std::vector<privacy::PrivacyEvent>& events = sweep.charged[ExamplesOf(view, known, digest)];
    events.insert(events.end(), sum.begin(), sum.end());
  }
  for (auto& [digest, events] : sweep.charged) events = privacy::Aggregate(events);
  for (const TrialView& trial : view.trials) {
    if (!trial.spec.data) continue;
    const std::string examples = ExamplesOf(view, known, trial.spec.data->digest);
    sweep.planned.insert(examples);
    if (!trial.spec.data->budget) continue;
    const auto [first, fresh] = sweep.budgets.try_emplace(examples, *trial.spec.data->budget);
    if (!fresh && trial.spec.data->budget->epsilon < first->second.epsilon)
      first->second = *trial.spec.data->budget;
  }
  return sweep;
}

// Whether a sweep whose journal cannot be read may have to do with `digests`.
bool MayTouch(storage::Env& env, const std::string& folder, const std::set<std::string>& digests,
              const UnpackedDigests& known, const SharedExamples& shared) {
  const Result<std::vector<storage::LedgerEntry>> ledger = storage::ReadLedger(env, LedgerPath(folder));
  if (!ledger.ok()) return true;
  std::set<std::string> charged;
  for (const storage::LedgerEntry& entry : *ledger) charged.insert(UnpackedOf(known, entry.data_digest));
  return AnyTogether(shared, charged, digests);
}

// The sweep in `folder`, unless its ledger and lock show that it has nothing to do with `digests`; a ledger
// that has lost something shows nothing. One that has not written yet what it draws on does so before it looks for others.
Result<std::optional<NeighbourSweep>> ReadNeighbour(storage::Env& env, const std::string& folder,
                                                    const std::set<std::string>& digests,
                                                    const UnpackedDigests& known, SharedExamples& shared) {
  Result<ResultsView> view = ReadResults(env, folder);
  if (!view.ok()) {
    if (!FolderIsLocked(env, folder) && !MayTouch(env, folder, digests, known, shared))
      return std::optional<NeighbourSweep>();
    return view.status();
  }
  if (!view->ledger_lost.empty()) return DamageError(view->ledger_lost);
  shared.NoteUnmarked(view->unpacked, view->data);
  std::set<std::string> touched, capped;
  for (const storage::LedgerEntry& entry : view->ledger) touched.insert(ExamplesOf(*view, known, entry.data_digest));
  for (const TrialView& trial : view->trials)
    if (trial.spec.data && trial.spec.data->budget) capped.insert(ExamplesOf(*view, known, trial.spec.data->digest));
  const bool counts = AnyTogether(shared, touched, digests) || AnyTogether(shared, capped, digests);
  if (!counts && !FolderIsLocked(env, folder)) return std::optional<NeighbourSweep>();
  WithdrawRefuted(env, *view);
  NeighbourSweep sweep = SweepOf(*view, known);
  if (!counts && !(sweep.running && AnyTogether(shared, sweep.planned, digests)))
    return std::optional<NeighbourSweep>();
  return std::optional<NeighbourSweep>(std::move(sweep));
}

std::map<std::string, std::string> NamesOf(const SweepPlan& plan) {
  std::map<std::string, std::string> names;  // by digest
  for (const auto& data : plan.data) names[UnpackedOf(plan.unpacked, data->digest)] = data->name;
  return names;
}

// Those that are under a budget, of the plan or of another sweep.
std::map<std::string, std::string> CappedNames(const SweepPlan& plan, const BudgetsByData& others) {
  std::map<std::string, std::string> names;  // by digest
  for (const auto& data : plan.data)
    if (data->budget || others.contains(UnpackedOf(plan.unpacked, data->digest)))
      names[UnpackedOf(plan.unpacked, data->digest)] = data->name;
  return names;
}

std::set<std::string> DigestsOf(const std::map<std::string, std::string>& names) {
  std::set<std::string> digests;
  for (const auto& [digest, name] : names) digests.insert(digest);
  return digests;
}

// A budget of one data set of the plan binds the others that share its examples.
void AddOwnBudgets(const std::string& results, const SweepPlan& plan, const SharedExamples& shared,
                   BudgetsByData& budgets) {
  for (const auto& capped : plan.data) {
    if (!capped->budget) continue;
    const std::string& theirs = UnpackedOf(plan.unpacked, capped->digest);
    for (const auto& [digest, name] : NamesOf(plan))
      if (digest != theirs && shared.Together(digest, theirs)) budgets[digest].push_back({results, *capped->budget});
  }
}

Status Running(const std::string& folder, const std::string& name, const std::string& root,
               const char* whose) {
  return EnvironmentError(fmt::format(
      "{} is running and draws on data set '{}'; {} covers every sweep in {}, so only one may draw at a "
      "time. Run this one when that has ended, or give it a folder elsewhere with --results",
      folder, name, whose, root));
}

}  // namespace

namespace {

Result<bool> HoldsSweep(storage::Env& env, const std::string& folder) {
  RETORT_ASSIGN_OR_RETURN(const bool is_folder, storage::IsFolder(env, folder));
  if (!is_folder) return false;
  RETORT_ASSIGN_OR_RETURN(const bool ledger, storage::IsThere(env, LedgerPath(folder)));
  return ledger ? Result(true) : storage::IsThere(env, JournalPath(folder));
}

// Whoever reads these says what cannot be read of them.
bool IsOfTheRoot(const std::string& root, const std::string& folder) {
  return folder == storage::MarksFolder(root) || folder == RefutationsFolder(root);
}

}  // namespace

Result<BesideFolder> SweepsBeside(storage::Env& env, const std::string& results) {
  const std::string root = ResultsRoot(results);
  BesideFolder beside;
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::IsThere(env, root));
  if (!there) return beside;
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(root));
  for (const std::string& name : names) {
    std::string folder = (std::filesystem::path(root) / name).string();
    const auto same = [&folder](const std::string& other) { return storage::SameFile(folder, other); };
    if (same(results)) continue;
    const Result<bool> sweep = HoldsSweep(env, folder);
    if (!sweep.ok() && !IsOfTheRoot(root, folder))
      beside.unknown.push_back(
          fmt::format("whether {} is a sweep, and what it charged, cannot be told, so it is not counted: {}", folder,
                      WithoutStop(sweep.status().message())));
    if (sweep.ok() && *sweep && std::none_of(beside.sweeps.begin(), beside.sweeps.end(), same))
      beside.sweeps.push_back(std::move(folder));
  }
  return beside;
}

std::vector<std::string> CopiesBeside(storage::Env& env, const std::string& results) {
  std::vector<std::string> copies;
  const std::string own = BeginningOf(env, results);
  const Result<BesideFolder> beside = SweepsBeside(env, results);
  if (own.empty() || !beside.ok()) return copies;
  for (const std::string& folder : beside->sweeps)
    if (BeginningOf(env, folder) == own)
      copies.push_back(fmt::format("one of {} and {} is a copy of the other: what was charged before it was made counts "
                                   "twice. Move one of them out of {}",
                                   results, folder, ResultsRoot(results)));
  return copies;
}

std::vector<std::string> UncountedBeside(storage::Env& env, const std::string& results) {
  Result<BesideFolder> beside = SweepsBeside(env, results);
  if (beside.ok()) return std::move(beside->unknown);
  return {fmt::format("what lies beside {} cannot be told, so it is not counted: {}", results, beside.status().message())};
}

std::vector<std::string> CopyNotes(storage::Env& env, const ResultsView& view) {
  std::vector<std::string> notes = CopiesBeside(env, view.directory);
  for (std::string& unknown : UncountedBeside(env, view.directory)) notes.push_back(std::move(unknown));
  if (view.noted_root.empty()) return notes;
  Result<storage::RootMarks> marks = storage::ReadMarks(env, ResultsRoot(view.directory));
  if (!marks.ok())
    notes.push_back(marks.status().message());
  else if (IsStrange(view.noted_root, SharedExamples(*std::move(marks))))
    notes.push_back(StrangeRootText(view.directory));
  return notes;
}

bool IsStrange(const std::string& noted_root, const SharedExamples& shared) {
  return !noted_root.empty() && noted_root != shared.root();
}

std::string StrangeRootText(const std::string& results) {
  return fmt::format("{} was first run in another results root than {}: it is a copy, or was moved, and what the sweeps "
                     "there and here spend of the same examples is counted apart. Go on with it in its own place, or give "
                     "this sweep a folder of its own with --results",
                     results, ResultsRoot(results));
}

Result<std::vector<NeighbourSweep>> ReadNeighbours(storage::Env& env, const std::string& results,
                                                   const std::set<std::string>& digests,
                                                   const UnpackedDigests& known, SharedExamples& shared) {
  std::vector<NeighbourSweep> sweeps;
  RETORT_ASSIGN_OR_RETURN(const BesideFolder beside, SweepsBeside(env, results));
  if (!beside.unknown.empty()) return EnvironmentError(fmt::format("{}", fmt::join(beside.unknown, "; ")));
  for (const std::string& folder : beside.sweeps) {
    Result<std::optional<NeighbourSweep>> sweep = ReadNeighbour(env, folder, digests, known, shared);
    if (!sweep.ok())
      return Status(sweep.status().code(),
                    fmt::format("what {} charged cannot be read: {}", folder, WithoutStop(sweep.status().message())));
    if (*sweep) sweeps.push_back(**std::move(sweep));
  }
  return sweeps;
}

Result<BudgetsByData> BudgetsElsewhere(storage::Env& env, const std::string& results, const SweepPlan& plan,
                                       SharedExamples& shared) {
  BudgetsByData budgets;
  const std::map<std::string, std::string> names = NamesOf(plan);
  const Result<BesideFolder> beside = SweepsBeside(env, results);
  if (names.empty() || !beside.ok()) return budgets;  // UncountedBeside says it
  for (const std::string& folder : beside->sweeps) {
    const Result<ResultsView> view = ReadJournaled(env, folder);
    // One that is just beginning finds in this sweep's journal what it draws on, before it draws.
    const bool absent = !view.ok() && !storage::MayBeThere(env, JournalPath(folder));
    if (absent || (!view.ok() && !MayTouch(env, folder, DigestsOf(names), plan.unpacked, shared))) continue;
    if (!view.ok())
      return EnvironmentError(fmt::format("whether {} sets a budget for the same data cannot be read, so no sweep "
                                          "draws on it beside that folder: mend it, or move it out of {}. {}",
                                          folder, ResultsRoot(results), view.status().message()));
    shared.NoteUnmarked(view->unpacked, view->data);
    for (const auto& [theirs, budget] : SweepOf(*view, plan.unpacked).budgets)
      for (const auto& [digest, name] : names)
        if (shared.Together(UnpackedOf(view->unpacked, digest), theirs)) budgets[digest].push_back({folder, budget});
  }
  return budgets;
}

Result<RootTerms> TermsElsewhere(storage::Env& env, const std::string& results, const SweepPlan& plan,
                                 SharedExamples& shared) {
  RootTerms terms;
  RETORT_ASSIGN_OR_RETURN(terms.budgets, BudgetsElsewhere(env, results, plan, shared));
  AddOwnBudgets(results, plan, shared, terms.budgets);
  const std::map<std::string, std::string> names = CappedNames(plan, terms.budgets);
  ChargedByData& charged = terms.charged;
  if (names.empty()) return terms;
  if (IsMountedFromElsewhere(results, MountsHere()))
    return EnvironmentError(
        fmt::format("the budget of data set '{}' covers every sweep beside the results folder, and {} is a "
                    "mount of a folder that lies elsewhere: what was charged beside that one cannot be "
                    "seen from here. Name the folder where it lies, or mount the folder that holds it",
                    names.begin()->second, results));
  const Result<std::vector<NeighbourSweep>> sweeps =
      ReadNeighbours(env, results, DigestsOf(names), plan.unpacked, shared);
  if (!sweeps.ok()) {
    return EnvironmentError(
        fmt::format("the budget of data set '{}' covers every sweep in {}, and {}. Mend that folder (retort "
                    "repair), move it out "
                    "of there, or give this sweep a folder elsewhere with --results",
                    names.begin()->second, ResultsRoot(results), sweeps.status().message()));
  }
  for (const NeighbourSweep& sweep : *sweeps) {
    for (const auto& [digest, name] : names) {
      if (sweep.running && AnyTogether(shared, sweep.planned, {digest}))
        return Running(sweep.directory, name, ResultsRoot(results),
                       sweep.budgets.contains(digest) ? "its budget" : "the budget of that data set");
      for (const auto& [theirs, events] : sweep.charged)
        if (shared.Together(digest, theirs))
          charged[digest].insert(charged[digest].end(), events.begin(), events.end());
    }
  }
  for (auto& [digest, events] : charged) events = privacy::Aggregate(events);
  return terms;
}

std::set<std::string> DataDigests(const ResultsView& view) {
  std::set<std::string> digests;
  for (const TrialView& trial : view.trials)
    if (trial.spec.data) digests.insert(UnpackedOf(view.unpacked, trial.spec.data->digest));
  for (const storage::LedgerEntry& entry : view.ledger)
    digests.insert(UnpackedOf(view.unpacked, entry.data_digest));
  return digests;
}

RootCharges ReadRoot(storage::Env& env, const ResultsView& view) {
  return ReadRoot(env, view.directory, DataDigests(view), view.unpacked, view.data, view.noted_root);
}

RootCharges ReadRoot(storage::Env& env, const std::string& results, const std::set<std::string>& digests,
                     const UnpackedDigests& known, const DataSets& data, const std::string& noted_root) {
  RootCharges root;
  root.directory = ResultsRoot(results);
  root.copies = CopiesBeside(env, results);
  root.uncounted = UncountedBeside(env, results);
  if (digests.empty()) return root;
  Result<storage::RootMarks> marks = storage::ReadMarks(env, root.directory);
  if (!marks.ok()) {
    root.trouble = marks.status().message();
    return root;
  }
  root.shared = SharedExamples(*std::move(marks));
  root.shared.NoteUnmarked(known, data);
  Result<std::vector<NeighbourSweep>> sweeps = ReadNeighbours(env, results, digests, known, root.shared);
  if (!sweeps.ok()) {
    root.trouble = sweeps.status().message();
    return root;
  }
  root.sweeps = std::move(sweeps).value();
  if (IsStrange(noted_root, root.shared)) root.trouble = StrangeRootText(results);
  for (const NeighbourSweep& sweep : root.sweeps)
    if (IsStrange(sweep.noted_root, root.shared)) root.copies.push_back(StrangeRootText(sweep.directory));
  return root;
}

BesideSweep BesideOf(const RootCharges& root, const std::set<std::string>& digests) {
  BesideSweep beside;
  for (const NeighbourSweep& sweep : root.sweeps) {
    for (const std::string& digest : digests) {
      std::vector<privacy::PrivacyEvent> events;
      for (const auto& [theirs, charged] : sweep.charged)
        if (root.shared.Together(digest, theirs)) events.insert(events.end(), charged.begin(), charged.end());
      if (!events.empty()) beside.charged[digest].push_back(privacy::Aggregate(events));
      for (const auto& [theirs, budget] : sweep.budgets)
        if (root.shared.Together(digest, theirs)) beside.budgets[digest].push_back({sweep.directory, budget});
    }
  }
  return beside;
}

}  // namespace retort::orchestrator
