#include "storage/results/hdf5_conventions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "storage/results/attempt_file.h"
#include "storage/results/hdf5_reader.h"
#include "storage/results/hdf5_writer.h"
#include "storage/results/result_file.h"
#include "storage/results/result_tables.h"
#include "tests/testing/storage_samples.h"
#include "tests/testing/temporary_directory.h"

namespace retort::storage {
namespace {

using ::testing::HasSubstr;

TEST(Quantities, TimesAreInSecondsAndTheRestHasNoDimension) {
  EXPECT_EQ(FindQuantity("step_seconds").units, "s");
  EXPECT_EQ(FindQuantity("some.new_seconds").units, "s");
  EXPECT_EQ(FindQuantity("train.student_loss").units, "1");
  EXPECT_EQ(FindQuantity("train.student_loss").long_name, "loss of the student");
}

TEST(Quantities, AnUnknownNameIsItsOwnWords) {
  EXPECT_EQ(FindQuantity("train.left_over").long_name, "train left over");
  EXPECT_EQ(FindQuantity("train.left_over").units, "1");
}

std::set<std::string> DatasetsWithoutAName(const Hdf5Reader& file) {
  const std::vector<std::string> datasets = file.DatasetsBelow("/");
  EXPECT_GT(datasets.size(), 4U);
  std::set<std::string> nameless;
  for (const std::string& path : datasets) {
    const auto name = file.TextAttribute(path, "long_name");
    if (!name.ok() || name->empty()) nameless.insert(path);
  }
  return nameless;
}

class NamedFilesTest : public ::testing::Test {
 protected:
  NamedFilesTest() {
    const ResultRow row = retort::testing::SampleRow();
    attempt_ = folder_ / row.attempt_file;
    EXPECT_TRUE(PosixEnv().CreateDirectories(attempt_.substr(0, attempt_.find_last_of('/'))).ok());
    EXPECT_TRUE(WriteAttemptFile(PosixEnv(), attempt_, retort::testing::SampleAttempt()).ok());
    EXPECT_TRUE(
        WriteResultFile(PosixEnv(), folder_.path(), "quickstart", {row}, {retort::testing::SampleLedgerEntry()}).ok());
  }
  Hdf5Reader Attempt() { return OpenSealedHdf5(attempt_).value(); }
  Hdf5Reader Results() { return Hdf5Reader::OpenResultFile(folder_ / "results.h5").value(); }

  retort::testing::TemporaryDirectory folder_;
  std::string attempt_;
};

TEST_F(NamedFilesTest, EveryDatasetSaysWhatItIs) {
  EXPECT_EQ(DatasetsWithoutAName(Attempt()), std::set<std::string>());
  EXPECT_EQ(DatasetsWithoutAName(Results()), std::set<std::string>());
}

TEST_F(NamedFilesTest, ADatasetWithoutANameIsSeen) {
  Hdf5Writer writer("nameless");
  for (const char* path : {"/a", "/b", "/c", "/d"}) {
    writer.Dataset(path, std::vector<double>{1});
    Describe(writer, path, {"a name", ""});
  }
  writer.Dataset("/nameless", std::vector<double>{1});
  const std::string image = writer.Finish().value();
  const auto file = Hdf5Reader::OpenView(image, "nameless");
  EXPECT_EQ(DatasetsWithoutAName(*file), std::set<std::string>{"/nameless"});
}

TEST_F(NamedFilesTest, TheRootSaysWhatWroteIt) {
  EXPECT_THAT(Attempt().TextAttribute("/", "history").value(), HasSubstr("attempt 2 of trial 1f3a9c2e00000001"));
  EXPECT_THAT(Results().TextAttribute("/", "history").value(), HasSubstr("derived by retort"));
  for (const Hdf5Reader& file : {Attempt(), Results()}) {
    EXPECT_EQ(file.TextAttribute("/", "Conventions").value(), "Retort-1");
  }
}

TEST_F(NamedFilesTest, UnitsAreThoseOfTheQuantity) {
  EXPECT_EQ(Attempt().TextAttribute("/curves/seconds", "units").value(), "s");
  EXPECT_EQ(Attempt().TextAttribute("/curves/loss.student", "units").value(), "1");
  EXPECT_FALSE(Attempt().TextAttribute("/provenance/timings", "units").ok()) << "seconds and joules";
  EXPECT_FALSE(Attempt().TextAttribute("/student/fc2.weight", "units").ok());
}

TEST_F(NamedFilesTest, ColumnsOfNumbersHaveTheirUnits) {
  const auto units = [](const Hdf5Reader& file, const std::string& path) {
    return nlohmann::json::parse(file.TextAttribute(path, "column_units").value());
  };
  const nlohmann::json claims = {{"delta", "1"}, {"epsilon", "1"}, {"lower", "1"}};
  EXPECT_EQ(units(Results(), "/claims"), claims);
  EXPECT_EQ(units(Attempt(), "/claims"), claims);
  const nlohmann::json rows = units(Results(), "/rows");
  EXPECT_EQ(rows.at("test_accuracy"), "1");
  EXPECT_EQ(rows.at("attempts"), "1");
  EXPECT_FALSE(rows.contains("name") || rows.contains("seed") || rows.contains("sigma"));
}

TEST(Quantities, ColumnOfAMetricHasTheUnitsOfTheMetric) {
  ResultRow row = retort::testing::SampleRow();
  row.metrics.emplace_back("sleep.seconds", 2);
  const Table table = MakeRowTable({row});
  const auto slept =
      std::find_if(table.begin(), table.end(), [](const TableColumn& c) { return c.name == "sleep_seconds"; });
  ASSERT_NE(slept, table.end());
  EXPECT_EQ(slept->units, "s");
}

TEST_F(NamedFilesTest, AxesOfPicturesAndClassesAreDimensionScales) {
  const Hdf5Reader file = Attempt();
  for (const char* path : {"/samples/sample", "/samples/channel", "/samples/row", "/samples/column",
                           "/samples/coordinate", "/evaluation/true_class", "/evaluation/predicted_class"}) {
    const auto kind = file.TextAttribute(path, "CLASS");
    ASSERT_TRUE(kind.ok()) << path;
    EXPECT_EQ(kind->c_str(), std::string("DIMENSION_SCALE")) << path;
  }
  EXPECT_EQ(file.Dataset("/samples/column")->shape, std::vector<std::int64_t>{3});
}

TEST(Quantities, AnAxisThatNothingHasIsRefused) {
  Hdf5Writer writer("long");
  WriteScale(writer, "/axis", std::int64_t{1} << 40, "an axis");
  EXPECT_EQ(writer.Finish().status().code(), StatusCode::refused);
}

// Written before datasets had names and axes.
TEST(AttemptFile, OneWithoutNamesIsRead) {
  const std::string path = std::string(RETORT_SOURCE_DIR) + "/tests/fixtures/h5/attempt-without-names.h5";
  const Hdf5Reader file = OpenSealedHdf5(path).value();
  ASSERT_FALSE(DatasetsWithoutAName(file).empty());
  const auto read = ReadAttemptFile(path);
  ASSERT_TRUE(read.ok()) << read.status().message();
  const AttemptFile written = retort::testing::SampleAttempt();
  EXPECT_EQ(read->curves, written.curves);
  EXPECT_EQ(read->metrics, written.metrics);
  EXPECT_EQ(read->timings, written.timings);
  EXPECT_EQ(read->parameters, written.parameters);
  EXPECT_EQ(read->claims, written.claims);
  EXPECT_EQ(read->samples->images, written.samples->images);
  EXPECT_EQ(read->evaluation->confusion, written.evaluation->confusion);
}

}  // namespace
}  // namespace retort::storage
