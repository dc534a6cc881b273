// The printed trap: un-noised teacher Jacobians must not reach the generator.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/unit/worker/tiny_trials.h"
#include "worker/gang/local_collective.h"
#include "worker/methods/generator_source.h"
#include "worker/models/model_registry.h"
#include "worker/release/mechanism.h"

namespace retort::worker {
namespace {

// Answers equal logits at the point it is asked, with a slope of its own choosing.
class SlopedTeacher final : public release::TeacherModel {
 public:
  explicit SlopedTeacher(double slope) : slope_(slope) {}
  std::int64_t classes() const override { return 4; }

 protected:
  at::Tensor Logits(const at::Tensor& inputs) override {
    const at::Tensor x = inputs.flatten(1).narrow(1, 0, 4);
    return x.detach() + slope_ * (x - x.detach());
  }

 private:
  double slope_;
};

// Generator parameters after one update against a teacher with the given slope.
at::Tensor Updated(TrialSpec spec, double slope) {
  const ImageShape shape{1, 16, 16};
  const auto solo = MakeSoloCollective();
  auto source = std::move(GeneratorSource::Create(spec, shape, *solo)).value();
  auto student = std::move(MakeNetwork("datalens", shape, 4, RngStream(1, Purpose::parameters))).value();
  auto mechanism = std::move(release::MakeMechanism(spec, 4, 1, release::MakeNoiseKey(spec))).value();
  SlopedTeacher teacher(slope);
  const at::Tensor images = source->Images(0, spec.batch).value();
  const at::Tensor logits = student->Forward(images.detach()).logits.detach();
  const release::Query query{spec.release.detach ? images.detach() : images, logits, 0};
  const release::Answers answers =
      spec.release.detach ? release::Oracle::Ask(teacher, query) : release::Oracle::AskUndetached(teacher, query);
  FakeTrialHost host;
  release::ChargeBook book(&host, 1, spec.batch);
  auto charge = book.Take(mechanism->Describe(spec.batch), mechanism->DrawsFor(answers));
  EXPECT_TRUE(charge.ok());
  auto released = mechanism->Release(answers, std::move(charge).value());
  EXPECT_TRUE(released.ok()) << released.status().message();
  const double gamma = spec.distill.kappa / spec.release.norm_bound;
  const at::Tensor y = at::softmax(logits, 1) - gamma * released->values.detach();
  const GeneratorTarget target{y, spec.release.detach ? at::Tensor() : released->values, -gamma};
  EXPECT_TRUE(source->Improve(0, images, spec.batch, *student, target, {1e-2, 0}).ok());
  return source->generator().parameters().flat().clone();
}

TrialSpec OneStep(bool detach) {
  const TinyTrials tiny;
  TrialSpec spec = tiny.Student(Reading::working);
  spec.release.detach = detach;
  spec.generator.steps = 1;
  return spec;
}

TEST(Undetached, TeachersEqualAtTheQueriesGiveBitEqualUpdates) {
  const TrialSpec spec = OneStep(true);
  EXPECT_TRUE(Updated(spec, 1).equal(Updated(spec, 5)));
}

TEST(Undetached, TheTrapLetsTheJacobianThrough) {
  const TrialSpec spec = OneStep(false);
  EXPECT_FALSE(Updated(spec, 1).equal(Updated(spec, 5)));
}

TEST(Undetached, TheTrapVoidsTheClaims) {
  const TinyTrials tiny;
  TrialSpec spec = tiny.Student(Reading::working);
  spec.release.detach = false;
  spec.noise = NoiseMode::secure;
  FakeTrialHost host;
  const TrialOrder order = tiny.Order(spec, "trap", 1, tiny.TeacherFile("plain"));
  const cluster::Ended ended = RunTrial(order, host, storage::PosixEnv());
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  for (const auto& [id, grant] : host.grants) EXPECT_FALSE(grant.event.voids.empty());
  const auto file = storage::ReadAttemptFile(order.start.attempt_directory + "/attempt.h5");
  ASSERT_TRUE(file.ok());
  for (const privacy::Claim& claim : file->claims) {
    const bool of_an_answer = claim.adjacency == privacy::Adjacency::answer;
    EXPECT_TRUE(of_an_answer || claim.status != privacy::ClaimStatus::proven);
  }
}

}  // namespace
}  // namespace retort::worker
