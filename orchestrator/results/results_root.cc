#include "orchestrator/results/results_root.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "experiments/privacy/relation.h"
#include "orchestrator/journal/folder_lock.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/results/audit_store.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/results/shared_examples.h"
#include "storage/files/path_status.h"
#include "storage/formats/byte_codec.h"

namespace retort::orchestrator {
namespace {

constexpr std::size_t kLogHeader = 16, kRecordHeader = 10;
constexpr std::uint32_t kMaxOfFirst = 64U << 20;

// The first record of a folder's journal, which no two runs make alike; empty where there is none.
std::string ReadBeginning(storage::Env& env, const std::string& folder) {
  const auto file = env.OpenInput(GetJournalPath(folder));
  if (!file.ok()) return "";
  std::string head(kRecordHeader, '\0');
  if (!(*file)->ReadAt(kLogHeader, head.size(), head.data()).ok()) return "";
  storage::ByteReader reader(head);
  const std::uint32_t length = reader.U32();
  if (length > kMaxOfFirst) return "";
  std::string payload(length, '\0');
  return (*file)->ReadAt(kLogHeader + kRecordHeader, length, payload.data()).ok() ? head + payload : "";
}

// What names the examples of a data set: to the sweep of `view`, else to the one that asks.
std::string FindExamples(const ResultsView& view, const UnpackedDigests& known, const std::string& digest) {
  return FindUnpackedDigest(view.unpacked.contains(digest) ? view.unpacked : known, digest);
}

OtherSweep MakeSweep(const ResultsView& view, const UnpackedDigests& known) {
  OtherSweep sweep;
  sweep.directory = view.directory;
  sweep.running = view.running;
  sweep.noted_root = view.noted_root;
  const PrivacyCharges charges = CollectCharges(view);
  const PrivacyCharges::CountRule counts = MakeCountRule(view, charges);
  for (const std::string& digest : charges.Digests()) {
    const std::vector<privacy::PrivacyEvent> sum = charges.SumCharges(digest, counts);
    if (sum.empty()) continue;
    std::vector<privacy::PrivacyEvent>& events = sweep.charged[FindExamples(view, known, digest)];
    events.insert(events.end(), sum.begin(), sum.end());
  }
  for (auto& [digest, events] : sweep.charged) events = privacy::Aggregate(events);
  for (const TrialView& trial : view.trials) {
    if (!trial.spec.data) continue;
    const std::string examples = FindExamples(view, known, trial.spec.data->digest);
    sweep.planned.insert(examples);
    if (!trial.spec.data->budget) continue;
    const auto [first, fresh] = sweep.budgets.try_emplace(examples, *trial.spec.data->budget);
    if (!fresh && trial.spec.data->budget->epsilon < first->second.epsilon) first->second = *trial.spec.data->budget;
  }
  return sweep;
}

// Whether a sweep whose journal cannot be read may have to do with `digests`.
bool MayTouch(storage::Env& env, const std::string& folder, const std::set<std::string>& digests,
              const UnpackedDigests& known, const SharedExamples& shared) {
  const Result<std::vector<storage::LedgerEntry>> ledger = storage::ReadLedger(env, GetLedgerPath(folder));
  if (!ledger.ok()) return true;
  std::set<std::string> charged;
  for (const storage::LedgerEntry& entry : *ledger) charged.insert(FindUnpackedDigest(known, entry.data_digest));
  return CountsAnyTogether(shared, charged, digests);
}

// The sweep in `folder`, unless its ledger and lock show that it has nothing to do with `digests`; a ledger
// that has lost something shows nothing. One that has not written yet what it draws on does so before it looks for
// others.
Result<std::optional<OtherSweep>> ReadOtherSweep(storage::Env& env, const std::string& folder,
                                                 const std::set<std::string>& digests, const UnpackedDigests& known,
                                                 SharedExamples& shared) {
  Result<ResultsView> view = ReadResults(env, folder);
  if (!view.ok()) {
    if (!IsFolderLocked(env, folder) && !MayTouch(env, folder, digests, known, shared))
      return std::optional<OtherSweep>();
    return view.status();
  }
  if (!view->ledger_lost.empty()) return DamageError(view->ledger_lost);
  shared.NoteUnmarked(view->unpacked, view->data);
  std::set<std::string> touched, capped;
  for (const storage::LedgerEntry& entry : view->ledger) touched.insert(FindExamples(*view, known, entry.data_digest));
  for (const TrialView& trial : view->trials)
    if (trial.spec.data && trial.spec.data->budget) capped.insert(FindExamples(*view, known, trial.spec.data->digest));
  const bool counts = CountsAnyTogether(shared, touched, digests) || CountsAnyTogether(shared, capped, digests);
  if (!counts && !IsFolderLocked(env, folder)) return std::optional<OtherSweep>();
  WithdrawRefuted(env, *view);
  OtherSweep sweep = MakeSweep(*view, known);
  if (!counts && !(sweep.running && CountsAnyTogether(shared, sweep.planned, digests)))
    return std::optional<OtherSweep>();
  return std::optional<OtherSweep>(std::move(sweep));
}

std::map<std::string, std::string> ListNames(const SweepPlan& plan) {
  std::map<std::string, std::string> names;  // by digest
  for (const auto& data : plan.data) names[FindUnpackedDigest(plan.unpacked, data->digest)] = data->name;
  return names;
}

// Those that are under a budget, of the plan or of another sweep.
std::map<std::string, std::string> CappedNames(const SweepPlan& plan, const BudgetsByData& others) {
  std::map<std::string, std::string> names;  // by digest
  for (const auto& data : plan.data)
    if (data->budget || others.contains(FindUnpackedDigest(plan.unpacked, data->digest)))
      names[FindUnpackedDigest(plan.unpacked, data->digest)] = data->name;
  return names;
}

std::set<std::string> CollectDigests(const std::map<std::string, std::string>& names) {
  std::set<std::string> digests;
  for (const auto& [digest, name] : names) digests.insert(digest);
  return digests;
}

// A budget of one data set of the plan binds the others that share its examples.
void AddOwnBudgets(const std::string& results, const SweepPlan& plan, const SharedExamples& shared,
                   BudgetsByData& budgets) {
  for (const auto& capped : plan.data) {
    if (!capped->budget) continue;
    const std::string& theirs = FindUnpackedDigest(plan.unpacked, capped->digest);
    for (const auto& [digest, name] : ListNames(plan))
      if (digest != theirs && shared.Together(digest, theirs)) budgets[digest].push_back({results, *capped->budget});
  }
}

Status Running(const std::string& folder, const std::string& name, const std::string& root, const char* whose) {
  return EnvironmentError(
      fmt::format("{} is running and draws on data set '{}'; {} covers every sweep in {}, so only one may draw at a "
                  "time. Run this one when that has ended, or give it a folder elsewhere with --results",
                  folder, name, whose, root));
}

Result<bool> HoldsSweep(storage::Env& env, const std::string& folder) {
  RETORT_ASSIGN_OR_RETURN(const bool is_folder, storage::IsFolder(env, folder));
  if (!is_folder) return false;
  RETORT_ASSIGN_OR_RETURN(const bool ledger, storage::PathExists(env, GetLedgerPath(folder)));
  return ledger ? Result(true) : storage::PathExists(env, GetJournalPath(folder));
}

// Whoever reads these says what cannot be read of them.
bool IsOfTheRoot(const std::string& root, const std::string& folder) {
  return folder == storage::GetMarksFolder(root) || folder == GetRefutationsFolder(root);
}

}  // namespace

Result<OtherFolders> ListOtherFolders(storage::Env& env, const std::string& results) {
  const std::string root = FindResultsRoot(results);
  OtherFolders beside;
  RETORT_ASSIGN_OR_RETURN(const bool there, storage::PathExists(env, root));
  if (!there) return beside;
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(root));
  for (const std::string& name : names) {
    std::string folder = (std::filesystem::path(root) / name).string();
    const auto same = [&folder](const std::string& other) { return storage::IsSameFile(folder, other); };
    if (same(results)) continue;
    const Result<bool> sweep = HoldsSweep(env, folder);
    if (!sweep.ok() && !IsOfTheRoot(root, folder))
      beside.unknown.push_back(
          fmt::format("whether {} is a sweep, and what it charged, cannot be told, so it is not counted: {}", folder,
                      RemoveFullStop(sweep.status().message())));
    if (sweep.ok() && *sweep && std::none_of(beside.sweeps.begin(), beside.sweeps.end(), same))
      beside.sweeps.push_back(std::move(folder));
  }
  return beside;
}

std::vector<std::string> DescribeCopies(storage::Env& env, const std::string& results) {
  std::vector<std::string> copies;
  const std::string own = ReadBeginning(env, results);
  const Result<OtherFolders> beside = ListOtherFolders(env, results);
  if (own.empty() || !beside.ok()) return copies;
  for (const std::string& folder : beside->sweeps)
    if (ReadBeginning(env, folder) == own)
      copies.push_back(
          fmt::format("one of {} and {} is a copy of the other: what was charged before it was made counts "
                      "twice. Move one of them out of {}",
                      results, folder, FindResultsRoot(results)));
  return copies;
}

std::vector<std::string> DescribeUncounted(storage::Env& env, const std::string& results) {
  Result<OtherFolders> beside = ListOtherFolders(env, results);
  if (beside.ok()) return std::move(beside->unknown);
  return {
      fmt::format("what lies beside {} cannot be told, so it is not counted: {}", results, beside.status().message())};
}

std::vector<std::string> ListCopyNotes(storage::Env& env, const ResultsView& view) {
  std::vector<std::string> notes = DescribeCopies(env, view.directory);
  for (std::string& unknown : DescribeUncounted(env, view.directory)) notes.push_back(std::move(unknown));
  if (view.noted_root.empty()) return notes;
  Result<storage::RootMarks> marks = storage::ReadMarks(env, FindResultsRoot(view.directory));
  if (!marks.ok())
    notes.push_back(marks.status().message());
  else if (IsInForeignRoot(view.noted_root, SharedExamples(*std::move(marks))))
    notes.push_back(DescribeForeignRoot(view.directory));
  return notes;
}

bool IsInForeignRoot(const std::string& noted_root, const SharedExamples& shared) {
  return !noted_root.empty() && noted_root != shared.root();
}

std::string DescribeForeignRoot(const std::string& results) {
  return fmt::format(
      "{} was first run in another results root than {}: it is a copy, or was moved, and what the sweeps "
      "there and here spend of the same examples is counted apart. Go on with it in its own place, or give "
      "this sweep a folder of its own with --results",
      results, FindResultsRoot(results));
}

Result<std::vector<OtherSweep>> ReadOtherSweeps(storage::Env& env, const std::string& results,
                                                const std::set<std::string>& digests, const UnpackedDigests& known,
                                                SharedExamples& shared) {
  std::vector<OtherSweep> sweeps;
  RETORT_ASSIGN_OR_RETURN(const OtherFolders beside, ListOtherFolders(env, results));
  if (!beside.unknown.empty()) return EnvironmentError(fmt::format("{}", fmt::join(beside.unknown, "; ")));
  for (const std::string& folder : beside.sweeps) {
    Result<std::optional<OtherSweep>> sweep = ReadOtherSweep(env, folder, digests, known, shared);
    if (!sweep.ok())
      return Status(sweep.status().code(), fmt::format("what {} charged cannot be read: {}", folder,
                                                       RemoveFullStop(sweep.status().message())));
    if (*sweep) sweeps.push_back(**std::move(sweep));
  }
  return sweeps;
}

Result<BudgetsByData> ReadOtherBudgets(storage::Env& env, const std::string& results, const SweepPlan& plan,
                                       SharedExamples& shared) {
  BudgetsByData budgets;
  const std::map<std::string, std::string> names = ListNames(plan);
  const Result<OtherFolders> beside = ListOtherFolders(env, results);
  if (names.empty() || !beside.ok()) return budgets;  // DescribeUncounted says it
  for (const std::string& folder : beside->sweeps) {
    const Result<ResultsView> view = ReadJournaled(env, folder);
    // One that is just beginning finds in this sweep's journal what it draws on, before it draws.
    const bool absent = !view.ok() && !storage::MayExist(env, GetJournalPath(folder));
    if (absent || (!view.ok() && !MayTouch(env, folder, CollectDigests(names), plan.unpacked, shared))) continue;
    if (!view.ok())
      return EnvironmentError(
          fmt::format("whether {} sets a budget for the same data cannot be read, so no sweep "
                      "draws on it beside that folder: mend it, or move it out of {}. {}",
                      folder, FindResultsRoot(results), view.status().message()));
    shared.NoteUnmarked(view->unpacked, view->data);
    for (const auto& [theirs, budget] : MakeSweep(*view, plan.unpacked).budgets)
      for (const auto& [digest, name] : names)
        if (shared.Together(FindUnpackedDigest(view->unpacked, digest), theirs))
          budgets[digest].push_back({folder, budget});
  }
  return budgets;
}

Result<RootTerms> ReadRootTerms(storage::Env& env, const std::string& results, const SweepPlan& plan,
                                SharedExamples& shared) {
  RootTerms terms;
  RETORT_ASSIGN_OR_RETURN(terms.budgets, ReadOtherBudgets(env, results, plan, shared));
  AddOwnBudgets(results, plan, shared, terms.budgets);
  const std::map<std::string, std::string> names = CappedNames(plan, terms.budgets);
  ChargedByData& charged = terms.charged;
  if (names.empty()) return terms;
  if (IsMountedFromElsewhere(results, ReadMounts()))
    return EnvironmentError(
        fmt::format("the budget of data set '{}' covers every sweep beside the results folder, and {} is a "
                    "mount of a folder that lies elsewhere: what was charged beside that one cannot be "
                    "seen from here. Name the folder where it lies, or mount the folder that holds it",
                    names.begin()->second, results));
  const Result<std::vector<OtherSweep>> sweeps =
      ReadOtherSweeps(env, results, CollectDigests(names), plan.unpacked, shared);
  if (!sweeps.ok()) {
    return EnvironmentError(
        fmt::format("the budget of data set '{}' covers every sweep in {}, and {}. Mend that folder (retort "
                    "repair), move it out "
                    "of there, or give this sweep a folder elsewhere with --results",
                    names.begin()->second, FindResultsRoot(results), sweeps.status().message()));
  }
  for (const OtherSweep& sweep : *sweeps) {
    for (const auto& [digest, name] : names) {
      if (sweep.running && CountsAnyTogether(shared, sweep.planned, {digest}))
        return Running(sweep.directory, name, FindResultsRoot(results),
                       sweep.budgets.contains(digest) ? "its budget" : "the budget of that data set");
      for (const auto& [theirs, events] : sweep.charged)
        if (shared.Together(digest, theirs))
          charged[digest].insert(charged[digest].end(), events.begin(), events.end());
    }
  }
  for (auto& [digest, events] : charged) events = privacy::Aggregate(events);
  return terms;
}

std::set<std::string> ListDataDigests(const ResultsView& view) {
  std::set<std::string> digests;
  for (const TrialView& trial : view.trials)
    if (trial.spec.data) digests.insert(FindUnpackedDigest(view.unpacked, trial.spec.data->digest));
  for (const storage::LedgerEntry& entry : view.ledger)
    digests.insert(FindUnpackedDigest(view.unpacked, entry.data_digest));
  return digests;
}

RootCharges ReadRoot(storage::Env& env, const ResultsView& view) {
  return ReadRoot(env, view.directory, ListDataDigests(view), view.unpacked, view.data, view.noted_root);
}

RootCharges ReadRoot(storage::Env& env, const std::string& results, const std::set<std::string>& digests,
                     const UnpackedDigests& known, const DataSets& data, const std::string& noted_root) {
  RootCharges root;
  root.directory = FindResultsRoot(results);
  root.copies = DescribeCopies(env, results);
  root.uncounted = DescribeUncounted(env, results);
  if (digests.empty()) return root;
  Result<storage::RootMarks> marks = storage::ReadMarks(env, root.directory);
  if (!marks.ok()) {
    root.trouble = marks.status().message();
    return root;
  }
  root.shared = SharedExamples(*std::move(marks));
  root.shared.NoteUnmarked(known, data);
  Result<std::vector<OtherSweep>> sweeps = ReadOtherSweeps(env, results, digests, known, root.shared);
  if (!sweeps.ok()) {
    root.trouble = sweeps.status().message();
    return root;
  }
  root.sweeps = std::move(sweeps).value();
  if (IsInForeignRoot(noted_root, root.shared)) root.trouble = DescribeForeignRoot(results);
  for (const OtherSweep& sweep : root.sweeps)
    if (IsInForeignRoot(sweep.noted_root, root.shared)) root.copies.push_back(DescribeForeignRoot(sweep.directory));
  return root;
}

OtherCharges CollectOtherCharges(const RootCharges& root, const std::set<std::string>& digests) {
  OtherCharges beside;
  for (const OtherSweep& sweep : root.sweeps) {
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
