#include "orchestrator/results/tables/result_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/orchestrator/results/sample_results.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::ElementsAre;

TableCell Measured(double mean, const std::string& column = "digits", double epsilon = 0) {
  TableCell cell;
  cell.column = {column};
  cell.data = column;
  cell.epsilon = epsilon;
  cell.planned = 1;
  cell.summary.n = 1;
  cell.summary.mean = mean;
  return cell;
}

std::vector<bool> FindBest(std::vector<TableCell> cells, const std::string& metric = "test.accuracy") {
  ResultTable table;
  table.spec.metric = metric;
  table.spec.columns = {"data"};
  table.cells = std::move(cells);
  MarkBest(table);
  std::vector<bool> best;
  for (const TableCell& cell : table.cells) best.push_back(cell.best);
  return best;
}

TEST(TableMarks, TheBestOfEachColumnIsMarked) {
  EXPECT_THAT(FindBest({Measured(0.9), Measured(0.8), Measured(0.5, "other"), Measured(0.6, "other")}),
              ElementsAre(true, false, false, true));
}

TEST(TableMarks, ValuesThatReadTheSameAreAllBest) {
  EXPECT_THAT(FindBest({Measured(0.90001), Measured(0.90002), Measured(0.8999)}), ElementsAre(true, true, false));
}

TEST(TableMarks, OfLossesAndTimesTheSmallestIsBest) {
  EXPECT_THAT(FindBest({Measured(2), Measured(1)}, "train.loss"), ElementsAre(false, true));
  EXPECT_THAT(FindBest({Measured(2), Measured(1)}, "seconds"), ElementsAre(false, true));
  EXPECT_THAT(FindBest({Measured(2), Measured(1)}, "test.inception_score"), ElementsAre(true, false));
  EXPECT_THAT(FindBest({Measured(2), Measured(1)}, "stop.step"), ElementsAre(false, false));
}

TEST(TableMarks, OneCellAloneIsNotBest) {
  TableCell missing;
  missing.column = {"digits"};
  missing.data = "digits";
  EXPECT_THAT(FindBest({Measured(0.9), missing}), ElementsAre(false, false));
}

TEST(TableMarks, CellsOfDifferentEpsilonDoNotCompare) {
  EXPECT_THAT(FindBest({Measured(0.9, "digits", 1), Measured(0.95, "digits", 8), Measured(0.8, "digits", 1)}),
              ElementsAre(true, false, false));
}

TEST(TableMarks, ProvenRowsCompareAmongThemselves) {
  TableCell sound = Measured(0.8, "digits", 3), other = Measured(0.7, "digits", 3);
  for (TableCell* cell : {&sound, &other})
    cell->claims = {testing::ProvenClaim(privacy::Adjacency::example, privacy::Neighbour::replace, 3)};
  TableCell formula = Measured(0.9, "digits", 3), last = Measured(0.85, "digits", 3);
  formula.claims = {testing::FormulaClaim(3)};
  EXPECT_THAT(FindBest({sound, other, formula, last}), ElementsAre(true, false, true, false));
}

// An epsilon of labels alone is worth less than the same of examples.
TEST(TableMarks, LabelsDoNotCompareWithExamples) {
  TableCell label = Measured(0.9, "digits", 3), response = Measured(0.8, "digits", 3);
  label.claims = {testing::ProvenClaim(privacy::Adjacency::label, privacy::Neighbour::replace, 3)};
  response.claims = {testing::FormulaClaim(3)};
  response.claims.front().adjacency = privacy::Adjacency::label;
  TableCell formula = Measured(0.7, "digits", 3), last = Measured(0.6, "digits", 3);
  formula.claims = last.claims = {testing::FormulaClaim(3)};
  EXPECT_THAT(FindBest({label, response, formula, last}), ElementsAre(true, false, true, false));
}

TEST(TableMarks, PublishedLabelsDoNotCompareWithExamples) {
  ResultTable table;
  table.spec.columns = {"data"};
  for (const char* approach : {"DP-DFD", "LP-2ST", "DataLens", "DP-GAN"}) {
    TableCell cell = Measured(0.5);
    cell.published = 0.9 - 0.1 * static_cast<double>(table.cells.size());
    cell.source = PublishedValue{};
    cell.source->approach = approach;
    cell.source->epsilon = 1;
    table.cells.push_back(cell);
  }
  MarkBest(table);
  for (std::size_t i = 0; i < table.cells.size(); ++i)
    EXPECT_EQ(table.cells[i].best_published, i == 0 || i == 2) << table.cells[i].source->approach;
}

TEST(TableMarks, PublishedValuesHaveTheirOwnBest) {
  ResultTable table;
  table.spec.columns = {"data"};
  for (const double value : {0.95, 0.9, 0.97}) {
    TableCell cell = Measured(0.5);
    cell.published = value;
    cell.source = PublishedValue{};
    cell.source->epsilon = value == 0.97 ? 10 : 1;
    table.cells.push_back(cell);
  }
  MarkBest(table);
  EXPECT_TRUE(table.cells[0].best_published);
  EXPECT_FALSE(table.cells[1].best_published);
  EXPECT_FALSE(table.cells[2].best_published) << "another epsilon";
}

}  // namespace
}  // namespace retort::orchestrator::cli
