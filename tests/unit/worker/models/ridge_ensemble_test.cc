// Members that are fitted in closed form on frozen features.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/worker/release/release_fixture.h"
#include "tests/unit/worker/tiny_trials.h"
#include "worker/gang/local_collective.h"
#include "worker/methods/method.h"
#include "worker/methods/network_teacher.h"
#include "worker/models/ensemble.h"
#include "worker/models/model_registry.h"
#include "worker/models/network.h"
#include "worker/release/noisy_votes.h"
#include "worker/tensors/tensor_codec.h"
#include "worker/training/per_sample_gradients.h"
#include "worker/training/ridge_regression.h"
#include "worker/training/shards.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kExamples = 60, kMembers = 5;  // so that every shard has all four classes

// Four classes, a bright quarter each.
Dataset Quarters() {
  Dataset data;
  data.shape = {1, 12, 12};
  data.classes = 4;
  const at::Tensor labels = at::arange(kExamples, at::kLong).remainder(4);
  at::Tensor images = DrawUniformTensor({kExamples, 1, 12, 12}, 0.3, RngStream(3, Purpose::split));
  for (std::int64_t i = 0; i < kExamples; ++i)
    images[i][0].narrow(0, i % 4 / 2 * 6, 6).narrow(1, i % 2 * 6, 6).add_(1.5);
  data.train = Examples(images, labels);
  data.test = Examples(images.narrow(0, 0, 20).clone(), labels.narrow(0, 0, 20).clone());
  data.public_split = data.test;
  return data;
}

TrialSpec Spec() {
  TrialSpec spec;
  spec.role = Role::teacher;
  spec.method = "ensemble";
  spec.network = "hog-linear";
  spec.members = kMembers;
  spec.shards.ridge = 0.3;
  spec.seed = 4;
  return spec;
}

Outcome Trained(const TrialSpec& spec, const Dataset& data, Collective& gang) {
  ReleaseReplay tape(nullptr, gang);
  const auto method = std::move(MakeMethod({spec, data, nullptr, tape, gang})).value();
  EXPECT_EQ(method->steps(), 1);
  Series series;
  EXPECT_TRUE(method->Step(0, series).ok());
  return std::move(method->Finish()).value();
}

Outcome Trained(const TrialSpec& spec, const Dataset& data) { return Trained(spec, data, *MakeSoloCollective()); }

at::Tensor FindHeads(const Outcome& outcome) {
  for (const storage::TensorBlob& blob : outcome.parameters)
    if (blob.name == "teacher/heads") return MakeTensorFromBlob(blob).value();
  return {};
}

// (X^T X + strength I) W^T = X^T Y, written out.
at::Tensor NormalEquations(const at::Tensor& features, const at::Tensor& labels, double strength) {
  const at::Tensor x = features.to(at::kDouble), y = at::one_hot(labels, 4).to(at::kDouble) - 0.25;
  const at::Tensor gram = at::matmul(x.t(), x) + at::eye(x.size(1), at::kDouble) * strength;
  return at::linalg_solve(gram, at::matmul(x.t(), y)).t();
}

TEST(RidgeHead, SolvesTheSmallerOfBothSystems) {
  const at::Tensor labels = at::arange(30, at::kLong).remainder(4);
  for (const std::int64_t values : {5, 80}) {
    const at::Tensor features = DrawNormalRows(30, values, RngStream(7));
    const at::Tensor expected = NormalEquations(features, labels, 0.3);
    const at::Tensor head = FitRidgeHead(features, labels, 4, 0.3);
    EXPECT_TRUE(at::allclose(head.to(at::kDouble), expected, 1e-5, 1e-6)) << values;
  }
}

// A row of zeros more, and a label for it, make another system the smaller one and change no sum.
TEST(RidgeHead, BothSystemsGiveTheSameHead) {
  const at::Tensor features = DrawNormalRows(8, 8, RngStream(7)), labels = at::arange(8, at::kLong).remainder(4);
  const at::Tensor longer = at::cat({features, at::zeros({1, 8})}), more = at::cat({labels, at::zeros({1}, at::kLong)});
  const at::Tensor by_rows = FitRidgeHead(features, labels, 4, 0.3);
  const at::Tensor by_values = FitRidgeHead(longer, more, 4, 0.3);
  EXPECT_TRUE(at::allclose(by_values, by_rows, 1e-5, 1e-7));
}

// An error would end the trial by what one member's examples are like.
TEST(RidgeHead, WhatCannotBeSolvedSaysNothing) {
  const at::Tensor twins = at::ones({2, 5}), labels = at::tensor({0, 1}, at::kLong), nothing = at::zeros({4, 5});
  EXPECT_TRUE(FitRidgeHead(twins, labels, 4, 1e-30).equal(nothing));
  EXPECT_FALSE(FitRidgeHead(twins, labels, 4, 1e-3).equal(nothing));
  for (const float value : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    at::Tensor broken = twins.clone();
    broken[1][2] = value;
    EXPECT_TRUE(FitRidgeHead(broken, labels, 4, 1e-3).equal(nothing)) << value;
    EXPECT_TRUE(FitRidgeHead(broken.narrow(0, 1, 1), labels.narrow(0, 1, 1), 4, 1e-3).equal(nothing)) << value;
    EXPECT_TRUE(FitRidgeHead(broken.repeat({3, 1}), labels.repeat({3}), 4, 1e-3).equal(nothing)) << value;
  }
}

TEST(RidgeEnsemble, EveryMemberIsTheSolutionOfItsOwnShard) {
  const Dataset data = Quarters();
  const TrialSpec spec = Spec();
  const Outcome outcome = Trained(spec, data);
  const auto network = std::move(MakeNetwork("hog-linear", data.shape, 4, RngStream(4, Purpose::parameters))).value();
  const at::Tensor heads = FindHeads(outcome);
  const Shards shards = AssignShards(spec, data).value();
  for (std::int64_t m = 0; m < kMembers; ++m) {
    const Examples shard = data.train.Rows(shards[static_cast<std::size_t>(m)]);
    const at::Tensor seen = ComputeHeadInputs(*network, *FindFrozenFront(*network), shard);
    EXPECT_TRUE(at::allclose(heads[m].to(at::kDouble), NormalEquations(seen, shard.labels, 0.3), 1e-4, 1e-5)) << m;
  }
  EXPECT_GE(outcome.metrics.front().second, 0.9);
}

// Heads of all members, f32 [members, classes, values].
using Fit = std::function<at::Tensor(const Dataset&)>;

// Members whose head is another one when the example `which` is.
std::vector<std::int64_t> MembersThatSee(std::int64_t which, const Fit& fit) {
  const Dataset data = Quarters();
  Dataset other = data;
  at::Tensor images = data.train.Range(0, kExamples).clone(), labels = data.train.labels.clone();
  images[which].copy_(images[which].flip(1).neg());
  labels[which] = (labels[which] + 1).remainder(4);
  other.train = Examples(images, labels);
  const at::Tensor before = fit(data), after = fit(other);
  std::vector<std::int64_t> seen;
  for (std::int64_t m = 0; m < before.size(0); ++m)
    if (!at::equal(before[m], after[m])) seen.push_back(m);
  return seen;
}

TEST(RidgeEnsemble, AChangedExampleChangesItsOwnMemberAlone) {
  const Fit real = [](const Dataset& data) { return FindHeads(Trained(Spec(), data)); };
  const Shards shards = AssignShards(Spec(), Quarters()).value();
  for (const std::int64_t which : {0, 20, 59}) {
    const std::vector<std::int64_t> seen = MembersThatSee(which, real);
    ASSERT_EQ(seen.size(), 1U) << which;
    EXPECT_TRUE((shards[static_cast<std::size_t>(seen[0])] == which).any().item<bool>()) << which;
  }
}

// What a claim about members would not survive: shards that share an example, and features that are moved by the mean
// of all private ones.
TEST(RidgeEnsemble, MembersThatSeeEachOthersExamplesAreCaught) {
  const auto network = std::move(MakeNetwork("hog-linear", {1, 12, 12}, 4, RngStream(4, Purpose::parameters))).value();
  const auto fit_on = [&](const Dataset& data, const Shards& shards, bool centred) {
    const at::Tensor seen = ComputeHeadInputs(*network, *FindFrozenFront(*network), data.train);
    const at::Tensor features = centred ? seen - seen.mean(0) : seen;
    std::vector<at::Tensor> heads;
    for (const at::Tensor& rows : shards)
      heads.push_back(FitRidgeHead(features.index_select(0, rows), data.train.labels.index_select(0, rows), 4, 0.3));
    return at::stack(heads);
  };
  const Shards apart = AssignShards(Spec(), Quarters()).value();
  Shards overlapping = apart;
  overlapping[4] = at::cat({apart[4], apart[2].narrow(0, 3, 1)});
  const auto shared = apart[2][3].item<std::int64_t>();
  EXPECT_EQ(MembersThatSee(shared, [&](const Dataset& data) { return fit_on(data, apart, false); }),
            (std::vector<std::int64_t>{2}));
  EXPECT_EQ(MembersThatSee(shared, [&](const Dataset& data) { return fit_on(data, overlapping, false); }),
            (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(MembersThatSee(shared, [&](const Dataset& data) { return fit_on(data, apart, true); }).size(), 5U);
  EXPECT_TRUE(CheckDisjoint(at::cat(apart), kExamples).ok());
  EXPECT_EQ(CheckDisjoint(at::cat(overlapping), kExamples).code(), StatusCode::refused);
}

// The state that a checkpoint holds is all that is left of the fit.
TEST(RidgeEnsemble, IsWhatACheckpointOfItHolds) {
  const Dataset data = Quarters();
  const TrialSpec spec = Spec();
  const auto solo = MakeSoloCollective();
  ReleaseReplay tape(nullptr, *solo);
  const auto make = [&] { return std::move(MakeMethod({spec, data, nullptr, tape, *solo})).value(); };
  TrainState state, later;
  const auto fitted = make(), resumed = make();
  fitted->Register(state);
  resumed->Register(later);
  Series series;
  ASSERT_TRUE(fitted->Step(0, series).ok());
  ASSERT_TRUE(later.Load(state.Save()).ok());
  const Outcome want = fitted->Finish().value(), got = resumed->Finish().value();
  EXPECT_EQ(got.parameters, want.parameters);
  EXPECT_EQ(got.metrics, want.metrics);
  EXPECT_GT(FindHeads(got).abs().max().item<double>(), 0);
}

TEST(RidgeEnsemble, ATrialThatWasStoppedOrLostEndsWithTheSameBits) {
  const TinyTrials tiny;
  const auto attempt = [&](const std::string& name, std::uint32_t number, FakeTrialHost& host) {
    return RunTrial(tiny.Order(tiny.Teacher("ridge"), name, number), host, storage::PosixEnv());
  };
  FakeTrialHost undisturbed;
  const cluster::Ended whole = attempt("whole", 1, undisturbed);
  ASSERT_TRUE(whole.succeeded) << whole.detail;
  for (const bool polite : {true, false}) {
    FakeTrialHost first, second;
    (polite ? first.stop_at : first.vanish_at) = 1;  // before its only step; after it, nothing saved
    const std::string name = polite ? "stopped" : "lost";
    EXPECT_EQ(attempt(name, 1, first).failure, polite ? FailureKind::stopped : FailureKind::agent_lost);
    const cluster::Ended again = attempt(name, 2, second);
    ASSERT_TRUE(again.succeeded) << again.detail;
    EXPECT_EQ(again.parameters_digest, whole.parameters_digest);
    EXPECT_EQ(again.metrics, whole.metrics);
  }
}

TEST(RidgeEnsemble, AGangFitsTheSameHeads) {
  const Dataset data = Quarters();
  const TrialSpec spec = Spec();
  const at::Tensor alone = FindHeads(Trained(spec, data));
  auto gang = MakeLocalGang(2, std::chrono::seconds(60));
  std::vector<at::Tensor> heads(2);
  std::thread other([&] { heads[1] = FindHeads(Trained(spec, data, *gang[1])); });
  heads[0] = FindHeads(Trained(spec, data, *gang[0]));
  other.join();
  EXPECT_TRUE(at::equal(heads[0], heads[1]));
  EXPECT_TRUE(at::allclose(heads[0], alone, 1e-5, 1e-6));
}

TEST(RidgeEnsemble, IsLoadedAsTheMembersThatWereFitted) {
  const Dataset data = Quarters();
  const Outcome outcome = Trained(Spec(), data);
  const auto load = [&](std::int64_t members, RowShare share) {
    return LoadEnsemble("hog-linear", members, data.shape, 4, "teacher/", outcome.parameters, share);
  };
  const auto some = std::move(load(kMembers, {2, 3})).value();
  const auto network = std::move(MakeNetwork("hog-linear", data.shape, 4, RngStream(4, Purpose::parameters))).value();
  const at::Tensor images = data.test.Range(0, 7);
  const at::Tensor seen = network->ForwardTo(*FindFrozenFront(*network), images);
  const at::Tensor logits = some->Forward(images), heads = FindHeads(outcome);
  ASSERT_EQ(logits.sizes(), (std::vector<std::int64_t>{3, 7, 4}));
  for (std::int64_t m = 0; m < 3; ++m)
    EXPECT_TRUE(at::allclose(logits[m], at::matmul(seen, heads[2 + m].t()), 1e-4, 1e-5)) << m;
  EXPECT_EQ(load(kMembers + 1, {0, 1}).status().code(), StatusCode::damage);
  EXPECT_EQ(load(kMembers, {2, 0}).value()->Forward(images).sizes(), (std::vector<std::int64_t>{0, 7, 4}));
}

TEST(RidgeEnsemble, DamagedArtifactsAreNotLoaded) {
  const Dataset data = Quarters();
  const std::vector<storage::TensorBlob> whole = Trained(Spec(), data).parameters;
  const auto load = [&](const std::function<void(std::vector<storage::TensorBlob>&)>& damage) {
    std::vector<storage::TensorBlob> blobs = whole;
    damage(blobs);
    return LoadEnsemble("hog-linear", kMembers, data.shape, 4, "teacher/", blobs, {0, kMembers}).status().code();
  };
  const auto without = [&](const std::string& name) {
    return load([&](auto& blobs) { std::erase_if(blobs, [&](const auto& blob) { return blob.name == name; }); });
  };
  const auto with_heads = [&](const std::function<at::Tensor(const at::Tensor&)>& change) {
    return load([&](auto& blobs) {
      for (storage::TensorBlob& blob : blobs)
        if (blob.name == "teacher/heads") blob = MakeTensorBlob(blob.name, change(MakeTensorFromBlob(blob).value()));
    });
  };
  EXPECT_EQ(with_heads([](const at::Tensor& heads) { return heads; }), StatusCode::ok);
  EXPECT_EQ(without("teacher/heads"), StatusCode::damage);
  EXPECT_EQ(without("teacher/whiten.mean"), StatusCode::damage);
  EXPECT_EQ(with_heads([](const at::Tensor& heads) { return heads.narrow(0, 0, kMembers - 1); }), StatusCode::damage);
  EXPECT_EQ(with_heads([](const at::Tensor& heads) { return heads.narrow(1, 0, 3); }), StatusCode::damage);
  EXPECT_EQ(with_heads([](const at::Tensor& heads) { return heads.narrow(2, 1, heads.size(2) - 1); }),
            StatusCode::damage);
  EXPECT_EQ(with_heads([](const at::Tensor& heads) { return heads.flatten(1); }), StatusCode::damage);
  EXPECT_EQ(with_heads([](const at::Tensor& heads) { return heads.to(at::kDouble); }), StatusCode::damage);
  EXPECT_EQ(load([](auto& blobs) {
              for (storage::TensorBlob& blob : blobs)
                if (blob.name == "teacher/heads") blob.bytes.pop_back();
            }),
            StatusCode::damage);
}

// The noise is so small that what is released are the votes.
TEST(RidgeEnsemble, VotesAreThoseOfItsMembers) {
  const Dataset data = Quarters();
  const Outcome outcome = Trained(Spec(), data);
  const auto network = std::move(MakeNetwork("hog-linear", data.shape, 4, RngStream(4, Purpose::parameters))).value();
  const at::Tensor images = data.test.Range(0, 20);
  const at::Tensor seen = network->ForwardTo(*FindFrozenFront(*network), images), heads = FindHeads(outcome);
  at::Tensor want = at::zeros({20, 4}, at::kInt);
  for (std::int64_t m = 0; m < kMembers; ++m)
    want += at::one_hot(at::matmul(seen, heads[m].t()).argmax(1), 4).to(at::kInt);

  const auto solo = MakeSoloCollective();
  const auto teacher = std::move(LoadTeacher({Spec(), outcome.parameters}, data, *solo)).value();
  EXPECT_EQ(teacher->members(), kMembers);
  release::MemoryPort port;
  release::ChargeBook book(&port, 1, 1000);
  const auto votes = std::move(release::NoisyVotes::Create({noise::LatticeGaussian::kMinScale, 4},
                                                           noise::NoiseKey::FromSeed(1, TrialId(1))))
                         .value();
  const release::Answers answers = release::Oracle::Ask(*teacher, {images, {}, 0});
  const at::Tensor released = release::ChargeAndRelease(*votes, answers, book).value().values;
  EXPECT_TRUE(at::equal(released, want)) << released << want;
  EXPECT_EQ(released.sum().item<std::int64_t>(), 20 * kMembers);
}

TEST(RidgeEnsemble, NeedsANetworkThatIsFrozenButForItsLastLayer) {
  const Dataset data = Quarters();
  TrialSpec spec = Spec();
  spec.network = "datalens-x0.125";
  const auto solo = MakeSoloCollective();
  ReleaseReplay tape(nullptr, *solo);
  EXPECT_EQ(MakeMethod({spec, data, nullptr, tape, *solo}).status().code(), StatusCode::usage);
}

}  // namespace
}  // namespace retort::worker
