// What protects labels alone is shown as that in every format; a claim of before, which said `example`, is seen in
// each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "experiments/methods/methods.h"
#include "experiments/methods/presets.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"
#include "orchestrator/cli/render/figure_caption.h"
#include "orchestrator/cli/render/report_page.h"
#include "orchestrator/cli/render/table_export.h"
#include "orchestrator/cli/render/table_text.h"
#include "orchestrator/results/tables/figure_data.h"
#include "tests/testing/temporary_directory.h"
#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The students of a paper's table of label mechanisms, run, with the claims that this program makes; and its quoted
// values.
struct LabelSweep {
  explicit LabelSweep(const std::string& published) {
    data->published_as = "CIFAR10";
    data->classes = 10;
    plan.name = view.sweep = "labels";
    plan.file = "labels.toml";
    plan.data = {data};
    view.directory = folder.path();
    for (const char* method : {"dp-dfd", "dpsd-label", "lp-2st", "alibi"}) {
      if (method == std::string(published == "dpsd/table4" ? "dp-dfd" : "dpsd-label")) continue;
      for (const Reading reading : {Reading::working, Reading::printed}) Add(method, reading);
    }
    TableSpec table;
    table.name = "labels";
    table.rows = {"method", "reading"};
    table.columns = {"data", "epsilon"};
    table.published = published;
    plan.tables = {table};
  }

  void Add(const std::string& method, Reading reading) {
    const bool labels = FindReleaseKind(FindMethod(method)->kind) == ReleaseKind::labels;
    if (labels && reading != Reading::working) return;
    TrialSpec spec;
    spec.method = method;
    spec.reading = reading;
    spec.data = data;
    ApplyPreset(spec, FindKind(spec));
    spec.privacy.epsilon = spec.release.epsilon0 = 1;
    spec.privacy.claim = labels ? ClaimTarget::label : ClaimTarget::paper;
    if (labels) spec.source = QuerySource::private_split;
    spec.id = TrialId(plan.trials.size() + 1);
    spec.name = method + std::to_string(plan.trials.size());
    spec.axes = {{"method", method}, {"reading", labels ? "" : reading == Reading::working ? "working" : "printed"}};
    plan.trials.push_back(spec);
    const auto events = privacy::PlanEvents(spec);
    ASSERT_TRUE(events.ok()) << events.status().message();
    view.trials.push_back(testing::Finished(spec, 0.8, 10, privacy::ComputeClaims({&spec, {}}, *events)));
  }

  [[nodiscard]] ResultTable Table() const {
    return BuildTable(plan, plan.tables.front(), view, FindPublishedTable(plan.tables.front().published));
  }

  [[nodiscard]] std::string Report() {
    const SweepStatus status = ComputeStatus(view);
    const std::vector<ResultTable> tables = {Table()};
    AttemptReader attempts(storage::PosixEnv(), view, 1 << 20);
    return MakeReport(
               {.view = view,
                .plan = plan,
                .status = status,
                .tables = tables,
                .attempts = attempts,
                .audit = [](const TrialView&) { return Result<std::optional<privacy::AuditReport>>(std::nullopt); },
                .pictures = [](const DataSpec&,
                               std::int64_t) { return Result<DataImages>(EnvironmentError("no data")); },
                .sweep_toml = "",
                .command = "retort report",
                .generated = 1'700'000'000,
                .limits = {}})
        .html;
  }

  [[nodiscard]] FigureData Figure() const {
    FigureSpec spec;
    spec.name = "labels";
    spec.x = "epsilon";
    spec.series = {"method", "reading"};
    spec.published = plan.tables.front().published;
    const auto none = [](const TrialView&) { return Result<storage::AttemptFile>(storage::AttemptFile{}); };
    const std::vector<PublishedValue> published = FindPublishedTable(spec.published);
    const Result<FigureData> figure = BuildFigure(spec, {plan, view, published, none, false});
    EXPECT_TRUE(figure.ok()) << figure.status().message();
    return figure.ok() ? *figure : FigureData{};
  }

  // Its claims, each before a semicolon.
  [[nodiscard]] std::string Caption() const {
    std::string text;
    for (const std::string& sentence : FormatClaimSentences(Figure())) text += sentence + "; ";
    return text;
  }

  retort::testing::TemporaryDirectory folder;
  std::shared_ptr<DataSpec> data = testing::SampleData();
  SweepPlan plan;
  ResultsView view;
};

// As versions before wrote them.
void CallLabelsExamples(LabelSweep& sweep) {
  for (TrialView& trial : sweep.view.trials)
    for (privacy::Claim& claim : trial.row->claims)
      if (claim.status == privacy::ClaimStatus::paper_formula) claim.adjacency = privacy::Adjacency::example;
}

// Returns the first part of a text, up to `end`, that shows a formula's epsilon beside `example`, or empty.
std::string FindInText(const std::string& text, const std::string& end) {
  static const std::regex formula("†|\\\\dag|paper-formula"), example("(^|[ ,|&>(\t])example([ ,|&<\t]|$)");
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t stop = std::min(text.find(end, begin), text.size());
    const std::string part = text.substr(begin, stop - begin);
    if (std::regex_search(part, formula) && std::regex_search(part, example)) return part;
    begin = stop + end.size();
  }
  return "";
}

// The same in the rows of tables.
std::string FindInRows(const std::string& html) {
  std::string rows;
  for (std::size_t begin = html.find("<tr"); begin != std::string::npos; begin = html.find("<tr", begin + 1))
    rows += html.substr(begin, html.find("</tr>", begin) - begin) + "</tr>";
  return FindInText(rows, "</tr>");
}

std::string FindInJson(const nlohmann::json& json) {
  if (json.is_object() && json.value("adjacency", "") == "example" && json.value("status", "") == "paper-formula")
    return json.dump();
  if (json.is_structured()) {
    for (const auto& member : json)
      if (std::string found = FindInJson(member); !found.empty()) return found;
  }
  return "";
}

// Of every format: its name, and where it shows what a label mechanism must not.
std::vector<std::pair<std::string, std::string>> LookThroughFormats(LabelSweep& sweep) {
  const ResultTable table = sweep.Table();
  return {{"text", FindInText(FormatTableText(table, 200), "\n")},
          {"narrow text", FindInText(FormatTableText(table, 80), "\n")},
          {"csv", FindInText(FormatTableCsv(table), "\n")},
          {"markdown", FindInText(FormatTableMarkdown(table), "\n")},
          {"latex", FindInText(FormatTableLatex(table), "\n")},
          {"json", FindInJson(nlohmann::json::parse(FormatTablesJson({table})))},
          {"report", FindInRows(sweep.Report())},
          {"figure", FindInText(sweep.Caption(), "; ")}};
}

TEST(LabelClaims, NoFormatShowsALabelsEpsilonAsAnExamples) {
  for (const char* published : {"dp-dfd/table2", "dpsd/table4"}) {
    LabelSweep sweep(published);
    EXPECT_FALSE(sweep.view.trials.empty());
    for (const auto& [format, found] : LookThroughFormats(sweep))
      EXPECT_THAT(found, IsEmpty()) << published << " as " << format;
  }
}

TEST(LabelClaims, AnExamplesEpsilonWouldBeSeenInEveryFormat) {
  LabelSweep sweep("dp-dfd/table2");
  CallLabelsExamples(sweep);
  for (const auto& [format, found] : LookThroughFormats(sweep)) EXPECT_THAT(found, Not(IsEmpty())) << format;
}

// The sweep's delta is no part of what DP-DFD claims.
TEST(LabelClaims, AxesSayThatTheFormulaIsOfALabel) {
  LabelSweep sweep("dp-dfd/table2");
  std::string labels;
  for (const EpsilonTarget& target : sweep.Figure().epsilons) labels += target.claim + " " + target.delta + "\n";
  EXPECT_EQ(labels, "paper 0\nlabel 1e-5\n");
  std::string series;
  const FigureData data = sweep.Figure();
  for (const FigureSeries& one : data.panels.at(0).series) series += one.label + "\n";
  EXPECT_THAT(series, HasSubstr("[ε: the paper's formula † of a label, no guarantee, δ = 0]"));
}

TEST(LabelClaims, QuotedLabelApproachesStandUnderLabel) {
  for (const char* published : {"dp-dfd/table2", "dpsd/table4"}) {
    int quoted = 0;
    for (const TableCell& cell : LabelSweep(published).Table().cells) {
      if (cell.state != CellState::quoted) continue;
      ASSERT_EQ(cell.claims.size(), 1U);
      EXPECT_EQ(cell.claims[0].adjacency, privacy::Adjacency::label) << cell.row[0];
      EXPECT_EQ(cell.claims[0].delta, 0) << cell.row[0];
      EXPECT_TRUE(cell.claims[0].delta_stated) << cell.row[0];
      ++quoted;
    }
    EXPECT_GE(quoted, 2) << published;
  }
}

// DPDFD's Table 4 names no delta.
TEST(LabelClaims, AnUnstatedDeltaIsShownAsThatAndNotAsZero) {
  LabelSweep sweep("dpdfd-ijcai23/table4");
  const ResultTable table = sweep.Table();
  EXPECT_THAT(FormatTableText(table, 200), HasSubstr("example   replace     not stated"));
  EXPECT_THAT(FormatTableMarkdown(table), HasSubstr("| example | replace | not stated |"));
  EXPECT_THAT(FormatTableLatex(table), HasSubstr("example & replace & not stated &"));
  EXPECT_THAT(FormatTableCsv(table), HasSubstr(",quoted,example,replace,,2,"));
  EXPECT_THAT(sweep.Report(), HasSubstr("not stated"));
  int seen = 0;
  const auto document = nlohmann::json::parse(FormatTablesJson({table}));
  for (const auto& cell : document.at("cells")) {
    if (cell.at("state") != "quoted") continue;
    EXPECT_TRUE(cell.at("claims").at(0).at("delta").is_null());
    EXPECT_TRUE(cell.at("published_source").at("delta").is_null());
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace retort::orchestrator::cli
