#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "cluster/waiting.h"

namespace retort::cluster {
namespace {

using std::chrono::milliseconds;

TEST(IdleWaitTest, ThePauseDoublesToItsLongestAndResets) {
  IdleWait wait(milliseconds(1), milliseconds(6));
  for (const int expected : {2, 4, 6, 6}) {
    EXPECT_FALSE(wait.Wait({}, milliseconds(50)));
    EXPECT_EQ(wait.pause(), milliseconds(expected));
  }
  wait.Reset();
  EXPECT_EQ(wait.pause(), milliseconds(1));
}

TEST(IdleWaitTest, AReadableDescriptorEndsTheWaitAtOnce) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  IdleWait wait(milliseconds(60'000), milliseconds(60'000));
  const auto begin = std::chrono::steady_clock::now();
  const std::array<int, 2> descriptors = {-1, ends[0]};
  EXPECT_TRUE(wait.Wait(descriptors, milliseconds(60'000)));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(30'000));
  ::close(ends[1]);
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  EXPECT_TRUE(wait.Wait(descriptors, milliseconds(60'000)));  // closed by the other side
  ::close(ends[0]);
}

TEST(IdleWaitTest, TheCallersLimitShortensThePause) {
  IdleWait wait(milliseconds(60'000), milliseconds(60'000));
  EXPECT_FALSE(wait.Wait({}, milliseconds(1)));
}

TEST(SpawnBackoffTest, EarlyDeathsPauseTwiceAsLongEachTimeUpToTheCap) {
  SpawnBackoff backoff({milliseconds(100), milliseconds(350), milliseconds(1000), 5});
  SpawnBackoff::TimePoint now{};
  for (const int pause : {100, 200, 350, 350}) {
    EXPECT_TRUE(backoff.MaySpawn(now));
    backoff.Spawned(now);
    backoff.Ended(now);
    EXPECT_EQ(backoff.not_before(), now + milliseconds(pause));
    EXPECT_FALSE(backoff.MaySpawn(now + milliseconds(pause - 1)));
    now = backoff.not_before();
  }
  EXPECT_FALSE(backoff.GaveUp());
  backoff.Spawned(now);
  backoff.Ended(now);
  EXPECT_TRUE(backoff.GaveUp());
  EXPECT_FALSE(backoff.MaySpawn(now + std::chrono::hours(1)));
}

TEST(SpawnBackoffTest, AWorkerThatLivedOrProvedItselfIsRestartedAtOnce) {
  SpawnBackoff backoff({milliseconds(100), milliseconds(1000), milliseconds(5000), 3});
  const SpawnBackoff::TimePoint begin{};
  for (int i = 0; i < 10; ++i) {
    backoff.Spawned(begin);
    backoff.Ended(begin + milliseconds(5000));
    EXPECT_TRUE(backoff.MaySpawn(begin + milliseconds(5000)));
    backoff.Spawned(begin);
    backoff.MarkHealthy();
    backoff.Ended(begin + milliseconds(1));
    EXPECT_TRUE(backoff.MaySpawn(begin + milliseconds(1)));
  }
  EXPECT_FALSE(backoff.GaveUp());
}

TEST(SpawnBackoffTest, ProofCountsForOneLifeOnly) {
  SpawnBackoff backoff;
  const SpawnBackoff::TimePoint begin{};
  backoff.Spawned(begin);
  backoff.MarkHealthy();
  backoff.Ended(begin);
  backoff.Spawned(begin);
  backoff.Ended(begin);
  EXPECT_FALSE(backoff.MaySpawn(begin));
}

}  // namespace
}  // namespace retort::cluster
