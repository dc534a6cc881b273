#include "worker/socket_host.h"

#include <gtest/gtest.h>

namespace retort::worker {
namespace {

const AttemptId kAttempt{TrialId(7), 1};
const Generation kGeneration{3};

TEST(SocketHost, AgentThatTalksWithoutEndDoesNotKeepTheTrialFromItsWork) {
  const cluster::SocketPair pair = cluster::MakeSocketPair().value();
  cluster::SocketLink agent(pair.first, cluster::SendMode::queued), own(pair.second);
  SocketHost host(own, kAttempt, kGeneration);
  constexpr int kMessages = 1000;
  for (int i = 0; i < kMessages; ++i)
    ASSERT_TRUE(agent.Send({kAttempt, kGeneration, 0, cluster::Reserved{99, true, ""}}).ok());
  ASSERT_TRUE(agent.Send({kAttempt, kGeneration, 0, cluster::Stop{true, 5}}).ok());
  int asked = 0;
  for (std::optional<cluster::Stop> stop; !stop && asked < kMessages; ++asked) {
    stop = host.StopRequested();
    ASSERT_TRUE(agent.Flush(std::chrono::milliseconds(0)).ok() || agent.has_queued());
  }
  EXPECT_GE(asked, kMessages / 256) << "it read everything at once";
  EXPECT_LT(asked, kMessages);
  EXPECT_TRUE(host.StopRequested().has_value());
}

}  // namespace
}  // namespace retort::worker
