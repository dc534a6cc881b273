// What went wrong, worst first, with the command that says more, and the trials that have no result.
#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

#include "experiments/spec/printable.h"
#include "orchestrator/cli/failure_groups.h"
#include "orchestrator/cli/html_table.h"
#include "orchestrator/cli/number_text.h"
#include "orchestrator/cli/printed_command.h"
#include "orchestrator/cli/report_sources.h"
#include "orchestrator/cli/trial_json.h"
#include "orchestrator/cli/trial_names.h"
#include "orchestrator/screen_text.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::size_t kProblems = 40;
constexpr std::size_t kTrials = 200, kOfOneCause = 40;  // that the table has lines for
constexpr std::size_t kDetailColumns = 300;             // `retort explain` has the whole

bool HasFailed(const TrialView& trial) {
  return !FailureWord(trial).empty() || (IsFinal(trial.state) && trial.state != TrialState::succeeded);
}

TrialGroup FailedTrials(const ResultsView& view) {
  TrialGroup failed;
  for (const TrialView& trial : view.trials)
    if (HasFailed(trial)) failed.push_back(&trial);
  return failed;
}

// The first `most` of trials that have their cause in common: it stands once.
HtmlGroup LinesOf(const TrialGroup& group, std::size_t most) {
  const std::size_t count = std::min(group.size(), most);
  HtmlGroup lines;
  for (std::size_t i = 0; i < count; ++i) {
    const TrialView& trial = *group[i];
    HtmlCell name{ShownName(trial.spec)};
    name.header = true;
    lines.push_back({name,
                     {std::string(StateName(trial.state))},
                     {std::to_string(trial.attempts), std::to_string(trial.attempts)}});
  }
  const std::string failure = FailureWord(*group.front());
  HtmlCell word{failure.empty() ? "–" : failure};
  HtmlCell detail{group.front()->detail.empty() ? "–" : CutEnd(OneLine(group.front()->detail), kDetailColumns)};
  detail.css_class = "words";
  word.lines = detail.lines = count;
  lines.front().push_back(word);
  lines.front().push_back(detail);
  return lines;
}

// Returns how many trials it has. A cause that many share leaves room for the others.
std::size_t FillTable(const std::vector<TrialGroup>& groups, HtmlTable& table) {
  std::size_t shown = 0;
  for (const TrialGroup& group : groups) {
    if (shown == kTrials) break;
    table.groups.push_back(LinesOf(group, std::min(kOfOneCause, kTrials - shown)));
    shown += table.groups.back().size();
  }
  return shown;
}

// One for each state that occurs.
std::string ListCommands(const TrialGroup& trials, const std::string& directory) {
  std::set<std::string_view> states;
  for (const TrialView* trial : trials) states.insert(StateName(trial->state));
  std::string commands;
  for (const std::string_view state : states)
    commands += (commands.empty() ? "`" : ", `") +
                AtResults("retort list --where state=" + std::string(state), directory) + "`";
  return commands;
}

void WriteFailedTrials(Html& html, const ResultsView& view) {
  const TrialGroup failed = FailedTrials(view);
  if (failed.empty()) return;
  HtmlTable table;
  table.caption = "Trials that failed, were refuted, or were left out";
  table.columns = {{"trial", HtmlSort::text},
                   {"state", HtmlSort::text},
                   {"attempts", HtmlSort::number, true},
                   {"failure", HtmlSort::text},
                   {"detail"}};
  const std::vector<TrialGroup> groups = GroupFailures(failed);
  const std::size_t shown = FillTable(groups, table);
  WriteTable(html, table);
  if (shown < failed.size())
    html.Paragraph(CountText(static_cast<std::int64_t>(failed.size() - shown)) + " more: " +
                   ListCommands(failed, view.directory) + " lists all.");
}

void WriteProblems(Html& html, const std::vector<Problem>& problems) {
  const HtmlScope list(html, "ul");
  for (std::size_t i = 0; i < std::min(problems.size(), kProblems); ++i) {
    const std::string& remedy = problems[i].remedy;
    const bool command = remedy.starts_with("retort ");
    html.Prose("li", problems[i].what + "." +
                         (remedy.empty() ? ""
                          : command      ? " `" + remedy + "`"
                                         : " Remedy: " + remedy + "."));
  }
}

}  // namespace

void WriteFailures(Html& html, const ReportSources& sources) {
  const HtmlScope section(html, "section", {{"aria-labelledby", "failures"}});
  html.Element("h2", "Failures", {{"id", "failures"}});
  const std::vector<Problem>& problems = sources.status.problems;
  if (problems.empty() && FailedTrials(sources.view).empty()) return html.Paragraph("None.");
  WriteProblems(html, problems);
  if (problems.size() > kProblems)
    html.Paragraph(std::to_string(problems.size() - kProblems) + " more: `" +
                   AtResults("retort status --json", sources.view.directory) + "` lists all.");
  WriteFailedTrials(html, sources.view);
}

}  // namespace retort::orchestrator::cli
