#include "experiments/base/printable.h"
#include "orchestrator/cli/render/table_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "experiments/base/number_text.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/table_text.h"
#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

ResultTable SampleTable() {
  const testing::Sample sample = testing::SampleSweep();
  return BuildTable(sample.plan, sample.plan.tables.front(), sample.view, {});
}

TEST(TableFormat, TeachersOfSeveralDataSetsAreToldApart) {
  ResultTable table = SampleTable();
  EXPECT_THAT(FormatTableText(table, 110), Not(HasSubstr("network   data")));
  TeacherLine other = table.teachers.front();
  other.data = "digits-2";
  table.teachers.push_back(other);
  EXPECT_THAT(FormatTableText(table, 110), AllOf(HasSubstr("teacher  method  network   data      test.accuracy"),
                                                 HasSubstr("single   plain   datalens  digits    97.80 %"),
                                                 HasSubstr("single   plain   datalens  digits-2  97.80 %")));
}

// Up to the legend, whose wording is tested by its facts.
TEST(TableFormat, TextShowsMeasurementBesideEveryClaim) {
  const std::string text = FormatTableText(SampleTable(), 110);
  const std::string expected =
      "Table sample of sweep sample\n"
      "\n"
      "Teachers\n"
      "teacher  method  network   test.accuracy     protects  neighbours  δ     ε  basis\n"
      "────────────────────────────────────────────────────────────────────────────────────────\n"
      "single   plain   datalens  97.80 %           example   replace     1e-5  ∞  no bound [1]\n"
      "                           n=1\n"
      "                           test 96.69–98.54\n"
      "\n"
      "Students, data = digits\n"
      "method  reading  teacher  test.accuracy       protects  neighbours  δ                 ε  basis\n"
      "─────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
      "dpdfd   working  single   92.00 ± 1.41 %      example   replace     1e-5        0.041 †  paper:dpdfd-thm3\n"
      "                          n=2 of 3            teacher   replace     1e-5  ≤ 541,289.259  exact-gdp\n"
      "                          seeds 79.29–104.71  member    replace     1e-5              ∞  no bound [2]\n"
      "                          test 90.15–93.53\n"
      "─────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
      "dpsgd   –        –        93.80 %             example   add-remove  1e-5        ≤ 2.997  exact-gdp\n"
      "                          n=1\n"
      "                          test 92.13–95.13\n"
      "\n";
  EXPECT_EQ(text.substr(0, expected.size()), expected);
}

TEST(TableFormat, LegendNamesWhatEachLabelMeans) {
  const std::string text = FormatTableText(SampleTable(), 200);
  EXPECT_THAT(text, AllOf(HasSubstr("†: the paper's formula at this run's parameters; not a guarantee"),
                          HasSubstr("[1] "), HasSubstr("[2] "), Not(HasSubstr("[3] ")), HasSubstr("protects people"),
                          HasSubstr("honest ε is 541,289.259"), HasSubstr("sample standard deviation")));
  EXPECT_THAT(text, Not(HasSubstr("answer:")));
}

TEST(TableFormat, TextFitsTheTerminal) {
  for (const std::size_t width : {std::size_t{94}, std::size_t{110}}) {
    std::istringstream lines(FormatTableText(SampleTable(), width));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(MeasureDisplayWidth(line), width) << line;
  }
}

TEST(TableFormat, NarrowTextKeepsTheAccountantInNotes) {
  const std::string text = FormatTableText(SampleTable(), 90);
  EXPECT_THAT(text, HasSubstr("by exact-gdp"));
}

TEST(TableFormat, EveryNoteOfATextIsMarkedInIt) {
  ResultTable table = SampleTable();
  for (TableCell& cell : table.cells)
    for (privacy::Claim& claim : cell.claims) claim.assumptions = {"poisson-sampling"};
  for (const std::size_t width : {std::size_t{90}, std::size_t{200}}) {
    const std::string text = FormatTableText(table, width);
    int notes = 0;
    for (std::string mark = "[1]"; text.find('\n' + mark + ' ') != std::string::npos;
         mark = "[" + std::to_string(++notes + 1) + "]")
      EXPECT_LT(text.find(mark), text.find('\n' + mark + ' ')) << mark << " at width " << width;
    EXPECT_GT(notes, 0);
  }
}

TEST(TableFormat, MissingCellsAreShownAsMissing) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.trials.clear();
  const ResultTable table = BuildTable(sample.plan, sample.plan.tables.front(), sample.view, {});
  EXPECT_THAT(FormatTableText(table, 110), AllOf(HasSubstr("missing"), HasSubstr("0 of 3")));
}

TEST(TableFormat, PublishedValueStandsBesideTheMeasured) {
  testing::Sample sample = testing::SampleSweep();
  ResultTable table = BuildTable(sample.plan, sample.plan.tables.front(), sample.view, {});
  table.cells[0].published = 0.9512;
  table.spec.published = "dpdfd-ijcai23/table1";
  EXPECT_THAT(FormatTableText(table, 110), AllOf(HasSubstr("published 95.12 %"), HasSubstr("not a proven one")));
  EXPECT_THAT(FormatTableMarkdown(table), HasSubstr("| 95.12 % |"));
  EXPECT_THAT(FormatTableCsv(table), HasSubstr(",0.9512,"));
}

TEST(TableFormat, QuotedCellsSayThatNothingWasRun) {
  ResultTable table = SampleTable();
  TableCell quoted;
  quoted.row = {"DP-GAN", "", ""};
  quoted.column = {"digits"};
  quoted.state = CellState::quoted;
  quoted.published = 0.4036;
  table.cells.push_back(quoted);
  EXPECT_THAT(FormatTableText(table, 110), HasSubstr("quoted 40.36 %"));
  EXPECT_THAT(FormatTableMarkdown(table), HasSubstr("| quoted | – | 40.36 % |"));
  EXPECT_THAT(FormatTablesJson({table}), HasSubstr("\"state\": \"quoted\""));
}

// 23528522 parameters, published as 23.53M: never 2.353e+07.
TEST(TableFormat, CountsAreWholeNumbersInEveryFormat) {
  testing::Sample sample = testing::SampleSweep();
  sample.plan.tables[0].metric = "student.parameters";
  for (TrialView& trial : sample.view.trials)
    if (trial.row) trial.row->metrics = {{"student.parameters", 23'528'522}};
  ResultTable table = BuildTable(sample.plan, sample.plan.tables.front(), sample.view, {});
  table.cells[0].published = 23'530'000;
  const std::string text = FormatTableText(table, 120);
  EXPECT_THAT(text, AllOf(HasSubstr("  23,528,522  "), HasSubstr("published 23,530,000"),
                          Not(HasSubstr("23,528,522 ±")), Not(HasSubstr("seeds 2"))));
  EXPECT_THAT(FormatTableMarkdown(table), HasSubstr("| 23,528,522 | n=2 of 3 | 23,530,000 | – |"));
  EXPECT_THAT(FormatTableLatex(table), HasSubstr("23,528,522 & n=2 of 3 & 23,530,000 & -- &"));
  EXPECT_THAT(FormatTableCsv(table), HasSubstr(",student.parameters,23528522,0,2,23528522,23528522,23530000,partial,"));
  const auto cell = nlohmann::json::parse(FormatTablesJson({table})).at("cells").at(0);
  for (const auto& value : {cell.at("mean"), cell.at("published"), cell.at("ci95").at(0)})
    EXPECT_TRUE(value.is_number_integer()) << value;
  EXPECT_EQ(cell.at("mean"), 23'528'522);
  EXPECT_EQ(nlohmann::json::parse(FormatTrialJson(sample.view.trials[1])).at("metrics").at("student.parameters").dump(),
            "23528522");
  for (const std::string& shown : {text, FormatTableMarkdown(table), FormatTableLatex(table), FormatTableCsv(table)})
    EXPECT_THAT(shown, Not(HasSubstr("e+07")));
}

TEST(TableFormat, SeveralColumnsGetAMatrix) {
  testing::Sample sample = testing::SampleSweep();
  sample.plan.tables[0].rows = {"method"};
  sample.plan.tables[0].columns = {"seed"};
  const ResultTable table = BuildTable(sample.plan, sample.plan.tables.front(), sample.view, {});
  EXPECT_THAT(FormatTableText(table, 110),
              AllOf(HasSubstr("seed = 0  seed = 1  seed = 2"), HasSubstr("Students, seed = 2")));
}

TEST(TableFormat, ColumnsOfNumbersStandBySizeAndNamesAsTheyCome) {
  ResultTable table;
  table.spec.columns = {"data", "epsilon"};
  for (const auto& [data, epsilon] : std::vector<std::pair<std::string, std::string>>{
           {"mnist", "8"}, {"mnist", ""}, {"cifar", "10"}, {"mnist", "0.3"}, {"cifar", "0.03"}, {"mnist", "8"}}) {
    TableCell cell;
    cell.column = {data, epsilon};
    table.cells.push_back(cell);
  }
  EXPECT_EQ(FindColumns(table),
            (std::vector<std::vector<std::string>>{
                {"mnist", "0.3"}, {"mnist", "8"}, {"mnist", ""}, {"cifar", "0.03"}, {"cifar", "10"}}));
  for (TableCell& cell : table.cells)
    if (cell.column[1] == "10") cell.column[1] = "ten";
  EXPECT_EQ(FindColumns(table),
            (std::vector<std::vector<std::string>>{
                {"mnist", "8"}, {"mnist", ""}, {"mnist", "0.3"}, {"cifar", "ten"}, {"cifar", "0.03"}}));
}

TEST(TableFormat, JsonHasTheContractsShape) {
  const auto document = nlohmann::json::parse(FormatTablesJson({SampleTable()}));
  EXPECT_EQ(document.at("schema_version"), 1);
  EXPECT_EQ(document.at("table"), "sample");
  const auto& cell = document.at("cells").at(0);
  EXPECT_EQ(cell.at("row").at("method"), "dpdfd");
  EXPECT_EQ(cell.at("column").at("data"), "digits");
  EXPECT_EQ(cell.at("metric"), "test.accuracy");
  EXPECT_NEAR(cell.at("mean").get<double>(), 0.92, 1e-12);
  EXPECT_EQ(cell.at("n"), 2);
  EXPECT_EQ(cell.at("ci95").size(), 2U);
  EXPECT_TRUE(cell.at("published").is_null());
  EXPECT_EQ(cell.at("state"), "partial");
  EXPECT_EQ(cell.at("trials").size(), 3U);
  EXPECT_EQ(cell.at("claims").size(), 3U);
  for (const char* field : {"adjacency", "neighbour", "delta", "epsilon", "lower", "units", "accountant", "status",
                            "assumptions", "reason"})
    EXPECT_TRUE(cell.at("claims").at(0).contains(field)) << field;
  EXPECT_EQ(cell.at("claims").at(2).at("epsilon"), "inf");
}

TEST(TableFormat, JsonOfMissingCellsHasNulls) {
  testing::Sample sample = testing::SampleSweep();
  sample.view.trials.clear();
  const auto document =
      nlohmann::json::parse(FormatTablesJson({BuildTable(sample.plan, sample.plan.tables.front(), sample.view, {})}));
  const auto& cell = document.at("cells").at(0);
  EXPECT_EQ(cell.at("state"), "missing");
  for (const char* field : {"mean", "sd", "ci95", "published"}) EXPECT_TRUE(cell.at(field).is_null()) << field;
  EXPECT_TRUE(cell.at("claims").empty());
}

TEST(TableFormat, SeveralTablesAreOneDocument) {
  const auto document = nlohmann::json::parse(FormatTablesJson({SampleTable(), SampleTable()}));
  EXPECT_EQ(document.at("tables").size(), 2U);
  EXPECT_EQ(document.at("schema_version"), 1);
}

std::vector<std::string> CsvHeader(const std::string& csv) {
  std::vector<std::string> names;
  std::istringstream line(csv.substr(0, csv.find('\n')));
  for (std::string name; std::getline(line, name, ',');) names.push_back(name);
  return names;
}

TEST(TableFormat, CsvNeverSeparatesEpsilonFromItsMeaning) {
  const std::string csv = FormatTableCsv(SampleTable());
  EXPECT_THAT(CsvHeader(csv), ::testing::IsSupersetOf(
                                  {"adjacency", "neighbour", "delta", "epsilon", "status", "accountant", "reason"}));
  // Teacher 1, working 3, baseline 1, header.
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 6);
  EXPECT_THAT(
      csv, HasSubstr("sample,student,dpsgd,,,digits,test.accuracy,0.938,,1,,,,complete,example,add-remove,1e-5,2.997,,"
                     "proven,exact-gdp,one unit,,,dd00000000000001,1000,0.9213"));
  EXPECT_THAT(csv, HasSubstr(",false,false,false,,,\n"));
  EXPECT_THAT(csv, HasSubstr("member,replace,1e-5,inf,,unbounded,"));
}

// In one line of the legend in every format, and by cell where programs read.
TEST(TableFormat, EveryFormatSaysWhatDiffersFromTheText) {
  const ResultTable table = SampleTable();
  ASSERT_EQ(table.settings.size(), 1U) << "one method in one reading";
  EXPECT_THAT(table.settings[0],
              HasSubstr("working dpdfd differs from its text (in brackets): information_entropy 5 (1)"));
  EXPECT_THAT(FormatTableText(table, 200), HasSubstr("working dpdfd differs from its text"));
  EXPECT_THAT(FormatTableMarkdown(table), HasSubstr("- working dpdfd differs from its text"));
  EXPECT_THAT(FormatTableLatex(table), HasSubstr("\\item{} working dpdfd differs from its text"));
  EXPECT_THAT(FormatTableCsv(table), HasSubstr("information_entropy 5 (text 1) | activation_norm 0.1 (text 1)"));
  const auto differs = nlohmann::json::parse(FormatTablesJson({table})).at("cells").at(0).at("differs");
  EXPECT_EQ(differs.at(0),
            (nlohmann::json{{"key", "information_entropy"}, {"here", "5"}, {"text", "1"}, {"place", "Eq. 5"}}));
}

TEST(TableFormat, MarkdownAndLatexCarryEveryClaim) {
  const std::string markdown = FormatTableMarkdown(SampleTable());
  EXPECT_THAT(markdown, AllOf(HasSubstr("| teacher | replace | 1e-5 | ≤ 541,289.259 | exact-gdp |"),
                              HasSubstr("- \\[1\\] "), HasSubstr("0.041 †")));
  const std::string latex = FormatTableLatex(SampleTable());
  EXPECT_THAT(latex, AllOf(HasSubstr("teacher & replace & 1e-5 & $\\le$ 541,289.259 & exact-gdp \\\\"),
                           HasSubstr("0.041 \\dag{}"), HasSubstr("$\\infty$"), HasSubstr("97.80 \\%")));
  for (const char* symbol : {"ε", "δ", "∞", "†", "≤", "±", "–"}) EXPECT_THAT(latex, Not(HasSubstr(symbol))) << symbol;
}

TEST(TableFormat, MarkdownShowsEveryNameAsItIs) {
  ResultTable table = SampleTable();
  table.spec.name = "# <b>t</b>";
  table.sweep = "<i>[s](javascript:x)";
  table.warnings.push_back("<script>alert(1)</script> | `x` *y* &lt; $z$");
  table.statements = {"# <b>row</b>: [a](b) of <img src=x>", "12. a", "+ a", "-1 %"};
  table.teachers.front().name = "<script>t</script>";
  const std::string markdown = FormatTableMarkdown(table);
  EXPECT_THAT(markdown, Not(::testing::ContainsRegex("(^|[^\\])[<[`$&]")));
  for (const char* const item : {"- 12\\. a\n", "- \\+ a\n", "- \\-1 %\n"}) EXPECT_THAT(markdown, HasSubstr(item));
  EXPECT_THAT(markdown, HasSubstr("- \\# \\<b>row\\</b>: \\[a\\](b) of \\<img src=x>"));
  EXPECT_THAT(markdown, HasSubstr("\\<script>alert(1)\\</script> \\| \\`x\\` \\*y\\* \\&lt; \\$z\\$"));
}

TEST(TableFormat, LatexIsATableOfBooktabs) {
  const std::string latex = FormatTableLatex(SampleTable());
  const std::string expected =
      "\\begin{tabular}{lllllllllllllll}\n\\toprule\n"
      "{}role & method & reading & teacher & data & test.accuracy & n & published & seeds 95 \\% & test 95 \\% & "
      "protects & neighbours & $\\delta$ & $\\varepsilon$ & basis \\\\\n"
      "\\midrule\n"
      "{}teacher & plain & -- & single & digits & 97.80 \\% & n=1 & -- & -- & 96.69--98.54 & example & replace & 1e-5 "
      "& "
      "$\\infty$ & no bound [1] \\\\\n"
      "\\midrule\n"
      "{}student & dpdfd & working & single & digits & 92.00 $\\pm$ 1.41 \\% & n=2 of 3 & -- & 79.29--104.71 & "
      "90.15--93.53 & example & replace & 1e-5 & 0.041 \\dag{} & paper:dpdfd-thm3 \\\\\n"
      "{} &  &  &  &  &  &  &  &  &  & teacher & replace & 1e-5 & $\\le$ 541,289.259 & exact-gdp \\\\\n"
      "{} &  &  &  &  &  &  &  &  &  & member & replace & 1e-5 & $\\infty$ & no bound [2] \\\\\n"
      "\\midrule\n"
      "{}student & dpsgd & -- & -- & digits & 93.80 \\% & n=1 & -- & -- & 92.13--95.13 & example & add-remove & 1e-5 & "
      "$\\le$ 2.997 & exact-gdp \\\\\n"
      "\\bottomrule\n\\end{tabular}\n";
  const std::size_t begin = latex.find("\\begin{tabular}");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_EQ(latex.substr(begin, expected.size()), expected);
}

}  // namespace
}  // namespace retort::orchestrator::cli
