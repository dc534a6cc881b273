// Private images as queries: what is kept of them, and what may be claimed.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <set>

#include "storage/results/checkpoint_store.h"
#include "tests/unit/worker/tiny_trials.h"
#include "worker/training/supervised_training.h"

namespace retort::worker {
namespace {

TEST(ChoosePrivateRows, AskAboutEveryExampleOncePerShuffledPass) {
  TrialSpec spec;
  spec.batch = 8;
  spec.seed = 3;
  std::vector<std::set<std::int64_t>> passes(2);
  std::vector<std::vector<std::int64_t>> orders(2);
  for (std::int64_t step = 0; step < 6; ++step) {
    const at::Tensor places = ChoosePrivateRows(spec, 26, step);  // three batches and two examples over
    ASSERT_EQ(places.size(0), 8);
    for (std::int64_t i = 0; i < 8; ++i) {
      const auto place = places[i].item<std::int64_t>();
      EXPECT_TRUE(place >= 0 && place < 26);
      EXPECT_TRUE(passes[static_cast<std::size_t>(step / 3)].insert(place).second) << place;
      orders[static_cast<std::size_t>(step / 3)].push_back(place);
    }
  }
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_TRUE(at::equal(ChoosePrivateRows(spec, 26, 4), ChoosePrivateRows(spec, 26, 4)));
}

TrialSpec Direct(const TinyTrials& tiny) {
  TrialSpec spec = tiny.Student(Reading::working);
  spec.method = "dpdfd-direct";
  spec.source = QuerySource::private_split;
  spec.noise = NoiseMode::secure;
  return spec;
}

TEST(DirectTraining, LeavesNoPrivateImageBehind) {
  const TinyTrials tiny;
  const TrialOrder order = tiny.Order(Direct(tiny), "direct", 1, tiny.TeacherFile("plain"));
  FakeTrialHost host;
  host.stop_at = 4;
  ASSERT_EQ(RunTrial(order, host, storage::PosixEnv()).failure, FailureKind::stopped);
  auto store = storage::CheckpointStore::Open(storage::PosixEnv(), order.start.trial_directory, 2).value();
  const auto checkpoint = store->Latest().value();
  ASSERT_TRUE(checkpoint.has_value());
  EXPECT_EQ(checkpoint->step, 3);
  for (const storage::TensorBlob& blob : checkpoint->tensors) {
    const bool images = blob.shape.size() == 4 && blob.shape[2] == 16 && blob.shape[3] == 16;
    EXPECT_FALSE(images) << blob.name;
  }
  const TrialOrder again = tiny.Order(Direct(tiny), "direct", 2, tiny.TeacherFile("plain"));
  FakeTrialHost second;
  const cluster::Ended ended = RunTrial(again, second, storage::PosixEnv());
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  const auto file = storage::ReadAttemptFile(again.start.attempt_directory + "/attempt.h5").value();
  EXPECT_FALSE(file.samples.has_value());
  for (const storage::TensorBlob& blob : file.parameters) EXPECT_TRUE(blob.name.starts_with("student/")) << blob.name;
}

TEST(DirectTraining, HasNoClaimWithABound) {
  const TinyTrials tiny;
  const TrialOrder order = tiny.Order(Direct(tiny), "direct-claims", 1, tiny.TeacherFile("plain"));
  FakeTrialHost host;
  const cluster::Ended ended = RunTrial(order, host, storage::PosixEnv());
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  const auto file = storage::ReadAttemptFile(order.start.attempt_directory + "/attempt.h5").value();
  int unbounded = 0;
  for (const privacy::Claim& claim : file.claims) {
    if (claim.status == privacy::ClaimStatus::paper_formula) continue;
    EXPECT_EQ(claim.status, privacy::ClaimStatus::unbounded);
    EXPECT_EQ(claim.reason, "private-images-queried");
    ++unbounded;
  }
  EXPECT_GE(unbounded, 2);
}

TrialSpec ByOwnLabels(const TinyTrials& tiny) {
  TrialSpec spec = Direct(tiny);
  spec.distill.loss = DistillationLoss::ce_hard;
  spec.distill.label = ImageLabel::truth;
  return spec;
}

storage::AttemptFile RunAlone(const TinyTrials& tiny, const TrialSpec& spec, const std::string& name,
                              const std::string& teacher = "") {
  const TrialOrder order = tiny.Order(spec, name, 1, teacher);
  FakeTrialHost host;
  const cluster::Ended ended = RunTrial(order, host, storage::PosixEnv());
  EXPECT_TRUE(ended.succeeded) << ended.detail;
  auto file = storage::ReadAttemptFile(order.start.attempt_directory + "/attempt.h5");
  EXPECT_TRUE(file.ok()) << file.status().message();
  return file.ok() ? std::move(*file) : storage::AttemptFile();
}

TEST(DirectTraining, ByOwnLabelsHasNoClaimWithABound) {
  const TinyTrials tiny;
  const storage::AttemptFile file = RunAlone(tiny, ByOwnLabels(tiny), "own-claims");
  EXPECT_GE(file.claims.size(), 4U);
  for (const privacy::Claim& claim : file.claims) {
    if (claim.status == privacy::ClaimStatus::paper_formula) continue;
    EXPECT_EQ(claim.status, privacy::ClaimStatus::unbounded);
    EXPECT_EQ(claim.reason, "private-images-queried");
  }
  std::int64_t used = 0;
  for (const storage::LedgerEntry& entry : file.ledger) used += entry.used;
  EXPECT_EQ(used, ByOwnLabels(tiny).steps * ByOwnLabels(tiny).batch) << "charged as with a teacher";
}

TEST(DirectTraining, LearnsTheImagesOwnLabels) {
  const TinyTrials tiny;
  TrialSpec spec = ByOwnLabels(tiny);
  spec.network = "logistic";
  spec.steps = 40;
  spec.release.sigma = 1e-3;
  spec.optimization.lr = 0.02;
  const storage::AttemptFile file = RunAlone(tiny, spec, "own");
  ASSERT_TRUE(file.evaluation.has_value());
  EXPECT_GT(file.evaluation->accuracy, 0.9);
}

TEST(DirectTraining, ByATeacherNeedsOne) {
  const TinyTrials tiny;
  FakeTrialHost host;
  const cluster::Ended ended = RunTrial(tiny.Order(Direct(tiny), "nobody", 1), host, storage::PosixEnv());
  EXPECT_EQ(ended.failure, FailureKind::configuration);
}

TEST(DirectTraining, OwnLabelsAreNoPredictionToDistil) {
  const TinyTrials tiny;
  TrialSpec spec = ByOwnLabels(tiny);
  spec.distill.loss = DistillationLoss::dkd;
  FakeTrialHost host;
  const cluster::Ended ended = RunTrial(tiny.Order(spec, "distilled", 1), host, storage::PosixEnv());
  EXPECT_EQ(ended.failure, FailureKind::configuration);
  EXPECT_NE(ended.detail.find("ce-hard"), std::string::npos) << ended.detail;
}

}  // namespace
}  // namespace retort::worker
