#include "orchestrator/neighbours.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "experiments/privacy/relation.h"
#include "orchestrator/folder_lock.h"
#include "orchestrator/journal.h"
#include "orchestrator/refuted_claims.h"
#include "orchestrator/view_charges.h"

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
  std::vector<std::string> folders;
  if (!env.Exists(root)) return folders;
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(root));
  for (const std::string& name : names) {
    std::string folder = (std::filesystem::path(root) / name).string();
    const bool sweep = env.Exists(LedgerPath(folder)) || env.Exists(JournalPath(folder));
    if (sweep && !Same(folder, results)) folders.push_back(std::move(folder));
  }
  return folders;
}

// What names the examples of a data set: to the sweep of `view`, else to the one that asks.
std::string ExamplesOf(const ResultsView& view, const UnpackedDigests& known, const std::string& digest) {
  return UnpackedOf(view.unpacked.contains(digest) ? view.unpacked : known, digest);
}

NeighbourSweep SweepOf(const ResultsView& view, const UnpackedDigests& known) {
  NeighbourSweep sweep;
  sweep.directory = view.directory;
  sweep.running = view.running;
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

bool Touches(const std::set<std::string>& some, const std::set<std::string>& others) {
  return std::any_of(some.begin(), some.end(),
                     [&](const std::string& digest) { return others.contains(digest); });
}

// Whether a sweep whose journal cannot be read may have to do with `digests`.
bool MayTouch(storage::Env& env, const std::string& folder, const std::set<std::string>& digests,
              const UnpackedDigests& known) {
  const Result<std::vector<storage::LedgerEntry>> ledger = storage::ReadLedger(env, LedgerPath(folder));
  return !ledger.ok() || std::any_of(ledger->begin(), ledger->end(), [&](const storage::LedgerEntry& entry) {
    return digests.contains(UnpackedOf(known, entry.data_digest));
  });
}

// The sweep in `folder`, unless its ledger and lock show that it has nothing to do with `digests`; a ledger
// that has lost something shows nothing.
Result<std::optional<NeighbourSweep>> ReadNeighbour(storage::Env& env, const std::string& folder,
                                                    const std::set<std::string>& digests,
                                                    const UnpackedDigests& known) {
  Result<ResultsView> view = ReadResults(env, folder);
  if (!view.ok()) {
    if (!FolderIsLocked(env, folder) && !MayTouch(env, folder, digests, known))
      return std::optional<NeighbourSweep>();
    return view.status();
  }
  if (!view->ledger_lost.empty()) return DamageError(view->ledger_lost);
  const bool charged =
      std::any_of(view->ledger.begin(), view->ledger.end(), [&](const storage::LedgerEntry& entry) {
        return digests.contains(ExamplesOf(*view, known, entry.data_digest));
      });
  const bool caps = std::any_of(view->trials.begin(), view->trials.end(), [&](const TrialView& trial) {
    return trial.spec.data && trial.spec.data->budget && digests.contains(ExamplesOf(*view, known, trial.spec.data->digest));
  });
  if (!charged && !caps && !FolderIsLocked(env, folder)) return std::optional<NeighbourSweep>();
  WithdrawRefuted(env, *view);
  NeighbourSweep sweep = SweepOf(*view, known);
  if (!charged && !caps && !(sweep.running && Touches(sweep.planned, digests))) return std::optional<NeighbourSweep>();
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

Status Running(const std::string& folder, const std::string& name, const std::string& root,
               const char* whose) {
  return EnvironmentError(fmt::format(
      "{} is running and draws on data set '{}'; {} covers every sweep in {}, so only one may draw at a "
      "time. Run this one when that has ended, or give it a folder elsewhere with --results",
      folder, name, whose, root));
}

}  // namespace

Result<std::vector<NeighbourSweep>> ReadNeighbours(storage::Env& env, const std::string& results,
                                                   const std::set<std::string>& digests,
                                                   const UnpackedDigests& known) {
  std::vector<NeighbourSweep> sweeps;
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> siblings, Siblings(env, results));
  for (const std::string& folder : siblings) {
    Result<std::optional<NeighbourSweep>> sweep = ReadNeighbour(env, folder, digests, known);
    if (!sweep.ok())
      return Status(sweep.status().code(),
                    fmt::format("what {} charged cannot be read: {}", folder, sweep.status().message()));
    if (*sweep) sweeps.push_back(**std::move(sweep));
  }
  return sweeps;
}

Result<BudgetsByData> BudgetsElsewhere(storage::Env& env, const std::string& results, const SweepPlan& plan) {
  BudgetsByData budgets;
  const std::map<std::string, std::string> names = NamesOf(plan);
  const Result<std::vector<std::string>> siblings = Siblings(env, results);
  if (names.empty() || !siblings.ok()) return budgets;
  for (const std::string& folder : *siblings) {
    const Result<ResultsView> view = ReadJournaled(env, folder);
    // One that is just beginning looks for this sweep's lock before it draws.
    const bool absent = !view.ok() && view.status().code() == StatusCode::environment;
    if (absent || (!view.ok() && !MayTouch(env, folder, DigestsOf(names), plan.unpacked))) continue;
    if (!view.ok())
      return EnvironmentError(fmt::format("whether {} sets a budget for the same data cannot be read, so no sweep "
                                          "draws on it beside that folder: mend it, or move it out of {}. {}",
                                          folder, RootOf(results), view.status().message()));
    const std::map<std::string, Budget> theirs = SweepOf(*view, plan.unpacked).budgets;
    for (const auto& [digest, name] : names) {
      const auto budget = theirs.find(UnpackedOf(view->unpacked, digest));
      if (budget != theirs.end()) budgets[digest].push_back({folder, budget->second});
    }
  }
  return budgets;
}

Result<RootTerms> TermsElsewhere(storage::Env& env, const std::string& results, const SweepPlan& plan) {
  RootTerms terms;
  RETORT_ASSIGN_OR_RETURN(terms.budgets, BudgetsElsewhere(env, results, plan));
  const std::map<std::string, std::string> names = CappedNames(plan, terms.budgets);
  ChargedByData& charged = terms.charged;
  if (names.empty()) return terms;
  const Result<std::vector<NeighbourSweep>> sweeps =
      ReadNeighbours(env, results, DigestsOf(names), plan.unpacked);
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
        return Running(sweep.directory, name, RootOf(results),
                       sweep.budgets.contains(digest) ? "its budget" : "the budget of that data set");
      if (const auto found = sweep.charged.find(digest); found != sweep.charged.end())
        charged[digest].insert(charged[digest].end(), found->second.begin(), found->second.end());
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
  return ReadRoot(env, view.directory, DataDigests(view), view.unpacked);
}

RootCharges ReadRoot(storage::Env& env, const std::string& results, const std::set<std::string>& digests,
                     const UnpackedDigests& known) {
  RootCharges root;
  root.directory = RootOf(results);
  if (digests.empty()) return root;
  Result<std::vector<NeighbourSweep>> sweeps = ReadNeighbours(env, results, digests, known);
  if (sweeps.ok())
    root.sweeps = std::move(sweeps).value();
  else
    root.trouble = sweeps.status().message();
  return root;
}

}  // namespace retort::orchestrator
