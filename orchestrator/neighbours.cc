#include "orchestrator/neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "experiments/privacy/relation.h"
#include "orchestrator/costing_entries.h"
#include "orchestrator/folder_lock.h"
#include "orchestrator/journal.h"
#include "orchestrator/refuted_claims.h"

namespace retort::orchestrator {
namespace {

std::string RootOf(const std::string& results) {
  const std::filesystem::path folder = std::filesystem::path(results).lexically_normal();
  const std::filesystem::path whole = folder.has_filename() ? folder : folder.parent_path();
  return whole.has_parent_path() ? whole.parent_path().string() : std::string(".");
}

bool Same(const std::string& a, const std::string& b) {
  return (std::filesystem::path(a).lexically_normal() / "").lexically_normal() ==
         (std::filesystem::path(b).lexically_normal() / "").lexically_normal();
}

// Folders of the root that hold a journal or a ledger, this sweep's left out.
Result<std::vector<std::string>> Siblings(storage::Env& env, const std::string& results) {
  const std::string root = RootOf(results);
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(root));
  std::vector<std::string> folders;
  for (const std::string& name : names) {
    std::string folder = (std::filesystem::path(root) / name).string();
    const bool sweep = env.Exists(LedgerPath(folder)) || env.Exists(JournalPath(folder));
    if (sweep && !Same(folder, results)) folders.push_back(std::move(folder));
  }
  return folders;
}

NeighbourSweep SweepOf(const ResultsView& view) {
  NeighbourSweep sweep;
  sweep.directory = view.directory;
  sweep.running = view.running;
  std::set<TrialId> refuted;
  for (const TrialView& trial : view.trials)
    if (!trial.refuted.empty()) refuted.insert(trial.spec.id);
  for (const storage::LedgerEntry& entry : CostingEntries(view)) {
    privacy::PrivacyEvent& event = sweep.charged[entry.data_digest].emplace_back(entry.Charged());
    if (refuted.contains(entry.attempt.trial)) event.voids.emplace_back(privacy::kVoidRefuted);
  }
  for (auto& [digest, events] : sweep.charged) events = privacy::Aggregate(events);
  for (const TrialView& trial : view.trials) {
    if (!trial.spec.data) continue;
    sweep.planned.insert(trial.spec.data->digest);
    if (trial.spec.data->budget) sweep.budgeted.insert(trial.spec.data->digest);
  }
  return sweep;
}

bool Touches(const std::set<std::string>& some, const std::set<std::string>& others) {
  return std::any_of(some.begin(), some.end(),
                     [&](const std::string& digest) { return others.contains(digest); });
}

// The sweep in `folder`, unless its ledger and lock show that it has nothing to do with `digests`; a ledger that has
// lost something shows nothing.
Result<std::optional<NeighbourSweep>> ReadNeighbour(storage::Env& env, const std::string& folder,
                                                    const std::set<std::string>& digests) {
  const Result<ResultsView> view = ReadResults(env, folder);
  if (view.ok() && !view->ledger_lost.empty()) return DamageError(view->ledger_lost);
  RETORT_ASSIGN_OR_RETURN(const std::vector<storage::LedgerEntry> ledger,
                          storage::ReadLedger(env, LedgerPath(folder)));
  const bool charged = std::any_of(ledger.begin(), ledger.end(), [&](const storage::LedgerEntry& entry) {
    return digests.contains(entry.data_digest);
  });
  if (!charged && !FolderIsLocked(env, folder)) return std::optional<NeighbourSweep>();
  RETORT_RETURN_IF_ERROR(view.status());
  WithdrawRefuted(env, *view);
  NeighbourSweep sweep = SweepOf(*view);
  if (!charged && !(sweep.running && Touches(sweep.planned, digests))) return std::optional<NeighbourSweep>();
  return std::optional<NeighbourSweep>(std::move(sweep));
}

std::map<std::string, std::string> NamesOf(const SweepPlan& plan, bool budgeted) {
  std::map<std::string, std::string> names;  // by digest
  for (const auto& data : plan.data)
    if (data->budget.has_value() == budgeted) names[data->digest] = data->name;
  return names;
}

std::set<std::string> DigestsOf(const std::map<std::string, std::string>& names) {
  std::set<std::string> digests;
  for (const auto& [digest, name] : names) digests.insert(digest);
  return digests;
}

Status Running(const std::string& folder, const std::string& name, const std::string& root,
               const char* whose) {
  return EnvironmentError(fmt::format(
      "{} is running and draws on data set '{}'; {} covers every sweep in {}, so only one may draw at a "
      "time. Run this one when that has ended, or give it a folder elsewhere with --results",
      folder, name, whose, root));
}

// A running neighbour whose budget a sweep without one would spend unseen.
Status CheckOthersBudgets(storage::Env& env, const std::string& results, const SweepPlan& plan) {
  const std::map<std::string, std::string> names = NamesOf(plan, false);
  const Result<std::vector<std::string>> siblings = Siblings(env, results);
  if (names.empty() || !siblings.ok()) return {};
  for (const std::string& folder : *siblings) {
    if (!FolderIsLocked(env, folder)) continue;
    const Result<ResultsView> view = ReadResults(env, folder);
    // One that is just beginning looks for this sweep's lock before it draws.
    if (!view.ok() && view.status().code() == StatusCode::environment) continue;
    if (!view.ok()) return view.status();
    const NeighbourSweep sweep = SweepOf(*view);
    for (const std::string& digest : sweep.budgeted)
      if (const auto name = names.find(digest); name != names.end())
        return Running(folder, name->second, RootOf(results), "its budget");
  }
  return {};
}

}  // namespace

Result<std::vector<NeighbourSweep>> ReadNeighbours(storage::Env& env, const std::string& results,
                                                   const std::set<std::string>& digests) {
  std::vector<NeighbourSweep> sweeps;
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> siblings, Siblings(env, results));
  for (const std::string& folder : siblings) {
    Result<std::optional<NeighbourSweep>> sweep = ReadNeighbour(env, folder, digests);
    if (!sweep.ok())
      return Status(sweep.status().code(),
                    fmt::format("what {} charged cannot be read: {}", folder, sweep.status().message()));
    if (*sweep) sweeps.push_back(**std::move(sweep));
  }
  return sweeps;
}

Result<ChargedByData> ChargedElsewhere(storage::Env& env, const std::string& results, const SweepPlan& plan) {
  RETORT_RETURN_IF_ERROR(CheckOthersBudgets(env, results, plan));
  const std::map<std::string, std::string> names = NamesOf(plan, true);
  ChargedByData charged;
  if (names.empty()) return charged;
  const Result<std::vector<NeighbourSweep>> sweeps = ReadNeighbours(env, results, DigestsOf(names));
  if (!sweeps.ok()) {
    return EnvironmentError(
        fmt::format("the budget of data set '{}' covers every sweep in {}, and {}. Mend that folder (retort "
                    "repair), move it out "
                    "of there, or give this sweep a folder elsewhere with --results",
                    names.begin()->second, RootOf(results), sweeps.status().message()));
  }
  for (const NeighbourSweep& sweep : *sweeps) {
    for (const auto& [digest, name] : names) {
      if (sweep.running && sweep.planned.contains(digest))
        return Running(sweep.directory, name, RootOf(results), "the budget of that data set");
      if (const auto found = sweep.charged.find(digest); found != sweep.charged.end())
        charged[digest].insert(charged[digest].end(), found->second.begin(), found->second.end());
    }
  }
  for (auto& [digest, events] : charged) events = privacy::Aggregate(events);
  return charged;
}

RootCharges ReadRoot(storage::Env& env, const ResultsView& view) {
  RootCharges root;
  root.directory = RootOf(view.directory);
  std::set<std::string> digests;
  for (const storage::LedgerEntry& entry : view.ledger) digests.insert(entry.data_digest);
  if (digests.empty()) return root;
  Result<std::vector<NeighbourSweep>> sweeps = ReadNeighbours(env, view.directory, digests);
  if (sweeps.ok())
    root.sweeps = std::move(sweeps).value();
  else
    root.trouble = sweeps.status().message();
  return root;
}

}  // namespace retort::orchestrator
