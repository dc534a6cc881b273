// What was learnt from the images of a trial's generator, beside the trial and in tables.
#include "orchestrator/results/synthetic_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/tables/settings_notes.h"
#include "storage/files/env.h"
#include "tests/testing/temporary_directory.h"

namespace retort::orchestrator {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SyntheticStore : public ::testing::Test {
 protected:
  SyntheticStore() {
    view_.directory = folder_ / "sweep";
    for (const char letter : {'1', '2'}) {
      TrialView trial;
      trial.spec.id = *TrialId::FromHex(std::string(15, '0') + letter);
      trial.folder = std::string("trials/") + letter;
      trial.row.emplace();
      trial.row->trial = trial.spec.id.Hex();
      trial.row->row_digest = "beef";
      table_.cells.emplace_back().trials = {trial.spec.id};
      view_.trials.push_back(std::move(trial));
    }
    table_.spec.metric = "synthetic.accuracy";
  }
  void Store(std::size_t trial, std::int64_t count, double accuracy = 0.5, double fid = 3.25) {
    const Status stored = StoreSynthetic(storage::PosixEnv(), view_.directory, view_.trials[trial],
                                         {count, 7, "student", "logistic", accuracy, fid});
    ASSERT_TRUE(stored.ok()) << stored.message();
  }
  std::vector<std::string> Warn() {
    ResultTable table = table_;
    AddSyntheticNotes(storage::PosixEnv(), view_, table);
    return table.warnings;
  }
  std::vector<std::pair<std::string, double>> Metrics(std::size_t trial, const std::string& name) {
    ResultsView view = view_;
    AddMetric(storage::PosixEnv(), name, view);
    return view.trials[trial].row->metrics;
  }

  testing::TemporaryDirectory folder_;
  ResultsView view_;
  ResultTable table_;
};

TEST_F(SyntheticStore, NewestIsTheMetricOfItsTrial) {
  Store(0, 100);
  Store(0, 200, 0.625, 1.5);
  const auto read = ReadSynthetic(storage::PosixEnv(), view_.directory, view_.trials[0]);
  ASSERT_TRUE(read.ok() && read->has_value());
  EXPECT_EQ((*read)->count, 200);
  EXPECT_EQ((*read)->seed, 7U);
  EXPECT_EQ((*read)->labels, "student");
  EXPECT_EQ((*read)->network, "logistic");
  EXPECT_THAT(Metrics(0, "synthetic.accuracy"),
              ElementsAre(std::pair<std::string, double>("synthetic.accuracy", 0.625)));
  EXPECT_THAT(Metrics(0, "synthetic.fid"), ElementsAre(std::pair<std::string, double>("synthetic.fid", 1.5)));
  EXPECT_TRUE(Metrics(1, "synthetic.accuracy").empty());
  EXPECT_TRUE(Metrics(0, "synthetic.speed").empty());
}

TEST_F(SyntheticStore, NoDistanceIsNoMetric) {
  Store(0, 100, 0.5, std::nan(""));
  EXPECT_EQ(Metrics(0, "synthetic.accuracy").size(), 1U);
  EXPECT_TRUE(Metrics(0, "synthetic.fid").empty());
}

TEST_F(SyntheticStore, DistanceInOtherFeaturesIsNotShown) {
  Store(0, 100);
  const std::string path = view_.directory + "/" + view_.trials[0].folder + "/synthetic.json";
  const std::string text = storage::PosixEnv().ReadSmallFile(path, 1 << 16).value();
  for (const auto& [from, to] : {std::pair("\"format_version\":2", "\"format_version\":1"),
                                 std::pair("oriented-gradients", "of another kind")}) {
    std::string other = text;
    ASSERT_NE(other.find(from), std::string::npos) << other;
    other.replace(other.find(from), std::string(from).size(), to);
    ASSERT_TRUE(storage::PosixEnv().WriteFileAtomically(path, other).ok());
    EXPECT_EQ(Metrics(0, "synthetic.accuracy").size(), 1U);
    EXPECT_TRUE(Metrics(0, "synthetic.fid").empty()) << other;
  }
}

TEST_F(SyntheticStore, ResultOfAnEarlierRowCountsForNothing) {
  Store(0, 100);
  view_.trials[0].row->row_digest = "f00d";
  EXPECT_TRUE(Metrics(0, "synthetic.accuracy").empty());
  EXPECT_THAT(Warn(), ElementsAre());
}

TEST_F(SyntheticStore, TablesSayWhatWasMeasuredAndWhatDiffers) {
  EXPECT_THAT(Warn(), ElementsAre());
  Store(0, 2000);
  EXPECT_THAT(Warn(),
              ElementsAre("synthetic.accuracy is that of a fresh logistic on 2,000 pictures of seed 7, labels by "
                          "student."));
  Store(1, 2000);
  EXPECT_EQ(Warn().size(), 1U);
  Store(1, 60000);
  EXPECT_THAT(Warn(), ElementsAre(AllOf(HasSubstr("not measured alike"), HasSubstr("2,000 pictures"),
                                        HasSubstr("60,000 pictures"))));
  table_.spec.metric = "test.accuracy";
  EXPECT_THAT(Warn(), ElementsAre());
}

TEST_F(SyntheticStore, DamageNamesTheFileAndIsNoMetric) {
  Store(0, 100);
  const std::string path = view_.directory + "/trials/1/synthetic.json";
  const std::string whole = storage::PosixEnv().ReadFile(path).value();
  for (const std::string& bytes : {std::string(), std::string("[]"), whole.substr(0, whole.size() / 2)}) {
    ASSERT_TRUE(storage::PosixEnv().WriteFileAtomically(path, bytes).ok());
    EXPECT_TRUE(Metrics(0, "synthetic.accuracy").empty());
    EXPECT_THAT(Warn(), ElementsAre(HasSubstr("synthetic.json")));
  }
}

}  // namespace
}  // namespace retort::orchestrator
