// The score that a private selection reads on private examples: drawn once, however often its worker dies.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "experiments/sweep/select_spec.h"
#include "tests/unit/worker/tiny_trials.h"

namespace retort::worker {
namespace {

bool IsScore(const privacy::PrivacyEvent& event) { return event.kind == privacy::MechanismKind::validation_count; }

// Dies when the score's block is to be settled: after the draw, before the row.
class DyingHost final : public TrialHost {
 public:
  Result<std::uint64_t> Reserve(const privacy::PrivacyEvent& event, std::int64_t count) override {
    return host.Reserve(event, count);
  }
  Status Settle(std::uint64_t id, std::int64_t used) override {
    if (IsScore(host.grants.at(id).event)) return EnvironmentError("The agent is gone.");
    return host.Settle(id, used);
  }
  Status Report(const cluster::Progress& progress) override { return host.Report(progress); }
  Status Report(const cluster::CheckpointCommitted& committed) override { return host.Report(committed); }
  Status AnnounceGang(const std::string&) override { return {}; }
  Result<std::string> AwaitGang(std::chrono::milliseconds) override { return EnvironmentError("There is no gang."); }
  std::optional<cluster::Stop> StopRequested() override { return std::nullopt; }
  FakeTrialHost host;
};

class PrivateScore : public ::testing::Test {
 protected:
  PrivateScore() {
    spec_ = tiny_.DpSgdStudent();
    auto data = std::make_shared<DataSpec>(*spec_.data);
    data->split.public_range = {0, 0};
    data->split.validation = {120, 160};
    spec_.data = data;
    spec_.noise = NoiseMode::secure;
    spec_.score = kPrivateScore;
    spec_.score_noise = 1e5;
    spec_.draw = "0123456789abcdef 0123456789abcdef";
  }
  static std::int64_t CountScores(const FakeTrialHost& host) {
    std::int64_t draws = 0;
    for (const auto& [id, grant] : host.grants) draws += IsScore(grant.event) ? grant.count : 0;
    return draws;
  }
  cluster::Ended Run(std::uint32_t attempt, TrialHost& host) {
    return RunTrial(tiny_.Order(spec_, "scored", attempt), host, storage::PosixEnv());
  }
  // What was right, with its noise.
  static double FindScore(const cluster::Ended& ended) {
    for (const auto& [name, value] : ended.metrics)
      if (name == kPrivateScore) return value * 40;
    ADD_FAILURE() << "there is no score";
    return 0;
  }

  const TinyTrials tiny_;
  TrialSpec spec_;
};

TEST_F(PrivateScore, IsChargedOnceAndHasItsNoise) {
  FakeTrialHost host;
  const cluster::Ended ended = Run(1, host);
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  EXPECT_EQ(CountScores(host), 1);
  const double score = FindScore(ended);
  EXPECT_NEAR(score, std::round(score), 1e-6);
  EXPECT_GT(std::abs(score), 40) << "noise of 100,000 examples was not drawn";
  for (const auto& [id, grant] : host.grants) {
    if (!IsScore(grant.event)) continue;
    EXPECT_EQ(grant.used, 1);
    EXPECT_EQ(grant.event.facts, privacy::ListNeededFacts(grant.event.kind));
    EXPECT_EQ(grant.event.source, privacy::NoiseSource::secure_lattice);
  }
  for (const cluster::Progress& said : host.progress)
    for (const auto& [name, value] : said.series) EXPECT_EQ(name.find("validation"), std::string::npos) << name;
}

TEST_F(PrivateScore, ThatWasDrawnIsNotDrawnAgain) {
  DyingHost dying;
  EXPECT_FALSE(Run(1, dying).succeeded);
  ASSERT_EQ(CountScores(dying.host), 1);
  FakeTrialHost next;
  next.stop_at = 1;
  const cluster::Ended stopped = Run(2, next);
  ASSERT_EQ(stopped.failure, FailureKind::stopped);
  FakeTrialHost last;
  const cluster::Ended ended = Run(3, last);
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  EXPECT_EQ(CountScores(last), 0) << "it was in the transcript";
  EXPECT_GT(std::abs(FindScore(ended)), 40);
}

TEST_F(PrivateScore, ThatIsLostIsChargedAgain) {
  DyingHost dying;
  EXPECT_FALSE(Run(1, dying).succeeded);
  std::filesystem::remove_all(tiny_ / "trials/scored");
  FakeTrialHost next;
  ASSERT_TRUE(Run(2, next).succeeded);
  EXPECT_EQ(CountScores(next), 1);
}

TEST_F(PrivateScore, ThatIsRefusedIsNotDrawn) {
  FakeTrialHost all;
  ASSERT_TRUE(Run(1, all).succeeded);
  std::filesystem::remove_all(tiny_ / "trials/scored");
  FakeTrialHost poor;
  poor.refuse_at = static_cast<std::int64_t>(all.grants.size());  // the score's is the last
  const cluster::Ended ended = Run(2, poor);
  EXPECT_EQ(ended.failure, FailureKind::budget_refused) << ended.detail;
  EXPECT_TRUE(ended.metrics.empty());
}

}  // namespace
}  // namespace retort::worker
