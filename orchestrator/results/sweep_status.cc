#include "orchestrator/results/sweep_status.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/base/printable.h"
#include "experiments/privacy/accountants/reasons.h"
#include "orchestrator/reactor/admission.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator {
namespace {

bool IsDigit(char letter) { return letter >= '0' && letter <= '9'; }

std::string WithoutNumbers(std::string text) {
  std::erase_if(text, IsDigit);
  return text;
}

std::string FindCause(const TrialView& trial) {
  const std::string_view state = IsFinal(trial.state) ? GetStateName(trial.state) : "";
  return std::string(state) + "\n" + FindFailureWord(trial) + "\n" + WithoutNumbers(FindFirstSentence(trial.detail));
}

}  // namespace

std::string FindFailureWord(const TrialView& trial) {
  if (std::string own = FindAuditVoid(trial); !own.empty()) return own;
  if (trial.unknown_teacher_audit) return "teacher-" + std::string(privacy::reason::kAuditUnknown);
  if (trial.refuted_teacher) return "teacher-" + std::string(privacy::kVoidRefuted);
  return trial.failure == FailureKind::none ? "" : std::string(GetFailureName(trial.failure));
}

std::vector<TrialGroup> GroupFailures(const TrialGroup& trials) {
  std::vector<TrialGroup> groups;
  std::unordered_map<std::string, std::size_t> places;  // by cause
  for (const TrialView* trial : trials) {
    const auto [place, fresh] = places.try_emplace(FindCause(*trial), groups.size());
    if (fresh) groups.emplace_back();
    groups[place->second].push_back(trial);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const TrialGroup& a, const TrialGroup& b) { return a.size() > b.size(); });
  return groups;
}

std::string FindFirstSentence(std::string_view detail) {
  const std::size_t end = std::min({detail.find('\n'), detail.find(". "), detail.find(".\n"), detail.size()});
  std::string sentence = MakeOneLine(detail.substr(0, end));
  if (sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

std::string ShortenDetail(std::string_view detail, std::size_t width) {
  std::string line = MakeOneLine(detail);
  return CountColumns(line) <= width ? line : CutEnd(FindFirstSentence(detail), width);
}

namespace {

// By so much the clocks of machines may differ before anybody is told.
constexpr double kClockToleranceSeconds = 10;
constexpr std::size_t kFewCauses = 3;                                  // that are told at length
constexpr std::size_t kDetailColumns = 120, kLongDetailColumns = 320;  // of a failure's detail in a problem

constexpr TrialState kStates[] = {TrialState::waiting,       TrialState::queued,    TrialState::leased,
                                  TrialState::running,       TrialState::succeeded, TrialState::failed,
                                  TrialState::parent_failed, TrialState::cancelled};

bool IsCommand(const std::string& remedy) { return remedy.starts_with("retort "); }

std::size_t DetailColumns(const std::vector<TrialGroup>& causes) {
  return causes.size() <= kFewCauses ? kLongDetailColumns : kDetailColumns;
}

// What happened to the trials of `group`, of which there are several, or to its only one; and why, in `columns`.
Problem MakeProblem(const TrialGroup& group, std::size_t columns, int severity, const std::string& several,
                    const std::string& one) {
  const TrialView& first = *group.front();
  const bool alone = group.size() == 1;
  Problem problem{severity, "", FormatTrialCommand("explain", first.spec), {}};
  for (const TrialView* trial : group) problem.trials.push_back(trial->spec.id);
  problem.what = fmt::format("{} {} {}", alone ? FormatTrialName(first.spec) : FormatTrialCount(std::ssize(group)),
                             alone ? one : several, GetFailureName(first.failure));
  if (!first.detail.empty())
    problem.what +=
        " (" + (alone ? ShortenDetail(first.detail, columns) : CutEnd(FindFirstSentence(first.detail), columns)) + ")";
  if (!alone) problem.what += ", first " + FormatTrialName(first.spec);
  return problem;
}

Problem DescribeFailure(const TrialGroup& group, std::size_t columns) {
  const std::uint32_t attempts = group.front()->attempts;
  return MakeProblem(group, columns, 90,
                     "failed:", fmt::format("failed after {} {}:", attempts, attempts == 1 ? "attempt" : "attempts"));
}

Problem DescribeRetries(const TrialGroup& group, std::size_t columns) {
  const std::uint32_t attempts = group.front()->attempts;
  return MakeProblem(group, columns, 40, "were tried already, last failure",
                     fmt::format("was tried {} {}, last failure", attempts, attempts == 1 ? "time" : "times"));
}

// Worst of all: a number was printed that is not true.
Problem DescribeRefuted(const ResultsView& view, const TrialView& trial) {
  Problem problem{100, "", FormatTrialCommand("show", trial.spec), {trial.spec.id}};
  for (const TrialView& student : view.trials)
    if (student.refuted_teacher && student.spec.parent == trial.spec.id) problem.trials.push_back(student.spec.id);
  const std::size_t students = problem.trials.size() - 1;
  problem.what = fmt::format("a proven claim of {} is refuted by {}", FormatTrialName(trial.spec),
                             fmt::join(trial.refuted, "; and by "));
  if (students > 0)
    problem.what += fmt::format("; {} {} on it", students, students == 1 ? "student rests" : "students rest");
  return problem;
}

// As bad as that, as far as anybody knows.
Problem DescribeUnknownAudit(const TrialView& trial) {
  return {100,
          fmt::format("nothing is claimed of {}, since nobody can say what audits found of it: {}",
                      FormatTrialName(trial.spec), trial.audit_unknown),
          FormatTrialCommand("show", trial.spec),
          {trial.spec.id}};
}

void AddTogether(const ResultsView& view, TrialState state, int severity, const std::string& what,
                 const std::string& remedy, std::vector<Problem>& problems) {
  Problem problem{severity, "", remedy, {}};
  for (const TrialView& trial : view.trials)
    if (trial.state == state) problem.trials.push_back(trial.spec.id);
  if (problem.trials.empty()) return;
  problem.what = fmt::format("{} {} {}", problem.trials.size(), problem.trials.size() == 1 ? "trial" : "trials", what);
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
  const std::vector<DeviceView> devices = ListDevices(view);
  const int lost = CountIn(devices, DeviceState::lost);
  if (lost == 0) return;
  const auto first = std::find_if(devices.begin(), devices.end(),
                                  [](const DeviceView& device) { return device.state == DeviceState::lost; });
  problems.push_back({85,
                      fmt::format("{} of {} devices are lost, as nothing is heard of their agents; {} is the first",
                                  lost, devices.size(), FormatDevicePlace(*first)),
                      "look at that host; when it is gone, end the run and start it again",
                      {}});
}

void AddClock(const ResultsView& view, double clock, std::vector<Problem>& problems) {
  const double ahead = view.newest_event - clock;
  if (clock <= 0 || ahead < kClockToleranceSeconds) return;
  problems.push_back({50,
                      fmt::format("the newest event lies {} in the future of this machine's clock; times are told as "
                                  "of that event",
                                  FormatDuration(ahead)),
                      "set the clocks of the machines alike",
                      {}});
}

std::vector<Problem> ListTrialProblems(const ResultsView& view) {
  std::vector<Problem> problems;
  TrialGroup failed, retried;
  for (const TrialView& trial : view.trials) {
    if (!trial.refuted.empty()) problems.push_back(DescribeRefuted(view, trial));
    if (!trial.audit_unknown.empty()) problems.push_back(DescribeUnknownAudit(trial));
    if (trial.state == TrialState::failed)
      failed.push_back(&trial);
    else if (!IsFinal(trial.state) && trial.failure != FailureKind::none && trial.failure != FailureKind::stopped)
      retried.push_back(&trial);
  }
  const std::vector<TrialGroup> failures = GroupFailures(failed), retries = GroupFailures(retried);
  for (const TrialGroup& group : failures) problems.push_back(DescribeFailure(group, DetailColumns(failures)));
  for (const TrialGroup& group : retries) problems.push_back(DescribeRetries(group, DetailColumns(retries)));
  AddTogether(view, TrialState::parent_failed, 80, "cannot run because their teacher failed",
              "see the teacher's failure", problems);
  AddTogether(view, TrialState::cancelled, 20, "cancelled", "", problems);
  AddQuota(view, problems);
  return problems;
}

std::vector<Problem> ListProblems(const ResultsView& view, const TrialsStatus& trials, double clock) {
  std::vector<Problem> problems;
  if (std::string lost = DescribeLostJournal(view); !lost.empty())
    problems.push_back({100, std::move(lost), "restore journal.log from a copy", {}});
  if (!view.ledger_lost.empty())
    problems.push_back({100, view.ledger_lost, AddResultsOption("retort repair", view.directory), {}});
  for (Problem problem : trials.problems) {
    if (IsCommand(problem.remedy)) problem.remedy = AddResultsOption(problem.remedy, view.directory);
    problems.push_back(std::move(problem));
  }
  for (const DataSpending& spent : trials.spending)
    if (spent.budget && spent.root_epsilon > 0.9 * spent.budget->epsilon)
      problems.push_back(
          {70,
           fmt::format("data set {} has spent ε = {} of its budget of {} (example, its place filled or empty, δ = {})",
                       spent.data, FormatEpsilon(spent.root_epsilon), FormatEpsilon(spent.budget->epsilon),
                       FormatShortNumber(spent.delta)),
           spent.budget_of.empty() ? "raise [data." + spent.data + "] budget, or ask for fewer trials"
                                   : "raise the budget in " + spent.budget_of + ", or ask for fewer trials",
           {}});
  for (const std::string& drained : view.drained)
    problems.push_back({75, drained, "look at that host; a new run uses the slot again", {}});
  AddLostDevices(view, problems);
  AddClock(view, clock, problems);
  if (!trials.finished && !view.running)
    problems.push_back(
        {60, "nobody is running this sweep, and it is not finished", RunAgainCommand(view.directory), {}});
  std::stable_sort(problems.begin(), problems.end(),
                   [](const Problem& a, const Problem& b) { return a.severity > b.severity; });
  return problems;
}

// Of data sets that are planned or were charged.
void AddRoot(const RootCharges& root, const std::set<std::string>& digests, PrivacyCharges& charges,
             SpendingFacts& facts) {
  ShareCharges(root.shared, {digests.begin(), digests.end()}, charges);
  OtherCharges beside = CollectOtherCharges(root, digests);
  facts.elsewhere = std::move(beside.charged);
  facts.other_budgets = std::move(beside.budgets);
  facts.root = root.directory;
  facts.root_trouble = root.trouble;
}

std::vector<DataSpending> ComputeShownSpending(const ResultsView& view, const RootCharges* root) {
  PrivacyCharges charges = CollectCharges(view);
  for (const auto& [digest, unpacked] : view.unpacked) charges.Unpack(digest, unpacked);
  SpendingFacts facts;
  for (const std::vector<TrialView>* trials : {&view.trials, &view.unplanned})
    for (const TrialView& trial : *trials) facts.trials.push_back({&trial.spec, trial.planned, FindAuditVoid(trial)});
  facts.results = view.directory;
  facts.charges = &charges;
  facts.counts = MakeCountRule(view, charges);
  facts.ledger_lost = view.ledger_lost;
  if (root != nullptr) AddRoot(*root, ListDataDigests(view), charges, facts);
  return SelectShownSpending(orchestrator::ComputeSpending(facts));
}

std::optional<SweepEstimate> EstimateRemaining(const ResultsView& view, const CostModel& costs, double now) {
  std::unordered_map<TrialId, const TrialSpec*> specs;
  std::vector<PendingTrial> left;
  for (const TrialView& trial : view.trials) {
    specs.emplace(trial.spec.id, &trial.spec);
    if (IsFinal(trial.state)) continue;
    const auto teacher = trial.spec.parent ? specs.find(*trial.spec.parent) : specs.end();
    left.push_back(MakePendingTrial(trial, teacher == specs.end() ? nullptr : teacher->second, now));
  }
  return EstimateSweep(costs, left, CountSlots(view), static_cast<int>(view.quota.concurrency));
}

}  // namespace

std::string DescribeLostJournal(const ResultsView& view) {
  if (!view.trials.empty() || view.ledger.empty()) return "";
  return fmt::format("journal.log {}, and ledger.log holds {} {} of trials that it must have known",
                     view.sweep.empty() ? "is empty" : "ends before its plan", view.ledger.size(),
                     view.ledger.size() == 1 ? "reservation" : "reservations");
}

std::vector<std::pair<std::string, int>> CountStates(const ResultsView& view) {
  std::vector<std::pair<std::string, int>> counts;
  for (const TrialState state : kStates) {
    const auto count =
        std::count_if(view.trials.begin(), view.trials.end(), [&](const TrialView& t) { return t.state == state; });
    if (count > 0) counts.emplace_back(GetStateName(state), static_cast<int>(count));
  }
  return counts;
}

int CountSlots(const ResultsView& view) {
  if (const int live = view.running ? view.inventory.LiveSlots() : 0; live > 0) return live;
  return std::max({view.terms.slots, view.usage.peak_devices(), 1});
}

TrialsStatus ComputeTrialsStatus(const ResultsView& view, const CostModel& costs, double now_unix_seconds,
                                 const RootCharges* root) {
  TrialsStatus trials;
  trials.trials = static_cast<int>(view.trials.size());
  const bool planned = !view.trials.empty();  // false where the journal ends before its plan
  trials.finished = planned && std::all_of(view.trials.begin(), view.trials.end(),
                                           [](const TrialView& t) { return IsFinal(t.state); });
  trials.search = FindStanding(view);
  if (trials.search && trials.search->IsOpen()) trials.finished = false;
  trials.counts = CountStates(view);
  trials.problems = ListTrialProblems(view);
  for (const std::string& copy : root == nullptr ? std::vector<std::string>() : root->copies)
    trials.problems.push_back({72, copy, "keep one of them", {}});
  for (const std::string& unknown : root == nullptr ? std::vector<std::string>() : root->uncounted)
    trials.problems.push_back({72, unknown, "let this user read it, or move it out of the results root", {}});
  trials.spending = ComputeShownSpending(view, root);
  if (planned && !trials.finished) trials.remaining = EstimateRemaining(view, costs, ChooseNow(view, now_unix_seconds));
  return trials;
}

SweepStatus ComputeStatus(const ResultsView& view, const CostModel& costs, double now_unix_seconds,
                          const RootCharges* root) {
  return MakeSweepStatus(view, ComputeTrialsStatus(view, costs, now_unix_seconds, root), costs, now_unix_seconds);
}

SweepStatus MakeSweepStatus(const ResultsView& view, TrialsStatus trials, const CostModel& costs,
                            double now_unix_seconds) {
  SweepStatus status;
  status.view = &view;
  status.trials = trials.trials;
  status.finished = trials.finished;
  status.problems = ListProblems(view, trials, now_unix_seconds);
  status.counts = std::move(trials.counts);
  status.spending = std::move(trials.spending);
  status.remaining = trials.remaining;
  status.search = std::move(trials.search);
  status.devices = ListDevices(view);
  status.costs = costs;
  const bool explained = !status.problems.empty() && IsCommand(status.problems.front().remedy);
  if (!DescribeLostJournal(view).empty())
    status.next = status.problems.front().remedy;
  else if (status.finished && explained)
    status.next = status.problems.front().remedy;
  else if (status.finished)
    status.next = AddResultsOption("retort list", view.directory);
  else if (view.running)
    status.next = AddResultsOption("retort status --watch", view.directory);
  else
    status.next = RunAgainCommand(view.directory);
  return status;
}

}  // namespace retort::orchestrator
