// Every method in a gang: the same trial as on one device, but for rounding; the same ledger; and the same bits
// again after an interruption. The members are threads, on the in-process twin of the collective.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "storage/results/hdf5_conventions.h"
#include "tests/unit/worker/trial_cases.h"
#include "worker/gang/local_collective.h"

namespace retort::worker {
namespace {

// Sums in another order round differently; a few steps of Adam enlarge that.
constexpr double kTolerance = 2e-3;

struct GangRun {
  std::vector<cluster::Ended> ended;
  std::vector<std::unique_ptr<FakeTrialHost>> hosts;
  std::string file;  // attempt.h5
};

class GangTrial : public ::testing::TestWithParam<TrialCase> {
 protected:
  static void SetUpTestSuite() { tiny_ = new TinyTrials; }
  static void TearDownTestSuite() {
    delete tiny_;
    tiny_ = nullptr;
    whole_.clear();
  }

  // `prepare` may tell a host what to do.
  static GangRun Run(const std::string& name, std::uint32_t number, int size,
                     const std::function<void(int, FakeTrialHost&)>& prepare = {}) {
    const TrialCase& c = GetParam();
    const std::string teacher = c.teacher.empty() ? "" : tiny_->TeacherFile(c.teacher);
    TrialOrder order = tiny_->Order(c.spec(*tiny_), GetParam().name + name, number, teacher);
    order.start.gang_size = size;
    GangRun run;
    run.file = order.start.attempt_directory + "/attempt.h5";
    run.ended.resize(static_cast<std::size_t>(size));
    auto gang = MakeLocalGang(size, std::chrono::seconds(20));
    std::vector<std::thread> members;
    for (int rank = 0; rank < size; ++rank) run.hosts.push_back(std::make_unique<FakeTrialHost>());
    for (int rank = 0; rank < size; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      if (rank > 0) run.hosts[at]->stop_at = 1;  // only a broken gang asks: nobody is to wait for the blame here
      if (prepare) prepare(rank, *run.hosts[at]);
      members.emplace_back([&run, &gang, order, at, rank]() mutable {
        order.start.gang_rank = rank;
        const GangJoiner join = [&](const cluster::Start&, Generation, TrialHost&) {
          return Result<std::unique_ptr<Collective>>(std::move(gang[at]));
        };
        run.ended[at] = RunTrial(order, *run.hosts[at], storage::PosixEnv(), join);
      });
    }
    for (std::thread& member : members) member.join();
    return run;
  }

  // The undisturbed trial of a gang of this size: one for all tests of a case.
  static const GangRun& Whole(int size) {
    const auto [found, is_new] = whole_.try_emplace({GetParam().name, size});
    if (is_new) found->second = Run("-whole-" + std::to_string(size), 1, size);
    return found->second;
  }

  static storage::AttemptFile ReadRunFile(const GangRun& run) {
    auto file = storage::ReadAttemptFile(run.file);
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? *file : storage::AttemptFile();
  }

  static TinyTrials* tiny_;
  static std::map<std::pair<std::string, int>, GangRun> whole_;  // by case and size
};
TinyTrials* GangTrial::tiny_ = nullptr;
std::map<std::pair<std::string, int>, GangRun> GangTrial::whole_;

TEST_P(GangTrial, IsTheTrialOfASingleDevice) {
  const GangRun& single = Whole(1);
  ASSERT_TRUE(single.ended[0].succeeded) << single.ended[0].detail;
  const storage::AttemptFile want = ReadRunFile(single);
  std::vector<int> sizes = {2, 3};
  // more than it has members
  const std::string& teacher = GetParam().teacher;
  if (teacher == "ensemble" || teacher == "networks" || teacher == "ridge") sizes.push_back(7);
  for (const int size : sizes) {
    SCOPED_TRACE("gang of " + std::to_string(size));
    const GangRun& gang = Whole(size);
    for (const cluster::Ended& ended : gang.ended) ASSERT_TRUE(ended.succeeded) << ended.detail;
    ASSERT_EQ(gang.ended[0].metrics.size(), single.ended[0].metrics.size());
    for (std::size_t i = 0; i < gang.ended[0].metrics.size(); ++i)
      EXPECT_NEAR(gang.ended[0].metrics[i].second, single.ended[0].metrics[i].second, 0.051)  // two of forty
          << gang.ended[0].metrics[i].first;
    const storage::AttemptFile got = ReadRunFile(gang);
    ASSERT_EQ(got.curves.size(), want.curves.size());
    for (const auto& [name, points] : want.curves) {
      ASSERT_TRUE(got.curves.contains(name));
      const auto& found = got.curves.at(name);
      ASSERT_EQ(found.size(), points.size()) << name;
      for (std::size_t i = 0; i < points.size() && !storage::IsTiming(name) && name != "public.accuracy"; ++i) {
        EXPECT_EQ(found[i].first, points[i].first);
        EXPECT_NEAR(found[i].second, points[i].second, kTolerance * (1 + std::abs(points[i].second)))
            << name << " at step " << points[i].first;
      }
    }
  }
}

TEST_P(GangTrial, ChargesAsOneDeviceOnRankZeroAlone) {
  const GangRun &single = Whole(1), &gang = Whole(3);
  const auto &want = single.hosts[0]->grants, &got = gang.hosts[0]->grants;
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [id, grant] : want) {
    EXPECT_EQ(privacy::EncodeEvent(got.at(id).event), privacy::EncodeEvent(grant.event));
    EXPECT_EQ(got.at(id).count, grant.count);
    EXPECT_EQ(got.at(id).used, grant.used);
  }
  for (std::size_t rank = 1; rank < 3; ++rank) {
    EXPECT_TRUE(gang.hosts[rank]->grants.empty());
    EXPECT_TRUE(gang.hosts[rank]->checkpoints.empty());
  }
}

TEST_P(GangTrial, GoesOnWithTheSameBitsAfterAnInterruption) {
  const GangRun& whole = Whole(2);
  ASSERT_TRUE(whole.ended[0].succeeded) << whole.ended[0].detail;
  for (const bool polite : {true, false}) {
    const std::string name = polite ? "-stopped" : "-crashed";
    const GangRun first = Run(name, 1, 2, [polite](int rank, FakeTrialHost& host) {
      if (polite) host.stop_at = rank == 0 ? 2 : 1;
      if (rank == 0 && !polite) host.vanish_at = 1;
      if (rank == 1 && !polite && GetParam().name == "PlainTeacher") host.stop_at = 0;  // waits for the blame
    });
    ASSERT_FALSE(first.ended[0].succeeded);
    EXPECT_EQ(first.ended[0].failure, polite ? FailureKind::stopped : FailureKind::agent_lost);
    if (polite) {
      EXPECT_EQ(first.ended[1].failure, FailureKind::stopped) << "gang rank 0 speaks for it";
    } else if (GetParam().name == "PlainTeacher") {
      EXPECT_EQ(first.ended[1].failure, FailureKind::gang_broken);
    }
    const GangRun second = Run(name, 2, 2);
    ASSERT_TRUE(second.ended[0].succeeded) << second.ended[0].detail;
    EXPECT_EQ(second.ended[0].parameters_digest, whole.ended[0].parameters_digest);
    EXPECT_EQ(second.ended[0].metrics, whole.ended[0].metrics);
  }
}

TEST_P(GangTrial, RefusesACheckpointOfAnotherGangSize) {
  const GangRun first = Run("-resized", 1, 2, [](int rank, FakeTrialHost& host) {
    if (rank == 0) host.stop_at = 2;
  });
  ASSERT_EQ(first.ended[0].failure, FailureKind::stopped);
  const GangRun second = Run("-resized", 2, 1);
  ASSERT_FALSE(second.ended[0].succeeded);
  EXPECT_NE(second.ended[0].detail.find("the checkpoint has 2, this attempt 1"), std::string::npos)
      << second.ended[0].detail;
}

INSTANTIATE_TEST_SUITE_P(EveryMethod, GangTrial, ::testing::ValuesIn(kTrialCases),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace retort::worker
