#include "orchestrator/cli/sweep_status.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "orchestrator/cli/failure_groups.h"
#include "orchestrator/cli/number_text.h"
#include "orchestrator/cli/printed_command.h"
#include "orchestrator/cli/trial_names.h"
#include "orchestrator/screen_text.h"
#include "orchestrator/time_fit.h"
#include "orchestrator/view_charges.h"

namespace retort::orchestrator::cli {
namespace {

// By so much the clocks of machines may differ before anybody is told.
constexpr double kClockToleranceSeconds = 10;
constexpr std::size_t kFewCauses = 3;  // that are told at length
constexpr std::size_t kDetailColumns = 120, kLongDetailColumns = 320;  // of a failure's detail in a problem

constexpr TrialState kStates[] = {TrialState::waiting,       TrialState::queued,    TrialState::leased,
                                  TrialState::running,       TrialState::succeeded, TrialState::failed,
                                  TrialState::parent_failed, TrialState::cancelled};

bool IsCommand(const std::string& remedy) { return remedy.starts_with("retort "); }

std::size_t DetailColumns(const std::vector<TrialGroup>& causes) {
  return causes.size() <= kFewCauses ? kLongDetailColumns : kDetailColumns;
}

// What happened to the trials of `group`, of which there are several, or to its only one; and why, in `columns`.
Problem ProblemOf(const TrialGroup& group, std::size_t columns, int severity, const std::string& several,
                  const std::string& one) {
  const TrialView& first = *group.front();
  const bool alone = group.size() == 1;
  Problem problem{severity, "", TrialCommand("explain", first.spec), {}};
  for (const TrialView* trial : group) problem.trials.push_back(trial->spec.id);
  problem.what = fmt::format("{} {} {}", alone ? ShownName(first.spec) : TrialsText(std::ssize(group)),
                             alone ? one : several, FailureName(first.failure));
  if (!first.detail.empty())
    problem.what += " (" + (alone ? ShortDetail(first.detail, columns)
                                  : CutEnd(FirstSentence(first.detail), columns)) + ")";
  if (!alone) problem.what += ", first " + ShownName(first.spec);
  return problem;
}

Problem FailureOf(const TrialGroup& group, std::size_t columns) {
  const std::uint32_t attempts = group.front()->attempts;
  return ProblemOf(group, columns, 90, "failed:",
                   fmt::format("failed after {} {}:", attempts, attempts == 1 ? "attempt" : "attempts"));
}

Problem RetriesOf(const TrialGroup& group, std::size_t columns) {
  const std::uint32_t attempts = group.front()->attempts;
  return ProblemOf(group, columns, 40, "were tried already, last failure",
                   fmt::format("was tried {} {}, last failure", attempts, attempts == 1 ? "time" : "times"));
}

// Worst of all: a number was printed that is not true.
Problem RefutedOf(const ResultsView& view, const TrialView& trial) {
  Problem problem{100, "", TrialCommand("show", trial.spec), {trial.spec.id}};
  for (const TrialView& student : view.trials)
    if (student.refuted_teacher && student.spec.parent == trial.spec.id)
      problem.trials.push_back(student.spec.id);
  const std::size_t students = problem.trials.size() - 1;
  problem.what = fmt::format("a proven claim of {} is refuted by {}", ShownName(trial.spec),
                             fmt::join(trial.refuted, "; and by "));
  if (students > 0)
    problem.what += fmt::format("; {} {} on it", students, students == 1 ? "student rests" : "students rest");
  return problem;
}

// As bad as that, as far as anybody knows.
Problem UnknownAuditOf(const TrialView& trial) {
  return {100,
          fmt::format("nothing is claimed of {}, since nobody can say what audits found of it: {}", ShownName(trial.spec),
                      trial.audit_unknown),
          TrialCommand("show", trial.spec),
          {trial.spec.id}};
}

void AddTogether(const ResultsView& view, TrialState state, int severity, const std::string& what,
                 const std::string& remedy, std::vector<Problem>& problems) {
  Problem problem{severity, "", remedy, {}};
  for (const TrialView& trial : view.trials)
    if (trial.state == state) problem.trials.push_back(trial.spec.id);
  if (problem.trials.empty()) return;
  problem.what =
      fmt::format("{} {} {}", problem.trials.size(), problem.trials.size() == 1 ? "trial" : "trials", what);
  problems.push_back(std::move(problem));
}

// Trials that another run would not start either.
void AddQuota(const ResultsView& view, std::vector<Problem>& problems) {
  Problem problem{65, "", "raise [sweep] quota in the sweep file, and run it again", {}};
  std::string refusal;
  for (const TrialView& trial : view.trials) {
    if (view.running || trial.state != TrialState::queued) continue;
    refusal = RefuseByQuota(view.quota, view.usage, trial.spec.id, 0, 0, 0, false);
    if (refusal.empty()) return;  // the next run has something to do
    problem.trials.push_back(trial.spec.id);
  }
  if (problem.trials.empty()) return;
  problem.what = fmt::format("{}: {} {} left out", refusal, problem.trials.size(),
                             problem.trials.size() == 1 ? "trial is" : "trials are");
  problems.push_back(std::move(problem));
}

void AddLostDevices(const ResultsView& view, std::vector<Problem>& problems) {
  const std::vector<DeviceView> devices = DevicesOf(view);
  const int lost = CountIn(devices, DeviceState::lost);
  if (lost == 0) return;
  const auto first = std::find_if(devices.begin(), devices.end(),
                                  [](const DeviceView& device) { return device.state == DeviceState::lost; });
  problems.push_back({85,
                      fmt::format("{} of {} devices are lost, as nothing is heard of their agents; {} is the first",
                                  lost, devices.size(), DevicePlace(*first)),
                      "look at that host; when it is gone, end the run and start it again",
                      {}});
}

void AddClock(const ResultsView& view, double clock, std::vector<Problem>& problems) {
  const double ahead = view.newest_event - clock;
  if (clock <= 0 || ahead < kClockToleranceSeconds) return;
  problems.push_back({50,
                      fmt::format("the newest event lies {} in the future of this machine's clock; times are told as "
                                  "of that event",
                                  DurationText(ahead)),
                      "set the clocks of the machines alike",
                      {}});
}

std::vector<Problem> TrialProblemsOf(const ResultsView& view) {
  std::vector<Problem> problems;
  TrialGroup failed, retried;
  for (const TrialView& trial : view.trials) {
    if (!trial.refuted.empty()) problems.push_back(RefutedOf(view, trial));
    if (!trial.audit_unknown.empty()) problems.push_back(UnknownAuditOf(trial));
    if (trial.state == TrialState::failed)
      failed.push_back(&trial);
    else if (!IsFinal(trial.state) && trial.failure != FailureKind::none &&
             trial.failure != FailureKind::stopped)
      retried.push_back(&trial);
  }
  const std::vector<TrialGroup> failures = GroupFailures(failed), retries = GroupFailures(retried);
  for (const TrialGroup& group : failures) problems.push_back(FailureOf(group, DetailColumns(failures)));
  for (const TrialGroup& group : retries) problems.push_back(RetriesOf(group, DetailColumns(retries)));
  AddTogether(view, TrialState::parent_failed, 80, "cannot run because their teacher failed",
              "see the teacher's failure", problems);
  AddTogether(view, TrialState::cancelled, 20, "cancelled", "", problems);
  AddQuota(view, problems);
  return problems;
}

std::vector<Problem> ProblemsOf(const ResultsView& view, const TrialsStatus& trials, double clock) {
  std::vector<Problem> problems;
  if (std::string lost = LostJournalText(view); !lost.empty())
    problems.push_back({100, std::move(lost), "restore journal.log from a copy", {}});
  if (!view.ledger_lost.empty())
    problems.push_back({100, view.ledger_lost, AtResults("retort repair", view.directory), {}});
  for (Problem problem : trials.problems) {
    if (IsCommand(problem.remedy)) problem.remedy = AtResults(problem.remedy, view.directory);
    problems.push_back(std::move(problem));
  }
  for (const DataSpending& spent : trials.spending)
    if (spent.budget && spent.root_epsilon > 0.9 * spent.budget->epsilon)
      problems.push_back({70,
                          fmt::format("data set {} has spent ε = {} of its budget of {} (example, its place filled or empty, δ = {})",
                                      spent.data, EpsilonText(spent.root_epsilon),
                                      EpsilonText(spent.budget->epsilon), ShortNumber(spent.delta)),
                          spent.budget_of.empty()
                              ? "raise [data." + spent.data + "] budget, or ask for fewer trials"
                              : "raise the budget in " + spent.budget_of + ", or ask for fewer trials",
                          {}});
  for (const std::string& drained : view.drained)
    problems.push_back({75, drained, "look at that host; a new run uses the slot again", {}});
  AddLostDevices(view, problems);
  AddClock(view, clock, problems);
  if (!trials.finished && !view.running)
    problems.push_back({60,
                        "nobody is running this sweep, and it is not finished",
                        RunAgain(view.directory),
                        {}});
  std::stable_sort(problems.begin(), problems.end(),
                   [](const Problem& a, const Problem& b) { return a.severity > b.severity; });
  return problems;
}

// Of data sets that are planned or were charged.
void AddRoot(const RootCharges& root, const std::set<std::string>& digests, ChargeBook& charges, SpendingFacts& facts) {
  ShareCharges(root.shared, {digests.begin(), digests.end()}, charges);
  BesideSweep beside = BesideOf(root, digests);
  facts.elsewhere = std::move(beside.charged);
  facts.other_budgets = std::move(beside.budgets);
  facts.root = root.directory;
  facts.root_trouble = root.trouble;
}

std::vector<DataSpending> SpendingOf(const ResultsView& view, const RootCharges* root) {
  ChargeBook charges = ChargesIn(view);
  for (const auto& [digest, unpacked] : view.unpacked) charges.Unpack(digest, unpacked);
  SpendingFacts facts;
  for (const std::vector<TrialView>* trials : {&view.trials, &view.unplanned})
    for (const TrialView& trial : *trials)
      facts.trials.push_back({&trial.spec, trial.planned, AuditVoidOf(trial)});
  facts.results = view.directory;
  facts.charges = &charges;
  facts.counts = CountsOf(view, charges);
  facts.ledger_lost = view.ledger_lost;
  if (root != nullptr) AddRoot(*root, DataDigests(view), charges, facts);
  return ShownSpending(orchestrator::SpendingOf(facts));
}

std::optional<SweepEstimate> RemainingOf(const ResultsView& view, const CostModel& costs, double now) {
  std::unordered_map<TrialId, const TrialSpec*> specs;
  std::vector<PendingTrial> left;
  for (const TrialView& trial : view.trials) {
    specs.emplace(trial.spec.id, &trial.spec);
    if (IsFinal(trial.state)) continue;
    const auto teacher = trial.spec.parent ? specs.find(*trial.spec.parent) : specs.end();
    left.push_back(PendingOf(trial, teacher == specs.end() ? nullptr : teacher->second, now));
  }
  return EstimateSweep(costs, left, SlotsOf(view), static_cast<int>(view.quota.concurrency));
}

}  // namespace

std::string LostJournalText(const ResultsView& view) {
  if (!view.trials.empty() || view.ledger.empty()) return "";
  return fmt::format("journal.log {}, and ledger.log holds {} {} of trials that it must have known",
                     view.sweep.empty() ? "is empty" : "ends before its plan", view.ledger.size(),
                     view.ledger.size() == 1 ? "reservation" : "reservations");
}

std::vector<std::pair<std::string, int>> CountStates(const ResultsView& view) {
  std::vector<std::pair<std::string, int>> counts;
  for (const TrialState state : kStates) {
    const auto count = std::count_if(view.trials.begin(), view.trials.end(),
                                     [&](const TrialView& t) { return t.state == state; });
    if (count > 0) counts.emplace_back(StateName(state), static_cast<int>(count));
  }
  return counts;
}

int SlotsOf(const ResultsView& view) {
  if (const int live = view.running ? view.inventory.LiveSlots() : 0; live > 0) return live;
  return std::max({view.terms.slots, view.usage.peak_devices(), 1});
}

TrialsStatus TrialsStatusOf(const ResultsView& view, const CostModel& costs, double now_unix_seconds,
                            const RootCharges* root) {
  TrialsStatus trials;
  trials.trials = static_cast<int>(view.trials.size());
  const bool planned = !view.trials.empty();  // false where the journal ends before its plan
  trials.finished = planned && std::all_of(view.trials.begin(), view.trials.end(),
                                           [](const TrialView& t) { return IsFinal(t.state); });
  trials.counts = CountStates(view);
  trials.problems = TrialProblemsOf(view);
  for (const std::string& copy : root == nullptr ? std::vector<std::string>() : root->copies)
    trials.problems.push_back({72, copy, "keep one of them", {}});
  for (const std::string& unknown : root == nullptr ? std::vector<std::string>() : root->uncounted)
    trials.problems.push_back({72, unknown, "let this user read it, or move it out of the results root", {}});
  trials.spending = SpendingOf(view, root);
  if (planned && !trials.finished) trials.remaining = RemainingOf(view, costs, NowFor(view, now_unix_seconds));
  return trials;
}

SweepStatus StatusOf(const ResultsView& view, const CostModel& costs, double now_unix_seconds,
                     const RootCharges* root) {
  return StatusFrom(view, TrialsStatusOf(view, costs, now_unix_seconds, root), costs, now_unix_seconds);
}

SweepStatus StatusFrom(const ResultsView& view, TrialsStatus trials, const CostModel& costs, double now_unix_seconds) {
  SweepStatus status;
  status.view = &view;
  status.trials = trials.trials;
  status.finished = trials.finished;
  status.problems = ProblemsOf(view, trials, now_unix_seconds);
  status.counts = std::move(trials.counts);
  status.spending = std::move(trials.spending);
  status.remaining = trials.remaining;
  status.devices = DevicesOf(view);
  status.costs = costs;
  const bool explained = !status.problems.empty() && IsCommand(status.problems.front().remedy);
  if (!LostJournalText(view).empty())
    status.next = status.problems.front().remedy;
  else if (status.finished && explained)
    status.next = status.problems.front().remedy;
  else if (status.finished)
    status.next = AtResults("retort list", view.directory);
  else if (view.running)
    status.next = AtResults("retort status --watch", view.directory);
  else
    status.next = RunAgain(view.directory);
  return status;
}

}  // namespace retort::orchestrator::cli
