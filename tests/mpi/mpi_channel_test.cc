// The channel contract over MPI, one process for each rank, and what only MPI can get wrong.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "cluster/mpi_world.h"
#include "cluster/waiting.h"
#include "tests/contract/channel_contract.h"

namespace retort::testing {
namespace {

// The world of this process; MPI can be opened only once.
cluster::MpiWorld* g_world = nullptr;

class MpiProcesses {
 public:
  [[nodiscard]] int size() const { return RANKS; }
  void Run(const std::function<void(Channel&)>& body) { body(g_world->channel()); }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Mpi, ChannelContract, MpiProcesses);

double CpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(MpiChannelTest, AnIdleRankUsesLessThanTwoPercentOfACore) {
  Channel& channel = g_world->channel();
  Inbox(channel).Meet();
  cluster::IdleWait wait;
  const auto begin = std::chrono::steady_clock::now();
  const double cpu = CpuSeconds();
  while (std::chrono::steady_clock::now() - begin < std::chrono::seconds(2)) {
    const auto nothing = channel.Receive();
    ASSERT_TRUE(nothing.ok() && !nothing->has_value());
    wait.Wait({}, std::chrono::milliseconds(1000));
  }
  const double used = CpuSeconds() - cpu;
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("rank %d idle: %.2f %% of a core\n", channel.rank().value, 100 * used / elapsed);
  EXPECT_LT(used / elapsed, 0.02);
  // Nobody sends before all have measured.
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  Inbox(channel).Meet();
}

TEST(MpiChannelTest, IdleRoundTripIsShorterThanTheLongestPause) {
  Channel& channel = g_world->channel();
  Inbox inbox(channel);
  inbox.Meet();
  if (channel.rank() == WorldRank{0}) {
    const auto begin = std::chrono::steady_clock::now();
    constexpr int kRounds = 20;
    for (int i = 0; i < kRounds; ++i) {
      EXPECT_TRUE(channel.Send({1}, Numbered(1, 100)).ok());
      inbox.From({1});
    }
    const std::chrono::duration<double, std::milli> each = (std::chrono::steady_clock::now() - begin) / kRounds;
    std::printf("round trip with adaptive sleep: %.2f ms\n", each.count());
    EXPECT_LT(each.count(), 1000);  // a hang shows; the figure above is for people
  } else if (channel.rank() == WorldRank{1}) {
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(channel.Send({0}, inbox.From({0})).ok());
    }
  }
  inbox.Meet();
}

// Left for Finalize on purpose: it must send what is queued and take in what nobody asked for.
TEST(MpiChannelTest, UnreadAndUnsentMessagesDoNotHinderTheEnd) {
  Channel& channel = g_world->channel();
  const WorldRank to{channel.rank().value == 0 ? 1 : 0};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(channel.Send(to, Numbered(1, 2'000'000)).ok());
}

}  // namespace
}  // namespace retort::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  std::vector<std::string> environment;
  for (char** entry = ::environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  retort::cluster::LaunchEnvironment launch = retort::cluster::ReadLaunchEnvironment(environment);
  if (launch.mpi_library.empty()) launch.mpi_library = MPI_LIBRARY;
  auto world = retort::cluster::OpenMpiWorld(launch);
  if (!world.ok()) {
    std::fprintf(stderr, "%s\n", world.status().message().c_str());
    return 3;
  }
  retort::testing::g_world = world->get();
  const int failed = RUN_ALL_TESTS();
  const auto end = (*world)->Finalize(std::chrono::seconds(30));
  if (!end.ok()) std::fprintf(stderr, "%s\n", end.message().c_str());
  return failed != 0 || !end.ok() ? 1 : 0;
}
