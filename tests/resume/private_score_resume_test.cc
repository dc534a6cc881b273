// The score that a private selection reads on private examples: drawn once, however often its worker dies.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "experiments/sweep/select_spec.h"
#include "storage/results/checkpoint_store.h"
#include "tests/unit/worker/tiny_trials.h"
#include "worker/gang/gang_store.h"
#include "worker/gang/gloo_collective.h"
#include "worker/tensors/tensor_codec.h"

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
    spec_.score_noise = 1e6;
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
  // The same by two members over Gloo. How the first one ended.
  cluster::Ended RunGang(std::uint32_t attempt, TrialHost& first, TrialHost& second) {
    spec_.devices = 2;
    const auto store = OpenGangStore("127.0.0.1").value();
    std::array<cluster::Ended, 2> ended;
    std::vector<std::thread> members;
    for (int rank = 0; rank < 2; ++rank) {
      members.emplace_back([&, rank, mine = tiny_.Order(spec_, "scored", attempt)]() mutable {
        mine.start.gang_size = 2;
        mine.start.gang_rank = rank;
        const GangJoiner join = [&](const cluster::Start&, Generation, TrialHost&) {
          return JoinGlooGang({{rank}, 2, {attempt}, store->address(), "127.0.0.1", std::chrono::seconds(20)});
        };
        ended[static_cast<std::size_t>(rank)] = RunTrial(mine, rank == 0 ? first : second, storage::PosixEnv(), join);
      });
    }
    for (std::thread& member : members) member.join();
    if (ended[0].succeeded) {
      EXPECT_TRUE(ended[1].succeeded) << ended[1].detail;
      EXPECT_TRUE(ended[1].metrics.empty()) << "gang rank 0 alone has a score";
    }
    return ended[0];
  }
  // What was right, with its noise.
  static double FindScore(const cluster::Ended& ended) {
    for (const auto& [name, value] : ended.metrics)
      if (name == kPrivateScore) return value * 40;
    ADD_FAILURE() << "there is no score";
    return 0;
  }

  static bool CouldBeACount(double score) { return score >= 0 && score <= 40; }
  // What the transcript of an attempt holds of the place after the last step.
  std::optional<std::int64_t> FindDrawn(std::uint32_t attempt) const {
    std::filesystem::copy(tiny_ / "trials/scored", tiny_ / "copy", std::filesystem::copy_options::recursive);
    auto store = storage::CheckpointStore::Open(storage::PosixEnv(), tiny_ / "copy", attempt + 1).value();
    const std::vector<storage::TranscriptRecord> records = store->Transcript().value();
    std::optional<std::int64_t> drawn;
    for (const storage::TranscriptRecord& record : records)
      if (record.step == spec_.steps && record.released.size() == 1 && record.released[0].name == "released")
        drawn = MakeTensorFromBlob(record.released[0]).value().item<std::int64_t>();
    return drawn;
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
  FakeTrialHost other;
  const cluster::Ended again = RunTrial(tiny_.Order(spec_, "again", 1), other, storage::PosixEnv());
  ASSERT_TRUE(again.succeeded) << again.detail;
  // One draw in 60,000 is what a count could be; no two are.
  EXPECT_FALSE(CouldBeACount(score) && CouldBeACount(FindScore(again))) << "noise of a million examples was not drawn";
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
  const std::optional<std::int64_t> drawn = FindDrawn(1);
  ASSERT_TRUE(drawn);
  FakeTrialHost next;
  next.stop_at = 1;
  const cluster::Ended stopped = Run(2, next);
  ASSERT_EQ(stopped.failure, FailureKind::stopped);
  FakeTrialHost last;
  const cluster::Ended ended = Run(3, last);
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  EXPECT_EQ(CountScores(last), 0) << "it was in the transcript";
  EXPECT_NEAR(FindScore(ended), static_cast<double>(*drawn), 1e-6);
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

TEST_F(PrivateScore, OfAGangIsDrawnOnceAndNotByEachMember) {
  FakeTrialHost first, second;
  const cluster::Ended ended = RunGang(1, first, second);
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  EXPECT_EQ(CountScores(first), 1);
  EXPECT_TRUE(second.grants.empty());
  const double score = FindScore(ended);
  EXPECT_NEAR(score, std::round(score), 1e-6);
}

TEST_F(PrivateScore, OfAGangThatDiesIsNotDrawnAgain) {
  FakeTrialHost other;
  DyingHost dying;
  EXPECT_FALSE(RunGang(1, dying, other).succeeded);
  ASSERT_EQ(CountScores(dying.host), 1);
  const std::optional<std::int64_t> drawn = FindDrawn(1);
  ASSERT_TRUE(drawn);
  FakeTrialHost first, second;
  const cluster::Ended ended = RunGang(2, first, second);
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  EXPECT_EQ(CountScores(first), 0) << "it was in the transcript";
  EXPECT_TRUE(other.grants.empty() && second.grants.empty());
  EXPECT_NEAR(FindScore(ended), static_cast<double>(*drawn), 1e-6);
}

TEST_F(PrivateScore, OfAGangThatLosesAMemberIsDrawnOnce) {
  FakeTrialHost lead, lost, first, second;
  lost.vanish_at = 2;  // after the last step, while the other one draws
  EXPECT_FALSE(RunGang(1, lead, lost).succeeded);
  ASSERT_TRUE(RunGang(2, first, second).succeeded);
  EXPECT_EQ(CountScores(lead) + CountScores(first), 1);
  EXPECT_TRUE(lost.grants.empty() && second.grants.empty());
}

}  // namespace
}  // namespace retort::worker
