#include "worker/self_report.h"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/headeronly/version.h>

#include <variant>

#include "cluster/envelope.h"

namespace retort::worker {
namespace {

using ::testing::HasSubstr;

TEST(SelfReport, NamesBuildLibraryAndMeasuredSpeed) {
  const Result<cluster::WorkerReport> report = ReportSelf("9.8.7", at::get_num_threads());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->build, "9.8.7");
  EXPECT_EQ(report->envelope, cluster::kEnvelopeVersion);
  EXPECT_EQ(report->torch, TORCH_VERSION);
  EXPECT_EQ(report->threads, at::get_num_threads());
  EXPECT_NE(report->capability, "");
  EXPECT_GT(report->gflops, 0.01);
  EXPECT_LT(report->gflops, 1e5);  // no host of today has that: a product that did not happen would
}

TEST(SelfReport, WrongNumberOfThreadsIsRefused) {
  for (const char* threads : {"", "0", "-1", "two", "2x", "1025"}) {
    Result<cluster::SocketPair> sockets = cluster::MakeSocketPair();
    ASSERT_TRUE(sockets.ok());
    cluster::SocketLink worker(sockets->first), asker(sockets->second);
    ASSERT_TRUE(ServeReport(worker, "9.8.7", threads).ok());
    const auto said = asker.Receive(std::chrono::seconds(5));
    ASSERT_TRUE(said.ok() && said->has_value());
    const auto* ended = std::get_if<cluster::Ended>(&(*said)->message);
    ASSERT_NE(ended, nullptr) << threads;
    EXPECT_FALSE(ended->succeeded);
    EXPECT_EQ(ended->failure, FailureKind::configuration);
    EXPECT_THAT(ended->detail, HasSubstr("no number of threads"));
  }
}

}  // namespace
}  // namespace retort::worker
