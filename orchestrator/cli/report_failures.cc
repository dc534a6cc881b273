// What went wrong, worst first, with the command that says more, and every trial that has no result.
#include <algorithm>

#include "orchestrator/cli/html_table.h"
#include "orchestrator/cli/report_sources.h"
#include "orchestrator/cli/shell_text.h"
#include "orchestrator/cli/trial_json.h"
#include "orchestrator/cli/trial_names.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::size_t kProblems = 40;

bool HasFailed(const TrialView& trial) {
  return !FailureWord(trial).empty() || (IsFinal(trial.state) && trial.state != TrialState::succeeded);
}

HtmlTable FailedTrials(const ResultsView& view) {
  HtmlTable table;
  table.caption = "Trials that failed, were refuted, or were left out";
  table.columns = {{"trial", HtmlSort::text},
                   {"state", HtmlSort::text},
                   {"attempts", HtmlSort::number, true},
                   {"failure", HtmlSort::text},
                   {"detail"}};
  for (const TrialView& trial : view.trials) {
    if (!HasFailed(trial)) continue;
    HtmlCell name{ShownName(trial.spec)};
    name.header = true;
    const std::string failure = FailureWord(trial);
    HtmlCell detail{trial.detail.empty() ? "–" : trial.detail};
    detail.css_class = "words";
    table.groups.push_back({{name,
                             {std::string(StateName(trial.state))},
                             {std::to_string(trial.attempts), std::to_string(trial.attempts)},
                             {failure.empty() ? "–" : failure},
                             detail}});
  }
  return table;
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
  const HtmlTable failed = FailedTrials(sources.view);
  const std::vector<Problem>& problems = sources.status.problems;
  if (problems.empty() && failed.groups.empty()) return html.Paragraph("None.");
  WriteProblems(html, problems);
  if (problems.size() > kProblems)
    html.Paragraph(std::to_string(problems.size() - kProblems) + " more: `retort status --json --results " +
                   ShellText(sources.view.directory) + "` lists all.");
  if (!failed.groups.empty()) WriteTable(html, failed);
}

}  // namespace retort::orchestrator::cli
