// The page around the parts of a report.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "orchestrator/cli/printed_command.h"
#include "orchestrator/cli/report_sources.h"
#include "orchestrator/cli/report_style.h"
#include "orchestrator/cli/version.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::size_t kTroubles = 30;

void WriteHead(Html& html, const std::string& title) {
  const HtmlScope head(html, "head");
  html.Void("meta", {{"charset", "utf-8"}});
  html.Void("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", ReportPolicy()}});
  html.Void("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  html.Void("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
  html.Void("meta", {{"name", "referrer"}, {"content", "no-referrer"}});
  html.Void("meta", {{"name", "generator"}, {"content", "retort " + VersionText()}});
  html.Element("title", title);
  html.Line();
  html.Open("style");
  html.Raw(ReportStyle());
  html.Close();
}

std::string StateWords(const ReportSources& sources) {
  std::string words = sources.view.running      ? "running: this is what has ended so far"
                      : sources.status.finished ? "finished"
                                                : "stopped before its end";
  words += fmt::format("; {} {}", sources.view.trials.size(),
                       sources.view.trials.size() == 1 ? "trial" : "trials");
  for (const auto& [state, count] : sources.status.counts) words += fmt::format(", {} {}", count, state);
  return words + ".";
}

void WriteTime(Html& html, double unix_seconds) {
  const std::tm time = fmt::gmtime(static_cast<std::time_t>(unix_seconds));
  html.Element("time", fmt::format("{:%Y-%m-%d %H:%M} UTC", time),
               {{"datetime", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", time)}});
}

void WriteHeader(Html& html, const ReportSources& sources, const std::string& title) {
  const HtmlScope header(html, "header");
  html.Element("h1", title);
  html.Paragraph("In " + sources.view.directory + ", " + StateWords(sources));
  const HtmlScope made(html, "p", {{"class", "faint"}});
  html.Text("Made ");
  WriteTime(html, sources.generated);
  html.Text(" by retort " + VersionText() + ".");
}

void WriteTroubles(Html& html, const std::vector<std::string>& troubles, const std::string& directory) {
  if (troubles.empty()) return;
  const HtmlScope alert(html, "div", {{"class", "alert"}, {"role", "alert"}});
  html.Paragraph("Some of what is stored could not be read, and is missing on this page:");
  const HtmlScope list(html, "ul");
  for (std::size_t i = 0; i < std::min(troubles.size(), kTroubles); ++i) html.Prose("li", troubles[i]);
  if (troubles.size() > kTroubles)
    html.Prose("li", fmt::format("and {} more; `{}` names all", troubles.size() - kTroubles,
                                 AtResults("retort verify", directory)));
}

void WriteContents(Html& html, bool figures) {
  const HtmlScope nav(html, "nav", {{"aria-label", "Contents"}});
  const HtmlScope list(html, "ul");
  for (const char* name :
       {"Results", "Figures", "Privacy", "Failures", "Timings", "Provenance", "Commands", "Trials"}) {
    std::string id(name);
    if (id == "Figures" && !figures) continue;
    id.front() = static_cast<char>(id.front() - 'A' + 'a');
    const HtmlScope item(html, "li");
    html.Element("a", name, {{"href", "#" + id}});
  }
}

// The parts, which find out on their way what cannot be read.
std::string MainOf(const ReportSources& sources, ReportPage& page) {
  Html html;
  std::size_t picture_bytes = 0;
  {
    const HtmlScope main(html, "main");
    WriteTables(html, sources);
    WriteFigures(html, sources, picture_bytes);
    WritePrivacy(html, sources);
    WriteFailures(html, sources);
    WriteTimings(html, sources);
    WriteProvenance(html, sources);
    WriteCommands(html, sources);
    page.detailed = WriteTrials(html, sources, picture_bytes, page.troubles);
  }
  for (const auto& [trial, what] : sources.attempts.unreadable()) page.troubles.push_back(what);
  return html.Take();
}

}  // namespace

ReportPage MakeReport(const ReportSources& sources) {
  ReportPage page;
  page.troubles = sources.troubles;
  const std::string main = MainOf(sources, page);
  const std::string title = "Retort report of " + sources.view.sweep;
  page.left_out = sources.view.trials.size() - page.detailed;
  Html html;
  html.Raw("<!doctype html>\n");
  {
    const HtmlScope root(html, "html", {{"lang", "en"}});
    WriteHead(html, title);
    const HtmlScope body(html, "body");
    html.Element("a", "Skip to the results", {{"class", "skip"}, {"href", "#results"}});
    WriteHeader(html, sources, title);
    WriteTroubles(html, page.troubles, sources.view.directory);
    WriteContents(html, !sources.plan.trials.empty());
    html.Raw(main);
    html.Open("script");
    html.Raw(ReportScript());
    html.Close();
  }
  page.html = html.Take();
  return page;
}

}  // namespace retort::orchestrator::cli
