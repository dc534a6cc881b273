// Nothing that depends on a released answer leaves a trial before that answer is durable, and nobody waits for it
// before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "experiments/base/number_text.h"
#include "tests/testing/transcript_disk.h"
#include "tests/unit/worker/tiny_trials.h"
#include "worker/gang/local_collective.h"

namespace retort::worker {
namespace {

using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using testing::TranscriptDisk;

// Notes what leaves before the answers of the steps before it are durable.
class Watch {
 public:
  explicit Watch(TranscriptDisk& disk) : disk_(disk) {
    disk.publishing = [this](const std::string& path) { Publish(std::filesystem::path(path).filename().string()); };
  }
  // It depends on the answers of so many steps.
  void See(const std::string& what, std::int64_t answered) {
    const std::set<std::int64_t> durable = disk_.DurableSteps();
    for (std::int64_t step = 0; step < answered; ++step)
      if (durable.count(step) == 0) early_.insert(what);
    seen_.insert(what);
    if (what == "report" && answered > 0 && on_report) on_report();
  }
  [[nodiscard]] const std::set<std::string>& early() const { return early_; }
  [[nodiscard]] const std::set<std::string>& seen() const { return seen_; }
  std::int64_t steps = 0;           // of the trial
  std::function<void()> on_report;  // of a step

 private:
  void Publish(const std::string& name) {
    if (name == "attempt.h5") See("row", steps);
    if (!name.starts_with("checkpoint-")) return;
    const std::string text = name.substr(11, name.size() - 14);
    See("checkpoint",
        static_cast<std::int64_t>(ParseWholeNumber(text, std::numeric_limits<std::int32_t>::max()).value()));
  }

  TranscriptDisk& disk_;
  std::set<std::string> early_, seen_;
};

// A host that shows the watch what it is told.
class WatchedHost final : public TrialHost {
 public:
  // Each answer takes so many draws.
  WatchedHost(Watch& watch, std::int64_t draws) : watch_(watch), draws_(draws) {}

  Result<std::uint64_t> Reserve(const privacy::PrivacyEvent& event, std::int64_t count) override {
    watch_.See("reservation", reserved_ / draws_);
    reserved_ += count;
    return host_.Reserve(event, count);
  }
  Status Settle(std::uint64_t id, std::int64_t used) override {
    used_ += used;
    watch_.See("settlement", used_ / draws_);
    return host_.Settle(id, used);
  }
  Status Report(const cluster::Progress& progress) override {
    watch_.See("report", progress.step);
    return host_.Report(progress);
  }
  Status Report(const cluster::CheckpointCommitted& committed) override {
    watch_.See("commit", committed.step);
    return host_.Report(committed);
  }
  Status AnnounceGang(const std::string&) override { return {}; }
  Result<std::string> AwaitGang(std::chrono::milliseconds) override { return EnvironmentError("There is no gang."); }
  std::optional<cluster::Stop> StopRequested() override { return host_.StopRequested(); }
  [[nodiscard]] FakeTrialHost& twin() { return host_; }

 private:
  Watch& watch_;
  std::int64_t draws_, reserved_ = 0, used_ = 0;
  FakeTrialHost host_;
};

class DurableAnswers : public ::testing::Test {
 protected:
  DurableAnswers() {
    spec_ = tiny_.Student(Reading::working);  // six steps, each answers all rows of its batch
    spec_.execution.checkpoint_steps = 3;
    watch_.steps = spec_.steps;
    teacher_ = tiny_.TeacherFile("plain");
  }
  cluster::Ended Run(const std::string& name, std::int64_t stop_at = 0) {
    WatchedHost host(watch_, spec_.batch);
    host.twin().stop_at = stop_at;
    return RunTrial(tiny_.Order(spec_, name, 1, teacher_), host, disk_);
  }

  const TinyTrials tiny_;
  TrialSpec spec_;
  std::string teacher_;
  TranscriptDisk disk_{storage::PosixEnv()};
  Watch watch_{disk_};
};

TEST_F(DurableAnswers, NothingLeavesBeforeThem) {
  disk_.Delay(std::chrono::milliseconds(20));
  const cluster::Ended ended = Run("slow");
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  EXPECT_THAT(watch_.early(), IsEmpty());
  EXPECT_EQ(watch_.seen(),
            (std::set<std::string>{"checkpoint", "commit", "report", "reservation", "row", "settlement"}));
}

TEST_F(DurableAnswers, StoppedTrialSaysNothingBeforeThem) {
  disk_.Delay(std::chrono::milliseconds(20));
  EXPECT_EQ(Run("stopped", 5).failure, FailureKind::stopped);
  EXPECT_THAT(watch_.early(), IsEmpty());
  EXPECT_EQ(disk_.DurableSteps(), (std::set<std::int64_t>{0, 1, 2, 3}));
}

// That a loss is not finite says something of the answer that made it so.
TEST_F(DurableAnswers, FailureIsToldAfterThem) {
  spec_.optimization.lr = 1e30;
  disk_.Delay(std::chrono::milliseconds(20));
  const cluster::Ended ended = Run("failed");
  ASSERT_EQ(ended.failure, FailureKind::not_finite) << ended.detail;
  EXPECT_THAT(watch_.early(), IsEmpty());
  const std::size_t number = ended.detail.find_first_of("0123456789", ended.detail.rfind("after"));
  ASSERT_NE(number, std::string::npos) << ended.detail;
  EXPECT_EQ(disk_.DurableSteps().count(std::stoll(ended.detail.substr(number))), 1U) << ended.detail;
}

// What makes the tests above able to fail.
TEST_F(DurableAnswers, DiskThatSyncsNothingIsSeenEverywhere) {
  disk_.Forget();
  ASSERT_TRUE(Run("forgetful").succeeded);
  EXPECT_THAT(watch_.early(), IsSupersetOf({"checkpoint", "commit", "report", "reservation", "row", "settlement"}));
}

TEST_F(DurableAnswers, DiskThatFailsEndsTheTrialWithItsWords) {
  watch_.on_report = [this] { disk_.Break(EnvironmentError("The disk is full.")); };
  const cluster::Ended ended = Run("broken");
  EXPECT_EQ(ended.failure, FailureKind::disk) << ended.detail;
  EXPECT_EQ(ended.detail, "The disk is full.");
  EXPECT_EQ(watch_.seen().count("settlement"), 0U) << "the reservation stays charged in full";
}

// Gang rank 0 alone knows what is durable.
TEST_F(DurableAnswers, OtherMembersOfAGangSayNothingOfThem) {
  auto gang = MakeLocalGang(2, std::chrono::seconds(20));
  std::vector<cluster::Ended> ended(2);
  FakeTrialHost hosts[2];
  std::vector<std::thread> members;
  const TrialOrder order = tiny_.Order(spec_, "gang", 1, teacher_);
  for (int rank = 0; rank < 2; ++rank) {
    members.emplace_back([&, rank, mine = order]() mutable {
      const auto at = static_cast<std::size_t>(rank);
      mine.start.gang_size = 2;
      mine.start.gang_rank = rank;
      const GangJoiner join = [&](const cluster::Start&, Generation, TrialHost&) {
        return Result<std::unique_ptr<Collective>>(std::move(gang[at]));
      };
      ended[at] = RunTrial(mine, hosts[at], disk_, join);
    });
  }
  for (std::thread& member : members) member.join();
  for (const cluster::Ended& end : ended) ASSERT_TRUE(end.succeeded) << end.detail;
  EXPECT_FALSE(hosts[0].progress.back().series.empty());
  for (const cluster::Progress& progress : hosts[1].progress) EXPECT_TRUE(progress.series.empty());
}

}  // namespace
}  // namespace retort::worker
