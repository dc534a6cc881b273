#include "orchestrator/agent/worker_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retort::orchestrator {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

TEST(NcclEnvironment, EverySlotIsAHostOfItsOwn) {
  EXPECT_THAT(MakeNcclEnvironment({"PATH=/bin"}, "gpu01", WorldRank{1}, 2),
              UnorderedElementsAre(Pair("NCCL_HOSTID", "gpu01-rank1-slot2"), Pair("NCCL_SOCKET_IFNAME", "lo"),
                                   Pair("NCCL_IB_DISABLE", "1")));
}

TEST(NcclEnvironment, TheUsersInterfaceStaysAndAHostIdDoesNot) {
  EXPECT_THAT(MakeNcclEnvironment({"NCCL_HOSTID=one", "NCCL_SOCKET_IFNAME=eth1", "NCCL_IB_DISABLE=0"}, "gpu01",
                                  WorldRank{0}, 0),
              UnorderedElementsAre(Pair("NCCL_HOSTID", "gpu01-rank0-slot0")));
}

}  // namespace
}  // namespace retort::orchestrator
