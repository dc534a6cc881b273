// FedAvg of one client is plain training; of several it is the mean of what each of them trains.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/worker/tiny_trials.h"
#include "worker/tensors/tensor_codec.h"

namespace retort::worker {
namespace {

storage::AttemptFile RunIn(const TinyTrials& tiny, const TrialSpec& spec, const std::string& name) {
  FakeTrialHost host;
  const TrialOrder order = tiny.Order(spec, name, 1);
  const cluster::Ended ended = RunTrial(order, host, storage::PosixEnv());
  EXPECT_TRUE(ended.succeeded) << ended.detail;
  EXPECT_TRUE(host.grants.empty()) << "nothing is released, nothing is charged";
  auto file = storage::ReadAttemptFile(order.start.attempt_directory + "/attempt.h5");
  EXPECT_TRUE(file.ok()) << file.status().message();
  return file.ok() ? *file : storage::AttemptFile();
}

struct FederatedCase {
  std::string network;
  Optimizer optimizer;
};

class OneClient : public ::testing::TestWithParam<FederatedCase> {};

TEST_P(OneClient, IsPlainTrainingBitForBit) {
  const TinyTrials tiny;
  TrialSpec federated = tiny.Baseline("fedavg");
  federated.network = GetParam().network;
  federated.optimization.optimizer = GetParam().optimizer;
  federated.shards.clients = 1;
  federated.rounds = 1;
  TrialSpec plain = federated;
  plain.role = Role::teacher;
  plain.method = "plain";
  const storage::AttemptFile one = RunIn(tiny, federated, "one-client"), other = RunIn(tiny, plain, "plain");
  ASSERT_EQ(one.parameters.size(), other.parameters.size());
  for (std::size_t i = 0; i < one.parameters.size(); ++i) {
    EXPECT_EQ("teacher/" + one.parameters[i].name.substr(sizeof("student/") - 1), other.parameters[i].name);
    EXPECT_EQ(one.parameters[i].bytes, other.parameters[i].bytes) << one.parameters[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, OneClient,
                         ::testing::Values(FederatedCase{"datalens-x0.125", Optimizer::adam},
                                           FederatedCase{"wrn16-1", Optimizer::sgd}),
                         [](const auto& test) { return test.index == 0 ? "Dropout" : "BatchNorms"; });

TEST(FederatedAveraging, OfSeveralClientsIsAnotherNetworkThanOfOne) {
  const TinyTrials tiny;
  TrialSpec spec = tiny.Baseline("fedavg");
  const storage::AttemptFile three = RunIn(tiny, spec, "three");
  spec.shards.clients = 1;
  EXPECT_NE(three.parameters, RunIn(tiny, spec, "one").parameters);
}

// Without a step in between, the mean of equal parameters is those parameters: a rate of nearly zero leaves them.
TEST(FederatedAveraging, KeepsTheCommonParametersWhereNobodyMoves) {
  const TinyTrials tiny;
  TrialSpec spec = tiny.Baseline("fedavg");
  spec.optimization.optimizer = Optimizer::sgd;
  spec.optimization.lr = 1e-30;
  const storage::AttemptFile moved = RunIn(tiny, spec, "still");
  TrialSpec drawn = spec;
  drawn.role = Role::teacher;
  drawn.method = "plain";
  drawn.epochs = 0;
  const storage::AttemptFile start = RunIn(tiny, drawn, "drawn");
  ASSERT_EQ(moved.parameters.size(), start.parameters.size());
  for (std::size_t i = 0; i < moved.parameters.size(); ++i) {
    EXPECT_TRUE(at::allclose(MakeTensorFromBlob(moved.parameters[i]).value(),
                             MakeTensorFromBlob(start.parameters[i]).value(), 0, 1e-12));
  }
}

}  // namespace
}  // namespace retort::worker
