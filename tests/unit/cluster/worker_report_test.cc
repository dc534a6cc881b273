#include "cluster/worker_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retort::cluster {
namespace {

using ::testing::HasSubstr;

TEST(WorkerReport, RoundTripsExactly) {
  const WorkerReport report{"0.1.0", 1, "2.11.0", "AVX2", 2, 138.25};
  const Result<WorkerReport> read = DecodeWorkerReport(EncodeWorkerReport(report));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->build, report.build);
  EXPECT_EQ(read->envelope, report.envelope);
  EXPECT_EQ(read->torch, report.torch);
  EXPECT_EQ(read->capability, report.capability);
  EXPECT_EQ(read->threads, report.threads);
  EXPECT_EQ(read->gflops, report.gflops);
}

TEST(WorkerReport, MissingFieldIsNamed) {
  const Result<WorkerReport> read = DecodeWorkerReport(R"({"build": "0.1.0", "envelope": 1})");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), StatusCode::damage);
  EXPECT_THAT(read.status().message(), HasSubstr("torch"));
  EXPECT_FALSE(DecodeWorkerReport("no JSON").ok());
}

}  // namespace
}  // namespace retort::cluster
