#include "orchestrator/cli/render/report_page.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "experiments/base/digests.h"
#include "orchestrator/cli/render/html.h"
#include "orchestrator/cli/render/report_tables.h"
#include "orchestrator/cli/render/report_trials.h"
#include "orchestrator/cli/render/version.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::string_view kStyle = R"css(
:root {
  color-scheme: light dark;
  --paper: #ffffff; --paper-shade: #f2f2ef; --paper-alert: #fdeee9;
  --paper-heat-1: #e6f0fb; --paper-heat-2: #d3e5f8; --paper-heat-3: #bfd9f4; --paper-heat-4: #aaccef;
  --ink: #1b1b1b; --ink-faint: #474747; --ink-link: #0a468c; --ink-alert: #8a1c05;
  --line: #b9b9b4;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15171a; --paper-shade: #1f2328; --paper-alert: #3a1c14;
    --paper-heat-1: #182838; --paper-heat-2: #1a3148; --paper-heat-3: #1c3a58; --paper-heat-4: #1e4368;
    --ink: #eceae7; --ink-faint: #c3c3c0; --ink-link: #a5cbf7; --ink-alert: #ffbfae;
    --line: #4a4f56;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1rem; max-width: 82rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0.5rem 0; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 0.6rem; padding-bottom: 0.2rem; border-bottom: 2px solid var(--line); }
h3 { font-size: 1.05rem; margin: 1.4rem 0 0.4rem; }
h4 { font-size: 1rem; margin: 1rem 0 0.3rem; }
h1, h2, h3, h4, p, li, dd, summary { overflow-wrap: anywhere; }
p, ul, ol, dl { max-width: 75ch; margin: 0.5rem 0; }
a { color: var(--ink-link); }
:focus-visible { outline: 3px solid var(--ink-link); outline-offset: 2px; }
.skip { position: absolute; left: -100vw; padding: 0.5rem 1rem; background: var(--paper); }
.skip:focus { left: 0.5rem; top: 0.5rem; z-index: 1; }
.faint { color: var(--ink-faint); }
.alert { background: var(--paper-alert); color: var(--ink-alert); border-left: 4px solid var(--ink-alert);
  padding: 0.5rem 1rem; }
.alert a { color: var(--ink-alert); }
nav ul { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; list-style: none; padding: 0; max-width: none; }
nav a { display: inline-block; padding: 0.25rem 0; }
.box { overflow-x: auto; margin: 0.8rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.9rem; }
caption { text-align: left; font-weight: 600; padding: 0.3rem 0; max-width: calc(100vw - 3rem); }
.below { display: block; font-weight: 400; font-size: 0.85em; color: var(--ink-faint); }
.narrow { display: none; }
th, td { padding: 0.3rem 0.7rem 0.3rem 0; text-align: left; vertical-align: top; }
thead th { border-bottom: 2px solid var(--line); white-space: nowrap; vertical-align: bottom; }
tbody { border-bottom: 1px solid var(--line); }
tbody tr:only-child > *, tbody tr + tr > * { padding-top: 0.2rem; }
tbody th { font-weight: 600; }
td, tbody th { white-space: nowrap; }
.words { white-space: normal; min-width: 18rem; overflow-wrap: anywhere; }
.number { text-align: right; }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0.2rem 0; cursor: pointer; }
th button:enabled { text-decoration: underline dotted; text-underline-offset: 0.2em; }
th button:disabled { cursor: auto; color: inherit; }
th[aria-sort="ascending"] button::after { content: " \2191"; }
th[aria-sort="descending"] button::after { content: " \2193"; }
.lines tbody tr { border-bottom: 1px solid var(--line); }
.confusion td { text-align: right; padding: 0.2rem 0.45rem; min-width: 2.6rem; }
.confusion th { padding: 0.2rem 0.45rem; text-align: right; font-weight: 400; color: var(--ink-faint); }
.confusion .true { font-weight: 700; }
.heat-1 { background: var(--paper-heat-1); } .heat-2 { background: var(--paper-heat-2); }
.heat-3 { background: var(--paper-heat-3); } .heat-4 { background: var(--paper-heat-4); }
details { border: 1px solid var(--line); border-radius: 4px; margin: 0.5rem 0; padding: 0 0.8rem; }
details[open] { padding-bottom: 0.6rem; }
summary { cursor: pointer; padding: 0.45rem 0; }
pre { overflow-x: auto; background: var(--paper-shade); padding: 0.7rem; font-size: 0.85rem; line-height: 1.4; }
code, pre { font-family: ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
figure { margin: 0.8rem 0; }
figcaption { color: var(--ink-faint); font-size: 0.9rem; max-width: 75ch; overflow-wrap: anywhere; }
img { max-width: 100%; height: auto; background: #ffffff; }
img.pixels { image-rendering: pixelated; width: min(100%, 24rem); }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: 0.1rem 1rem; max-width: none; }
dl.facts dt { color: var(--ink-faint); }
dl.facts dd { margin: 0; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 0.5rem 1.2rem; }
.chart svg { display: block; width: 100%; height: auto; color: var(--ink-link); }
.chart text { fill: var(--ink-faint); font-size: 11px; font-family: inherit; }
.chart .frame { stroke: var(--line); fill: none; }
.chart .curve { stroke: currentColor; stroke-width: 1.6; fill: none; stroke-linejoin: round; }
.chart .dot { fill: currentColor; }
ol.notes { font-size: 0.9rem; padding-left: 2rem; }
@media (max-width: 40rem) {
  body { padding: 0.7rem; }
  .wide { display: none; }
  .narrow { display: block; white-space: normal; width: 6rem; }
  table { font-size: 0.82rem; }
  th, td { padding-right: 0.45rem; }
  dl.facts { grid-template-columns: 1fr; }
  dl.facts dd { margin: 0 0 0.4rem 1rem; }
}
@media print {
  :root { color-scheme: light;
    --paper: #ffffff; --paper-shade: #f2f2ef; --paper-alert: #fdeee9;
    --paper-heat-1: #e6f0fb; --paper-heat-2: #d3e5f8; --paper-heat-3: #bfd9f4; --paper-heat-4: #aaccef;
    --ink: #1b1b1b; --ink-faint: #474747; --ink-link: #0a468c; --ink-alert: #8a1c05; --line: #b9b9b4; }
  @page { margin: 14mm; }
  th button { display: contents; }
  html { font-size: 9.5pt; }
  body { max-width: none; padding: 0; }
  nav, .skip { display: none; }
  caption { max-width: none; }
  .box, pre { overflow: visible; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  table { font-size: 7.5pt; }
  td, tbody th, thead th { white-space: normal; padding-right: 0.4rem; }
  .words { min-width: 0; }
  td.number { white-space: nowrap; }
  thead { display: table-header-group; }
  tr, figure, .alert { break-inside: avoid; }
  h2, h3, h4, summary { break-after: avoid; }
  details { border: 0; padding: 0; }
  details::details-content { content-visibility: visible; }
  .heat-1, .heat-2, .heat-3, .heat-4, pre, .alert { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)css";

constexpr std::string_view kScript = R"js(
"use strict";
(() => {
  const compare = (a, b, numbers) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    return numbers ? Number(a) - Number(b) : a.localeCompare(b, undefined, {numeric: true});
  };
  const sort = (table, head, column) => {
    const down = head.getAttribute("aria-sort") === "ascending";
    const numbers = head.dataset.sort === "number";
    const bodies = [...table.tBodies];
    const groups = bodies.length > 1 ? bodies : [...bodies[0].rows];
    const keyOf = (group) => {
      const cell = (group.rows ? group.rows[0] : group).cells[column];
      return cell.dataset.value ?? cell.textContent.trim();
    };
    const keyed = groups.map((group) => [keyOf(group), group]);
    keyed.sort(([a], [b]) => (a === "" || b === "" || !down ? 1 : -1) * compare(a, b, numbers));
    const parent = groups[0].parentNode;
    for (const [, group] of keyed) parent.append(group);
    for (const other of table.tHead.rows[0].cells)
      if (other.dataset.sort) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
  };
  const wake = () => {
    for (const table of document.querySelectorAll("table.sortable"))
      [...table.tHead.rows[0].cells].forEach((head, column) => {
        const button = head.querySelector("button");
        if (!button || !button.disabled) return;
        button.disabled = false;
        button.addEventListener("click", () => sort(table, head, column));
      });
  };
  wake();
  document.addEventListener("report-changed", wake);
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const details of folded) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of folded) details.open = false;
  });
})();
)js";

}  // namespace

std::string HashSource(std::string_view text) {
  const auto hash = ComputeSha256(text);
  return "'sha256-" + FormatBase64({reinterpret_cast<const char*>(hash.data()), hash.size()}) + "'";
}

std::string_view ReportStyle() { return kStyle; }
std::string_view ReportScript() { return kScript; }

std::string ReportPolicy() {
  return "default-src 'none'; img-src data:; style-src " + HashSource(kStyle) + "; script-src " + HashSource(kScript) +
         "; base-uri 'none'; form-action 'none'";
}

// The page around the parts of a report.
namespace {

constexpr std::size_t kTroubles = 30;

void WriteHead(Html& html, const std::string& title) {
  const HtmlScope head(html, "head");
  html.Void("meta", {{"charset", "utf-8"}});
  html.Void("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", ReportPolicy()}});
  html.Void("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  html.Void("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
  html.Void("meta", {{"name", "referrer"}, {"content", "no-referrer"}});
  html.Void("meta", {{"name", "generator"}, {"content", "retort " + FormatVersion()}});
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
  words += fmt::format("; {} {}", sources.view.trials.size(), sources.view.trials.size() == 1 ? "trial" : "trials");
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
  html.Text(" by retort " + FormatVersion() + ".");
}

void WriteTroubles(Html& html, const std::vector<std::string>& troubles, const std::string& directory) {
  if (troubles.empty()) return;
  const HtmlScope alert(html, "div", {{"class", "alert"}, {"role", "alert"}});
  html.Paragraph("Some of what is stored could not be read, and is missing on this page:");
  const HtmlScope list(html, "ul");
  for (std::size_t i = 0; i < std::min(troubles.size(), kTroubles); ++i) html.Prose("li", troubles[i]);
  if (troubles.size() > kTroubles)
    html.Prose("li", fmt::format("and {} more; `{}` names all", troubles.size() - kTroubles,
                                 AddResultsOption("retort verify", directory)));
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
std::string MakeMain(const ReportSources& sources, ReportPage& page) {
  Html html;
  std::size_t drawn_bytes = 0;
  {
    const HtmlScope main(html, "main");
    WriteTables(html, sources);
    WriteFigures(html, sources, drawn_bytes);
    WritePrivacy(html, sources);
    WriteFailures(html, sources);
    WriteTimings(html, sources);
    WriteProvenance(html, sources);
    WriteCommands(html, sources);
    page.detailed = WriteTrials(html, sources, drawn_bytes, page.troubles);
  }
  for (const auto& [trial, what] : sources.attempts.unreadable()) page.troubles.push_back(what);
  return html.Take();
}

}  // namespace

ReportPage MakeReportBody(const ReportSources& sources) {
  ReportPage page;
  page.troubles = sources.troubles;
  const std::string main = MakeMain(sources, page);
  page.left_out = sources.view.trials.size() - page.detailed;
  Html html;
  WriteTroubles(html, page.troubles, sources.view.directory);
  WriteContents(html, !sources.plan.trials.empty());
  html.Raw(main);
  page.html = html.Take();
  return page;
}

ReportPage MakeReport(const ReportSources& sources) {
  ReportPage page = MakeReportBody(sources);
  const std::string title = "Retort report of " + sources.view.sweep;
  Html html;
  html.Raw("<!doctype html>\n");
  {
    const HtmlScope root(html, "html", {{"lang", "en"}});
    WriteHead(html, title);
    const HtmlScope body(html, "body");
    html.Element("a", "Skip to the results", {{"class", "skip"}, {"href", "#results"}});
    WriteHeader(html, sources, title);
    html.Raw(page.html);
    html.Open("script");
    html.Raw(ReportScript());
    html.Close();
  }
  page.html = html.Take();
  return page;
}

}  // namespace retort::orchestrator::cli
