#include "monitoring/connections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace retort::monitoring {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr OpenConnections::Time kStart{};
constexpr Peer kOwner{0x0100007f, 1000}, kStranger{0x0100007f, 1001}, kFar{0x0a00000a, std::nullopt};

TEST(OpenConnections, FifthOfAPeerEndsItsOldestAndNobodyElses) {
  OpenConnections open({});
  EXPECT_THAT(open.Began(10, kOwner, kStart), IsEmpty());
  for (int socket = 20; socket < 24; ++socket) EXPECT_THAT(open.Began(socket, kStranger, kStart), IsEmpty());
  EXPECT_THAT(open.Began(24, kStranger, kStart), ElementsAre(20));
  EXPECT_THAT(open.Began(25, kStranger, kStart), ElementsAre(21));
  EXPECT_THAT(open.Began(30, kFar, kStart), IsEmpty());
}

TEST(OpenConnections, PeersAreUsersOfAnAddress) {
  OpenConnections open({.max_per_peer = 1});
  EXPECT_THAT(open.Began(1, kOwner, kStart), IsEmpty());
  EXPECT_THAT(open.Began(2, kStranger, kStart), IsEmpty());
  EXPECT_THAT(open.Began(3, {kOwner.address, std::nullopt}, kStart), IsEmpty());
  EXPECT_THAT(open.Began(4, {kOwner.address, std::nullopt}, kStart), ElementsAre(3));
}

TEST(OpenConnections, FullHouseLosesItsOldestSoThatOnePlaceIsFree) {
  OpenConnections open({.connections = 4});
  for (int socket = 1; socket <= 3; ++socket)
    EXPECT_THAT(open.Began(socket, {static_cast<std::uint32_t>(socket), std::nullopt}, kStart), IsEmpty());
  EXPECT_THAT(open.Began(4, kOwner, kStart), ElementsAre(1));
  open.Ended(3);
  EXPECT_THAT(open.Began(5, kFar, kStart), IsEmpty());
  EXPECT_THAT(open.Began(6, kStranger, kStart), ElementsAre(2));
}

TEST(OpenConnections, WhatTakesTooLongIsOverdueHoweverBusyItIs) {
  OpenConnections open({.whole = milliseconds(2000)});
  EXPECT_FALSE(open.NextDue().has_value());
  ASSERT_THAT(open.Began(1, kOwner, kStart), IsEmpty());
  ASSERT_THAT(open.Began(2, kFar, kStart + seconds(1)), IsEmpty());
  EXPECT_EQ(open.NextDue(), kStart + seconds(2));
  EXPECT_THAT(open.Overdue(kStart + milliseconds(1999)), IsEmpty());
  EXPECT_THAT(open.Overdue(kStart + seconds(2)), ElementsAre(1));
  EXPECT_EQ(open.NextDue(), kStart + seconds(3));
  EXPECT_THAT(open.Overdue(kStart + seconds(9)), ElementsAre(2));
  EXPECT_FALSE(open.NextDue().has_value());
}

}  // namespace
}  // namespace retort::monitoring
