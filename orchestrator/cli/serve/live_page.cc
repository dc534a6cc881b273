#include "orchestrator/cli/serve/live_page.h"

#include <string_view>

#include "orchestrator/cli/render/html.h"
#include "orchestrator/cli/render/report_page.h"
#include "orchestrator/cli/render/version.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::string_view kLiveStyle = R"css(
#live > div > h2:first-child { margin-top: 1.4rem; }
.link { font-size: 0.9rem; }
.link::before { content: ""; display: inline-block; width: 0.7em; height: 0.7em; margin-right: 0.5em;
  border-radius: 50%; background: var(--line); }
.link[data-state="live"]::before { background: #2f8f4e; }
.link[data-state="lost"] { background: var(--paper-alert); color: var(--ink-alert); padding: 0.3rem 0.6rem; }
.link[data-state="lost"]::before { background: var(--ink-alert); }
progress { display: block; width: 100%; max-width: 40rem; height: 0.8rem; accent-color: var(--ink-link); }
ol.problems { padding-left: 1.6rem; max-width: none; }
ol.problems li { margin: 0.5rem 0; overflow-wrap: anywhere; }
ol.problems li:first-child { font-weight: 600; }
ol.problems li:first-child .faint { font-weight: 400; }
#live code { overflow-wrap: anywhere; }
#live h3 { margin-bottom: 0; }
#live h3 + p { margin-top: 0.1rem; }
#live .chart svg { overflow: visible; }
#report:empty::before { content: "The report is being made."; color: var(--ink-faint); }
@media (min-width: 60rem) {
  #live .charts { grid-template-columns: repeat(4, minmax(0, 1fr)); }
}
@media (max-width: 40rem) {
  #live .charts { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .chart text { font-size: 13px; }
}
@media print { .link { display: none; } }
)css";

// Parts that came are put in, those that are gone are taken out, and nothing else is touched: what is open stays open,
// and where somebody reads stays where it is.
constexpr std::string_view kLiveScript = R"js(
"use strict";
(() => {
  const live = document.getElementById("live");
  const report = document.getElementById("report");
  const link = document.getElementById("link");
  const query = "?token=" + encodeURIComponent(new URLSearchParams(location.search).get("token") ?? "");
  const title = document.title;
  let shown = Number(document.body.dataset.report);
  const say = (state, text) => {
    if (link.textContent !== text) link.textContent = text;
    link.dataset.state = state;
  };
  const apply = (event) => {
    let place = live.firstElementChild;
    for (const key of event.order) {
      const id = "part-" + key;
      let part = document.getElementById(id);
      if (!part) {
        part = document.createElement("div");
        part.id = id;
      }
      if (key in event.parts) part.innerHTML = event.parts[key];
      if (part === place) place = place.nextElementSibling;
      else live.insertBefore(part, place);
    }
    while (place) {
      const next = place.nextElementSibling;
      place.remove();
      place = next;
    }
    document.title = (event.problems > 0 ? "(" + event.problems + ") " : "") + title;
  };
  const openParts = () => [...report.querySelectorAll("details[open] > [id]")].map((inside) => inside.id);
  const fetchReport = async (number) => {
    if (number === shown) return;
    const answer = await fetch("report" + query, {cache: "no-store"});
    if (!answer.ok) return;
    const open = openParts();
    report.innerHTML = await answer.text();
    shown = number;
    for (const id of open) {
      const details = document.getElementById(id)?.parentElement;
      if (details) details.open = true;
    }
    document.dispatchEvent(new Event("report-changed"));
  };
  let fetching = Promise.resolve();
  const events = new EventSource("events" + query);
  events.addEventListener("state", (message) => {
    const event = JSON.parse(message.data);
    apply(event);
    const words = event.unreadable ? "Connected." : event.running ? "Live." : "Connected; nobody runs this sweep.";
    say("live", words + " Last change " + new Date().toLocaleTimeString() + ".");
    fetching = fetching.then(() => fetchReport(event.report)).catch(() => {});
  });
  events.addEventListener("error", () => {
    say("lost", events.readyState === EventSource.CLOSED
      ? "The server of this page has ended: what stands here is as old. Start `retort serve` again and open its new address."
      : "The connection is lost: what stands here is as old. Trying again.");
  });
})();
)js";

void WriteHead(Html& html, const std::string& title) {
  const HtmlScope head(html, "head");
  html.Void("meta", {{"charset", "utf-8"}});
  html.Void("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
  html.Void("meta", {{"name", "color-scheme"}, {"content", "light dark"}});
  html.Void("meta", {{"name", "generator"}, {"content", "retort " + FormatVersion()}});
  html.Void("link", {{"rel", "icon"}, {"href", "data:,"}});
  html.Element("title", title);
  html.Line();
  for (const std::string_view style : {ReportStyle(), kLiveStyle}) {
    const HtmlScope element(html, "style");
    html.Raw(style);
  }
}

void WriteBody(Html& html, const LiveState& state, const std::string& title, const std::string& report) {
  {
    const HtmlScope header(html, "header");
    html.Element("h1", title);
    html.Element("p", "As it was when the page was loaded.",
                 {{"id", "link"}, {"class", "link"}, {"role", "status"}, {"data-state", "still"}});
  }
  {
    const HtmlScope live(html, "div", {{"id", "live"}});
    for (const LivePart& part : state.parts) {
      html.Open("div", {{"id", "part-" + part.key}});
      html.Raw(part.html);
      html.Close();
    }
  }
  // Nothing stands between, so that CSS knows an empty one.
  html.Open("div", {{"id", "report"}});
  html.Raw(report);
  html.Close();
  html.Line();
  for (const std::string_view script : {ReportScript(), kLiveScript}) {
    const HtmlScope element(html, "script");
    html.Raw(script);
  }
}

}  // namespace

std::string MakeLivePage(const LiveState& state, const std::string& report, std::uint64_t reports) {
  const auto sweep = state.summary.find("sweep");
  const std::string title =
      "Retort sweep" + (sweep == state.summary.end() ? std::string() : " " + sweep->get<std::string>());
  Html html;
  html.Raw("<!doctype html>\n");
  {
    const HtmlScope root(html, "html", {{"lang", "en"}});
    WriteHead(html, title);
    const HtmlScope body(html, "body", {{"data-report", std::to_string(reports)}});
    html.Element("a", "Skip to the results", {{"class", "skip"}, {"href", "#results"}});
    WriteBody(html, state, title, report);
  }
  return html.Take();
}

std::string FormatLivePolicy() {
  return "default-src 'none'; img-src data:; connect-src 'self'; style-src " + HashSource(ReportStyle()) + " " +
         HashSource(kLiveStyle) + "; script-src " + HashSource(ReportScript()) + " " + HashSource(kLiveScript) +
         "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

}  // namespace retort::orchestrator::cli
