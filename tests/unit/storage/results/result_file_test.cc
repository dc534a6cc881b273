#include "storage/results/result_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <bit>
#include <cmath>
#include <limits>
#include <memory>

#include "experiments/methods/spec_codec.h"
#include "storage/results/attempt_file.h"
#include "storage/results/hdf5_reader.h"
#include "storage/results/result_tables.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/storage_samples.h"
#include "tests/testing/temporary_directory.h"

namespace retort::storage {
namespace {

using retort::testing::SampleFailedRow;
using retort::testing::SampleRow;
using ::testing::HasSubstr;

void ExpectEqual(const ResultRow& a, const ResultRow& b) {
  EXPECT_EQ(EncodeRow(a), EncodeRow(b));
  EXPECT_EQ(a.axes, b.axes);
  EXPECT_EQ(a.claims, b.claims);
  EXPECT_EQ(a.seed, b.seed);
  ASSERT_EQ(a.metrics.size(), b.metrics.size());
  for (std::size_t i = 0; i < a.metrics.size(); ++i) {
    EXPECT_EQ(a.metrics[i].first, b.metrics[i].first);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(a.metrics[i].second), std::bit_cast<std::uint64_t>(b.metrics[i].second));
  }
}

TEST(ResultRow, ComesBackExactlyWithEveryKindOfNumber) {
  ResultRow row = SampleRow();
  row.metrics = {{"third", 1.0 / 3.0},
                 {"tiny", std::numeric_limits<double>::denorm_min()},
                 {"minus zero", -0.0},
                 {"inf", std::numeric_limits<double>::infinity()},
                 {"-inf", -std::numeric_limits<double>::infinity()},
                 {"nan", std::bit_cast<double>(std::uint64_t{0x7ff8000000000123})}};
  for (const ResultRow& written : {row, SampleFailedRow(), ResultRow()}) {
    const auto read = DecodeRow(EncodeRow(written));
    ASSERT_TRUE(read.ok()) << read.status().message();
    ExpectEqual(*read, written);
  }
}

TEST(ResultRow, WhatIsNoRowIsDamageThatNamesTheField) {
  EXPECT_EQ(DecodeRow("{").status().code(), StatusCode::damage);
  EXPECT_THAT(DecodeRow(R"({"trial":"x"})").status().message(), HasSubstr("name"));
}

std::string SpecJson(const std::string& path, double sigma) {
  auto data = std::make_shared<DataSpec>();
  data->name = "digits";
  data->reader = "idx";
  data->path = path;
  data->digest = std::string(64, 'd');
  TrialSpec spec;
  spec.data = data;
  spec.release.sigma = sigma;
  return EncodeTrialSpec(spec);
}

TEST(ResultRow, ItsDigestFollowsMetricsParametersAndSpecAlone) {
  ResultRow row = SampleRow();
  row.spec_json = SpecJson("/here/digits", 100);
  const std::string digest = ComputeRowDigest(row);
  EXPECT_EQ(digest.size(), 64U);
  ResultRow same = row;
  same.attempts = 9;
  same.timings = {{"seconds", 99.0}};
  same.provenance_json = "{}";
  same.attempt_file = "elsewhere";
  same.spec_json = SpecJson("/elsewhere/digits", 100);
  std::swap(same.metrics[0], same.metrics[1]);
  EXPECT_EQ(ComputeRowDigest(same), digest);
  ResultRow other = row;
  other.metrics[0].second = std::nextafter(other.metrics[0].second, 2.0);
  EXPECT_NE(ComputeRowDigest(other), digest);
  other = row;
  other.parameters_digest[0] = 'b';
  EXPECT_NE(ComputeRowDigest(other), digest);
  other = row;
  other.spec_json = SpecJson("/here/digits", 50);
  EXPECT_NE(ComputeRowDigest(other), digest);
}

template <typename T>
std::vector<T> Values(const Table& table, const std::string& name) {
  const auto values = FindColumn<T>(table, name);
  EXPECT_TRUE(values.ok()) << values.status().message();
  return values.ok() ? *values : std::vector<T>();
}

TEST(RowTable, HasAColumnPerMetricAndPerAxis) {
  const Table table = MakeRowTable({SampleRow(), SampleFailedRow()});
  EXPECT_EQ(Values<double>(table, "test_accuracy")[0], 0.8125);
  EXPECT_TRUE(std::isnan(Values<double>(table, "test_accuracy")[1]));
  EXPECT_EQ(Values<double>(table, "test_top5")[0], 1.0);
  EXPECT_EQ(Values<double>(table, "sigma"), (std::vector<double>{100, 2.5}));
  EXPECT_EQ(Values<std::string>(table, "claim"), (std::vector<std::string>{"example", ""}));
  EXPECT_EQ(Values<std::string>(table, "axis_method"), (std::vector<std::string>{"dpdfd", "dpsgd"}));
  EXPECT_EQ(Values<std::string>(table, "detail")[1], "the loss became NaN at step 12");
}

TEST(RowTable, HasEveryPromisedColumnWithoutRows) {
  const Table table = MakeRowTable({});
  for (const char* name : {"trial", "name", "method", "reading", "teacher", "data", "state", "row_digest"}) {
    EXPECT_TRUE(Values<std::string>(table, name).empty()) << name;
  }
  EXPECT_TRUE(Values<std::uint64_t>(table, "seed").empty());
  EXPECT_TRUE(Values<std::uint64_t>(table, "attempts").empty());
  EXPECT_TRUE(Values<double>(table, "test_accuracy").empty());
}

TEST(RowTable, ALongDetailIsCutBetweenCharacters) {
  ResultRow row = SampleFailedRow();
  row.detail = "x";
  for (int i = 0; i < 400; ++i) row.detail += "Δ";
  const std::string detail = Values<std::string>(MakeRowTable({row}), "detail")[0];
  EXPECT_EQ(detail.size(), 511U);
  EXPECT_EQ(row.detail.compare(0, detail.size(), detail), 0);
}

class ResultFileTest : public ::testing::Test {
 protected:
  ResultFileTest() {
    const ResultRow row = SampleRow();
    const std::string attempt = folder_ / row.attempt_file;
    EXPECT_TRUE(PosixEnv().CreateDirectories(attempt.substr(0, attempt.find_last_of('/'))).ok());
    EXPECT_TRUE(WriteAttemptFile(PosixEnv(), attempt, retort::testing::SampleAttempt()).ok());
  }
  void Write(const std::vector<ResultRow>& rows) {
    const Status status =
        WriteResultFile(PosixEnv(), folder_.path(), "quickstart", rows, {retort::testing::SampleLedgerEntry()});
    ASSERT_TRUE(status.ok()) << status.message();
  }
  Hdf5Reader Open() { return Hdf5Reader::OpenResultFile(folder_ / "results.h5").value(); }

  retort::testing::TemporaryDirectory folder_;
};

TEST_F(ResultFileTest, HoldsRowsClaimsAndLedger) {
  Write({SampleRow(), SampleFailedRow()});
  const Hdf5Reader file = Open();
  EXPECT_EQ(file.TextAttribute("/", "Conventions").value(), "Retort-1");
  EXPECT_EQ(file.TextAttribute("/", "sweep").value(), "quickstart");
  const Table rows = file.CompoundTable("/rows").value();
  EXPECT_EQ(Values<std::string>(rows, "trial"), (std::vector<std::string>{SampleRow().trial, SampleFailedRow().trial}));
  EXPECT_EQ(Values<std::uint64_t>(rows, "seed")[0], 18446744073709551615U);
  const Table claims = file.CompoundTable("/claims").value();
  EXPECT_EQ(Values<std::string>(claims, "trial"), (std::vector<std::string>{SampleRow().trial, SampleRow().trial}));
  EXPECT_EQ(Values<double>(claims, "epsilon"), (std::vector<double>{2.998, std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(Values<std::string>(claims, "adjacency"), (std::vector<std::string>{"example", "teacher"}));
  EXPECT_EQ(Values<std::int64_t>(file.CompoundTable("/ledger").value(), "used"), std::vector<std::int64_t>{40});
}

TEST_F(ResultFileTest, AnyByteThatIsChangedIsNoticed) {
  Write({SampleRow(), SampleFailedRow()});
  const std::string path = folder_ / "results.h5", whole = PosixEnv().ReadFile(path).value();
  constexpr std::size_t kSeal = 20, kMagicOfSeal = 8;
  ASSERT_TRUE(CheckResultFile(folder_.path()).ok());
  for (std::size_t at = 0; at < whole.size(); at += 97) {
    const bool magic = at + kSeal >= whole.size() && at + kSeal < whole.size() + kMagicOfSeal;
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    ASSERT_TRUE(PosixEnv().WriteFileAtomically(path, changed).ok());
    EXPECT_TRUE(magic || CheckResultFile(folder_.path()).code() == StatusCode::damage) << "byte " << at;
  }
  ASSERT_TRUE(PosixEnv().WriteFileAtomically(path, whole.substr(0, whole.size() - kSeal)).ok());
  EXPECT_TRUE(CheckResultFile(folder_.path()).ok()) << "as earlier versions wrote it";
}

TEST_F(ResultFileTest, TimingsLieUnderProvenanceAlone) {
  Write({SampleRow()});
  const Hdf5Reader file = Open();
  const Table rows = file.CompoundTable("/rows").value();
  for (const TableColumn& column : rows) EXPECT_THAT(column.name, ::testing::Not(HasSubstr("seconds")));
  const std::string trial = "dpdfd-sound-digits-s0-1f3a9c2e00000001";
  EXPECT_TRUE(file.Has("/curves/" + trial + "/loss.student"));
  EXPECT_FALSE(file.Has("/curves/" + trial + "/seconds"));
  EXPECT_TRUE(file.Has("/provenance/curves/" + trial + "/seconds"));
  EXPECT_EQ(Values<double>(file.CompoundTable("/provenance/timings").value(), "value"),
            (std::vector<double>{12.5, 0.25}));
}

TEST_F(ResultFileTest, AttemptsAreReachedThroughRelativeLinks) {
  Write({SampleRow(), SampleFailedRow()});
  EXPECT_TRUE(Open().Has("/attempts/1f3a9c2e00000001"));
  EXPECT_FALSE(Open().Has("/attempts/" + SampleFailedRow().trial));
  // As h5py and other readers follow them; Retort's own does not.
  const hid_t file = H5Fopen((folder_ / "results.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t parameter = H5Dopen2(file, "/attempts/1f3a9c2e00000001/student/fc2.weight", H5P_DEFAULT);
  ASSERT_GE(parameter, 0);
  std::vector<float> values(3);
  EXPECT_GE(H5Dread(parameter, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3}));
  H5Dclose(parameter);
  H5Fclose(file);
}

TEST_F(ResultFileTest, ALostAttemptIsNamedAndDoesNotStopThePublication) {
  ResultRow row = SampleRow();
  row.attempt_file = "trials/lost/attempt-1/attempt.h5";
  Write({row});
  EXPECT_THAT(Open().TextAttribute("/curves/dpdfd-sound-digits-s0-1f3a9c2e00000001", "missing").value(),
              HasSubstr("trials/lost/attempt-1/attempt.h5"));
}

TEST_F(ResultFileTest, EqualRowsGiveEqualBytes) {
  Write({SampleRow(), SampleFailedRow()});
  const std::string first = PosixEnv().ReadFile(folder_ / "results.h5").value();
  Write({SampleRow(), SampleFailedRow()});
  EXPECT_EQ(PosixEnv().ReadFile(folder_ / "results.h5").value(), first);
}

TEST_F(ResultFileTest, AFullDiskLeavesTheOldFile) {
  retort::testing::FaultInjectionEnv env;
  ASSERT_TRUE(env.CreateDirectories("results").ok());
  ASSERT_TRUE(WriteResultFile(env, "results", "quickstart", {}, {}).ok());
  const std::string before = env.Bytes("results/results.h5");
  env.FailAll(EnvironmentError("No space left on device"));
  const Status status = WriteResultFile(env, "results", "quickstart", {SampleFailedRow()}, {});
  EXPECT_EQ(status.message(), "No space left on device");
  EXPECT_EQ(env.Bytes("results/results.h5"), before);
  EXPECT_EQ(env.List("results").value(), std::vector<std::string>{"results.h5"});
}

}  // namespace
}  // namespace retort::storage
