// Ensembles of any networks: who learns from what, what is left of them, and what may be claimed.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "experiments/privacy/accountants/reasons.h"
#include "storage/datasets/clients.h"
#include "tests/unit/worker/tiny_trials.h"
#include "worker/gang/local_collective.h"
#include "worker/methods/method.h"
#include "worker/models/ensemble.h"
#include "worker/models/model_registry.h"
#include "worker/training/shards.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kExamples = 120, kMembers = 3;

// Four classes, a bright quarter each.
Dataset Quarters() {
  Dataset data;
  data.shape = {1, 8, 8};
  data.classes = 4;
  const at::Tensor labels = at::arange(kExamples, at::kLong).remainder(4);
  at::Tensor images = DrawUniformTensor({kExamples, 1, 8, 8}, 0.3, RngStream(3, Purpose::split));
  for (std::int64_t i = 0; i < kExamples; ++i)
    images[i][0].narrow(0, i % 4 / 2 * 4, 4).narrow(1, i % 2 * 4, 4).add_(1.5);
  data.train = Examples(images, labels);
  data.test = Examples(images.narrow(0, 0, 40).clone(), labels.narrow(0, 0, 40).clone());
  data.public_split = data.test;
  return data;
}

TrialSpec EnsembleSpec(Partition partition) {
  TrialSpec spec;
  spec.role = Role::teacher;
  spec.method = "ensemble";
  spec.network = "datalens-x0.125";
  spec.members = kMembers;
  spec.shards.partition = partition;
  spec.shards.dirichlet_alpha = 2;
  spec.epochs = 6;
  spec.batch = 16;
  spec.optimization.lr = 5e-3;
  spec.inputs.shift = 1;
  spec.seed = 4;
  return spec;
}

// Trains to the end; what the ensemble left.
Outcome Trained(const TrialSpec& spec, const Dataset& data) {
  const auto solo = MakeSoloCollective();
  ReleaseReplay tape(nullptr, *solo);
  const auto method = std::move(MakeMethod({spec, data, nullptr, tape, *solo})).value();
  for (std::int64_t step = 0; step < method->steps(); ++step) {
    Series series;
    EXPECT_TRUE(method->Step(step, series).ok());
  }
  return method->Finish().value();
}

std::vector<storage::TensorBlob> FindMemberState(const Outcome& outcome, std::int64_t member) {
  std::vector<storage::TensorBlob> blobs;
  for (const auto& blob : outcome.parameters)
    if (blob.name.starts_with(FormatMemberPrefix("teacher/", member))) blobs.push_back(blob);
  return blobs;
}

double Metric(const Outcome& outcome, const std::string& name) {
  for (const auto& [key, value] : outcome.metrics)
    if (key == name) return value;
  return -1;
}

TEST(NetworkEnsemble, LearnsAndLeavesEveryMembersStateUnderItsNumber) {
  TrialSpec spec = EnsembleSpec(Partition::shards);
  spec.epochs = 30;
  const Outcome outcome = Trained(spec, Quarters());
  EXPECT_GT(Metric(outcome, "test.accuracy"), 0.9);
  EXPECT_GT(Metric(outcome, "test.member_accuracy"), 0.8);
  const auto network = MakeNetwork("datalens-x0.125", {1, 8, 8}, 4, RngStream(1, Purpose::parameters)).value();
  ASSERT_EQ(outcome.parameters.size(), network->state().size() * kMembers);
  for (std::int64_t member = 0; member < kMembers; ++member) {
    for (const StateEntry& entry : network->state()) {
      const std::string name = "teacher/" + std::to_string(member) + "/" + entry.name;
      EXPECT_TRUE(std::any_of(outcome.parameters.begin(), outcome.parameters.end(), [&](const auto& blob) {
        return blob.name == name;
      })) << name;
    }
  }
}

TEST(NetworkEnsemble, MembersDependOnTheirOwnShardAlone) {
  const TrialSpec spec = EnsembleSpec(Partition::shards);
  const Dataset data = Quarters();
  const Outcome before = Trained(spec, data);
  // Another image, with another label, in the shard of member 1.
  const std::int64_t changed = AssignShards(spec, data).value()[1][5].item<std::int64_t>();
  Dataset other = Quarters();
  at::Tensor images = other.train.Range(0, kExamples).clone(), labels = other.train.labels.clone();
  images[changed].neg_();
  labels[changed] = (labels[changed] + 1).remainder(4);
  other.train = Examples(images, labels);
  const Outcome after = Trained(spec, other);
  EXPECT_EQ(FindMemberState(after, 0), FindMemberState(before, 0));
  EXPECT_NE(FindMemberState(after, 1), FindMemberState(before, 1));
  EXPECT_EQ(FindMemberState(after, 2), FindMemberState(before, 2));
}

TEST(NetworkEnsemble, MembersStartApart) {
  TrialSpec spec = EnsembleSpec(Partition::shards);
  spec.epochs = 0;
  const Outcome drawn = Trained(spec, Quarters());
  for (std::int64_t member = 1; member < kMembers; ++member) {
    const auto first = FindMemberState(drawn, 0), own = FindMemberState(drawn, member);
    ASSERT_EQ(first.size(), own.size());
    EXPECT_NE(first.front().bytes, own.front().bytes);
  }
}

TEST(NetworkEnsemble, FrozenLayersAreTheSameInEveryMember) {
  TrialSpec spec = EnsembleSpec(Partition::shards);
  spec.network = "hog-linear";
  const Dataset data = Quarters();
  const Outcome outcome = Trained(spec, data);
  const auto fitted = MakeNetwork("hog-linear", data.shape, 4, RngStream(9), at::kCPU).value();
  for (std::int64_t member = 0; member < kMembers; ++member) {
    auto network = MakeNetwork("hog-linear", data.shape, 4, std::nullopt).value();
    ASSERT_TRUE(network->LoadState(FormatMemberPrefix("teacher/", member), outcome.parameters).ok());
    EXPECT_TRUE(at::equal(network->buffers().constants(), fitted->buffers().constants())) << member;
  }
  EXPECT_GT(Metric(outcome, "test.member_accuracy"), 0.9);
}

TEST(NetworkEnsemble, IsAskedMemberByMember) {
  const Dataset data = Quarters();
  const Outcome outcome = Trained(EnsembleSpec(Partition::shards), data);
  const at::Tensor images = data.test.Range(0, 7);
  std::vector<at::Tensor> want;
  for (std::int64_t member = 0; member < kMembers; ++member) {
    auto network = MakeNetwork("datalens-x0.125", data.shape, 4, std::nullopt).value();
    ASSERT_TRUE(network->LoadState(FormatMemberPrefix("teacher/", member), outcome.parameters).ok());
    want.push_back(network->Forward(images).logits);
  }
  const auto load = [&](RowShare share) {
    return LoadEnsemble("datalens-x0.125", kMembers, data.shape, 4, "teacher/", outcome.parameters, share);
  };
  EXPECT_TRUE(at::equal(load({0, 3}).value()->Forward(images), at::stack(want)));
  EXPECT_TRUE(at::equal(load({1, 2}).value()->Forward(images), at::stack({want[1], want[2]})));
  EXPECT_EQ(load({2, 0}).value()->Forward(images).sizes(), (std::vector<std::int64_t>{0, 7, 4}));
  EXPECT_EQ(LoadEnsemble("datalens-x0.125", 4, data.shape, 4, "teacher/", outcome.parameters, {0, 4}).status().code(),
            StatusCode::damage);
}

TEST(Shards, DirichletPartitionIsThatOfTheLabels) {
  const TrialSpec spec = EnsembleSpec(Partition::dirichlet);
  const Dataset data = Quarters();
  const Shards shards = AssignShards(spec, data).value();
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < kExamples; ++i) labels.push_back(i % 4);
  const storage::Clients want = storage::MakeBalancedClients(labels, 4, kMembers, 2, spec.seed).value();
  ASSERT_EQ(shards.size(), want.size());
  std::int64_t held = 0;
  for (std::size_t k = 0; k < shards.size(); ++k) {
    EXPECT_TRUE(at::equal(shards[k], at::tensor(want[k], at::kLong)));
    held += shards[k].size(0);
  }
  EXPECT_EQ(held, kExamples);
}

// The trap of a partition by label: one example with another label changes what other members hold.
TEST(Shards, OneLabelMovesOtherExamplesBetweenDirichletShards) {
  const TrialSpec spec = EnsembleSpec(Partition::dirichlet);
  Dataset data = Quarters();
  const Shards before = AssignShards(spec, data).value();
  at::Tensor labels = data.train.labels.clone();
  labels[11] = 0;
  data.train = data.train.Relabelled(labels);
  const Shards after = AssignShards(spec, data).value();
  int changed = 0;
  for (std::size_t k = 0; k < before.size(); ++k) changed += at::equal(before[k], after[k]) ? 0 : 1;
  EXPECT_GE(changed, 2);
}

TEST(Shards, TooFewExamplesForTheMembersAreAnError) {
  TrialSpec spec = EnsembleSpec(Partition::dirichlet);
  spec.members = 13;
  EXPECT_EQ(AssignShards(spec, Quarters()).status().code(), StatusCode::usage);
  spec.shards.partition = Partition::shards;
  EXPECT_TRUE(AssignShards(spec, Quarters()).ok());
  spec.members = 121;
  EXPECT_EQ(AssignShards(spec, Quarters()).status().code(), StatusCode::usage);
}

TEST(StructureFacts, ShardsByLabelAreNotCalledDisjointShardsByIndex) {
  const Dataset data = Quarters();
  EXPECT_TRUE(AreShardsDisjoint({EnsembleSpec(Partition::shards), {}}, data));
  EXPECT_FALSE(AreShardsDisjoint({EnsembleSpec(Partition::dirichlet), {}}, data));
  EXPECT_TRUE(AreMembersIndependent({EnsembleSpec(Partition::dirichlet), {}}));
}

// A student of each ensemble: by index a member's claim is an example's too; by label only the member's stays.
TEST(NetworkEnsemble, ClaimsAboutExamplesNeedShardsByIndex) {
  const TinyTrials tiny;
  for (const bool votes : {false, true}) {
    TrialSpec spec = votes ? tiny.VoteStudent(QuerySource::public_split) : tiny.Student(Reading::working);
    if (!votes) spec.method = "dpdfd-ensemble";
    spec.noise = NoiseMode::secure;
    for (const std::string teacher : {"networks", "dirichlet"}) {
      const TrialOrder order =
          tiny.Order(spec, teacher + (votes ? "-votes" : "-gradients"), 1, tiny.TeacherFile(teacher));
      FakeTrialHost host;
      const cluster::Ended ended = RunTrial(order, host, storage::PosixEnv());
      ASSERT_TRUE(ended.succeeded) << ended.detail;
      const auto file = storage::ReadAttemptFile(order.start.attempt_directory + "/attempt.h5").value();
      int members = 0, examples = 0;
      for (const privacy::Claim& claim : file.claims) {
        if (claim.status == privacy::ClaimStatus::paper_formula) continue;
        const bool proven = claim.status == privacy::ClaimStatus::proven;
        if (claim.adjacency == privacy::Adjacency::member) {
          ++members;
          EXPECT_TRUE(proven) << teacher << ": " << claim.reason;
        }
        if (claim.adjacency == privacy::Adjacency::example) {
          ++examples;
          EXPECT_EQ(proven, teacher == "networks") << claim.reason;
        }
      }
      EXPECT_GT(members, 0);
      EXPECT_GT(examples, 0);
    }
  }
}

}  // namespace
}  // namespace retort::worker
