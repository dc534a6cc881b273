// Where the results come from, and the commands that make them, or this page, again.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "orchestrator/cli/html_table.h"
#include "orchestrator/cli/number_text.h"
#include "orchestrator/cli/report_sources.h"
#include "orchestrator/cli/shell_text.h"
#include "orchestrator/cli/version.h"

namespace retort::orchestrator::cli {
namespace {

constexpr std::size_t kMachines = 12;

// The provenance of rows as it is stored, with how many rows have it, the most frequent first.
std::vector<std::pair<std::string, int>> Origins(const ResultsView& view) {
  std::map<std::string, int> counts;
  for (const TrialView& trial : view.trials)
    if (trial.row && !trial.row->provenance_json.empty()) ++counts[trial.row->provenance_json];
  std::vector<std::pair<std::string, int>> origins(counts.begin(), counts.end());
  std::stable_sort(origins.begin(), origins.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return origins;
}

void WriteOrigin(Html& html, const std::string& provenance, int trials) {
  const nlohmann::ordered_json json = nlohmann::ordered_json::parse(provenance, nullptr, false);
  if (!json.is_object())
    return html.Paragraph(fmt::format("The provenance of {} trials cannot be read.", trials));
  const HtmlScope details(html, "details");
  const auto text = [&json](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string("–");
  };
  html.Element("summary",
               fmt::format("{} {}: retort {} ({}) on {}, {}", trials, trials == 1 ? "trial" : "trials",
                           text("version"), text("commit"), text("host"), text("machine")));
  const HtmlScope list(html, "dl", {{"class", "facts"}});
  for (const auto& [key, value] : json.items()) {
    html.Element("dt", key);
    html.Element("dd", value.is_string()
                           ? value.get<std::string>()
                           : value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    html.Line();
  }
}

HtmlTable DataTable(const SweepPlan& plan) {
  HtmlTable table;
  table.caption = "Data sets";
  table.columns = {{"name", HtmlSort::text},
                   {"reader"},
                   {"private examples", HtmlSort::number, true},
                   {"public", HtmlSort::number, true},
                   {"test", HtmlSort::number, true},
                   {"digest"},
                   {"path"}};
  for (const auto& data : plan.data) {
    HtmlCell name{data->name}, digest{data->digest.empty() ? "–" : data->digest}, path{data->path};
    name.header = true;
    digest.css_class = path.css_class = "words";
    HtmlLine line = {name, {data->reader}};
    for (const std::int64_t count :
         {data->PrivateExamples(), data->PublicExamples(), data->split.test.size()})
      line.push_back({CountText(count), std::to_string(count)});
    line.push_back(digest);
    line.push_back(path);
    table.groups.push_back({std::move(line)});
  }
  return table;
}

// Loaded teachers, each file once.
std::map<std::string, std::string> WeightsOf(const ResultsView& view) {
  std::map<std::string, std::string> weights;  // digest by path
  for (const TrialView& trial : view.trials) {
    const std::string& path = trial.spec.weights.empty() ? trial.spec.torchscript : trial.spec.weights;
    if (!path.empty()) weights[path] = trial.spec.weights_digest;
  }
  return weights;
}

std::string Command(const std::string& words, const ReportSources& sources, const std::string& options = "") {
  return "retort " + words + " " + ShellText(sources.plan.file) + " --results " +
         ShellText(sources.view.directory) + options + "\n";
}

}  // namespace

void WriteProvenance(Html& html, const ReportSources& sources) {
  const HtmlScope section(html, "section", {{"aria-labelledby", "provenance"}});
  html.Element("h2", "Provenance", {{"id", "provenance"}});
  const auto origins = Origins(sources.view);
  for (std::size_t i = 0; i < std::min(origins.size(), kMachines); ++i)
    WriteOrigin(html, origins[i].first, origins[i].second);
  if (origins.size() > kMachines)
    html.Paragraph(fmt::format("{} more versions, hosts or runs are in `provenance_json` of results.h5.",
                               origins.size() - kMachines));
  if (!sources.plan.data.empty()) WriteTable(html, DataTable(sources.plan));
  for (const auto& [path, digest] : WeightsOf(sources.view))
    html.Paragraph("Loaded weights: " + path + ", SHA-256 " + (digest.empty() ? "not known" : digest) + ".");
  if (!sources.sweep_toml.empty()) {
    const HtmlScope details(html, "details");
    html.Element("summary", "The sweep file, as resolved");
    html.Element("pre", sources.sweep_toml, {{"tabindex", "0"}});
  }
  html.Element("p", "Page by retort " + VersionText() + ".", {{"class", "faint"}});
}

void WriteCommands(Html& html, const ReportSources& sources) {
  const HtmlScope section(html, "section", {{"aria-labelledby", "commands"}});
  html.Element("h2", "Commands", {{"id", "commands"}});
  const std::string results = ShellText(sources.view.directory);
  const bool smoke = sources.plan.profile == "smoke";
  std::string text = "# this page\n" + sources.command + "\n# what is not finished, in this folder\n" +
                     Command("run", sources) + "# everything again, in another folder\nretort run " +
                     ShellText(sources.plan.file) + " --results " +
                     ShellText(sources.view.directory + "-again") +
                     "\n# tables with privacy statements, figures, integrity\n" +
                     Command("table", sources, " --statements") + Command("plot", sources) +
                     "retort verify --results " + results + "\n";
  html.Paragraph(std::string("The sweep file in the results folder is the resolved one") +
                 (smoke ? ", with the profile smoke laid over it." : ", overrides and profile included."));
  html.Element("pre", text, {{"tabindex", "0"}});
}

}  // namespace retort::orchestrator::cli
