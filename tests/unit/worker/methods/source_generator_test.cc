// What the generator learns from: its latents, and the raw teacher where that is asked for.
#include "worker/methods/generator_source.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "tests/unit/worker/tiny_trials.h"
#include "worker/gang/local_collective.h"
#include "worker/models/model_registry.h"
#include "worker/tensors/tensor_codec.h"

namespace retort::worker {
namespace {

constexpr ImageShape kShape{1, 16, 16};

TrialSpec OneStep() {
  const TinyTrials tiny;
  TrialSpec spec = tiny.Student(Reading::working);
  spec.generator.steps = 1;
  spec.batch = 6;
  return spec;
}

std::unique_ptr<Network> Student() {
  return std::move(MakeNetwork("datalens-x0.125", kShape, 4, RngStream(1, Purpose::parameters))).value();
}

at::Tensor Latents(GeneratorSource& source) {
  TrainState state;
  source.Register(state, "g/");
  for (const storage::TensorBlob& blob : state.Save())
    if (blob.name == "g/latents") return MakeTensorFromBlob(blob).value();
  return {};
}

TEST(GeneratorSource, UntrainedLatentsAreRedrawnAndNotSaved) {
  const TrialSpec spec = OneStep();
  const auto solo = MakeSoloCollective();
  const auto source = std::move(GeneratorSource::Create(spec, kShape, *solo)).value();
  EXPECT_FALSE(Latents(*source).defined());
  EXPECT_FALSE(at::equal(source->Images(0, spec.batch).value(), source->Images(1, spec.batch).value()));
}

TEST(GeneratorSource, TrainedLatentsAreTheSameSlotsAtEveryStep) {
  TrialSpec spec = OneStep();
  spec.generator.latent_lr = 0.05;
  const auto solo = MakeSoloCollective();
  const auto source = std::move(GeneratorSource::Create(spec, kShape, *solo)).value();
  const auto student = Student();
  EXPECT_EQ(Latents(*source).sizes(), (std::vector<std::int64_t>{spec.batch, spec.generator.latent}));
  EXPECT_TRUE(at::equal(source->Images(0, spec.batch).value(), source->Images(7, spec.batch).value()));
  const at::Tensor before = Latents(*source).clone();
  const at::Tensor images = source->Images(0, spec.batch).value();
  ASSERT_TRUE(source->Improve(0, images, spec.batch, *student, {}, source->RatesAt(1)).ok());
  const at::Tensor moved = (Latents(*source) - before).abs();
  EXPECT_GT(moved.max().item<double>(), 0);
  EXPECT_LE(moved.max().item<double>(), spec.generator.latent_lr * 1.001) << "one step of Adam";
}

// Adam's first step is minus the rate times the gradient's sign, wherever the gradient is not tiny.
TEST(GeneratorSource, LatentsDescendTheLossThatTheGeneratorDescends) {
  TrialSpec spec = OneStep();
  spec.generator.latent_lr = 1e-3;
  spec.generator.activation_norm = 0.7;
  const auto solo = MakeSoloCollective();
  const auto source = std::move(GeneratorSource::Create(spec, kShape, *solo)).value();
  const auto student = Student();
  const at::Tensor y = at::softmax(at::randn({spec.batch, 4}), 1), before = Latents(*source).clone();
  const auto loss = [&](const at::Tensor& latents) {
    const NetworkOutput out = student->Forward(source->generator().Forward(latents));
    return ComputeGeneratorLoss(
               out, y, {spec.generator.one_hot, spec.generator.information_entropy, spec.generator.activation_norm},
               GeneratorForm::dafl, spec.batch, *solo)
        .value()
        .loss.item<double>();
  };
  std::vector<double> slopes;
  constexpr double kStep = 2e-3;
  for (std::int64_t i = 0; i < before.numel(); ++i) {
    at::Tensor up = before.clone(), down = before.clone();
    up.view(-1)[i] += kStep;
    down.view(-1)[i] -= kStep;
    slopes.push_back((loss(up) - loss(down)) / (2 * kStep));
  }
  const at::Tensor images = source->Images(0, spec.batch).value();
  ASSERT_TRUE(source->Improve(0, images, spec.batch, *student, {y, {}, 0}, source->RatesAt(1)).ok());
  const at::Tensor moved = (Latents(*source) - before).view(-1);
  double steepest = 0;
  for (const double slope : slopes) steepest = std::max(steepest, std::abs(slope));
  EXPECT_GT(steepest, 1e-4);
  int judged = 0;
  for (std::int64_t i = 0; i < before.numel(); ++i) {
    const double slope = slopes[static_cast<std::size_t>(i)];
    if (std::abs(slope) < 0.5 * steepest) continue;  // float32 and the kinks of rectifiers blur the rest
    ++judged;
    EXPECT_EQ(moved[i].item<double>() < 0, slope > 0) << "latent " << i << ", slope " << slope;
  }
  EXPECT_GT(judged, 3);
}

TEST(GeneratorSource, AGangTrainsTheLatentsOfASingleDevice) {
  TrialSpec spec = OneStep();
  spec.generator.latent_lr = 0.05;
  const auto train = [&spec](Collective& gang) {
    const auto source = std::move(GeneratorSource::Create(spec, kShape, gang)).value();
    const auto student = Student();
    for (std::int64_t step = 0; step < 2; ++step) {
      const at::Tensor images = source->Images(step, spec.batch).value();
      EXPECT_TRUE(source->Improve(step, images, spec.batch, *student, {}, source->RatesAt(1)).ok());
    }
    return Latents(*source);
  };
  const at::Tensor alone = train(*MakeSoloCollective());
  auto gang = MakeLocalGang(2, std::chrono::seconds(20));
  std::vector<at::Tensor> trained(2);
  std::thread other([&] { trained[1] = train(*gang[1]); });
  trained[0] = train(*gang[0]);
  other.join();
  EXPECT_TRUE(at::equal(trained[0], trained[1]));
  // Where a slope is all but zero, its sign and with it Adam's step is rounding's.
  EXPECT_GT((at::isclose(trained[0], alone, 1e-2, 1e-3)).to(at::kDouble).mean().item<double>(), 0.95);
}

// Says the same logits at every image, and yet has slopes there that only a look inside shows.
class SteepTeacher final : public release::TeacherModel {
 public:
  explicit SteepTeacher(double slope) : slope_(slope) {}
  std::int64_t classes() const override { return 4; }

 protected:
  at::Tensor Logits(const at::Tensor& inputs) override {
    const at::Tensor x = inputs.flatten(1).narrow(1, 0, 4);
    return x.detach() + slope_ * (x - x.detach());
  }

 private:
  double slope_;
};

TEST(GeneratorSource, OnlyAGeneratorWithACriticSeesTheTeachersSlopes) {
  TrialSpec spec = OneStep();
  spec.generator.activation_norm = 0;
  const auto solo = MakeSoloCollective();
  const auto updated = [&](double slope, bool with_critic) {
    const auto source = std::move(GeneratorSource::Create(spec, kShape, *solo)).value();
    const auto student = Student();
    SteepTeacher teacher(slope);
    const at::Tensor images = source->Images(0, spec.batch).value();
    const auto critic = release::TeacherCritic::FromSpec(spec, teacher, images.detach().narrow(0, 0, 1)).value();
    const GeneratorTarget aim{at::full({spec.batch, 4}, 0.25), {}, 0};
    EXPECT_TRUE(source->Improve(0, images, spec.batch, *student, aim, {1e-2, 0}, with_critic ? &critic : nullptr).ok());
    return source->generator().parameters().flat().clone();
  };
  EXPECT_TRUE(at::equal(updated(1, false), updated(5, false)));
  EXPECT_FALSE(at::equal(updated(1, true), updated(5, true)));
}

TEST(GeneratorSource, PretrainingLowersWhatTheCriticSays) {
  TrialSpec spec = OneStep();
  spec.generator.activation_norm = 0;
  spec.batch = 32;
  const auto solo = MakeSoloCollective();
  const auto source = std::move(GeneratorSource::Create(spec, kShape, *solo)).value();
  SteepTeacher teacher(1);
  const auto critic = release::TeacherCritic::FromSpec(spec, teacher, at::zeros({1, 1, 16, 16})).value();
  // A step at rate 0 measures and moves nothing.
  const double first = source->Pretrain(0, spec.batch, critic, 0).value().item<double>();
  for (std::int64_t n = 0; n < 100; ++n) ASSERT_TRUE(source->Pretrain(n, spec.batch, critic, 1e-2).ok());
  EXPECT_LT(source->Pretrain(0, spec.batch, critic, 0).value().item<double>(), first);
}

TEST(TeacherAsDiscriminator, LeavesTheAnswerAloneItsBound) {
  const TinyTrials tiny;
  TrialSpec spec = tiny.Student(Reading::working);
  spec.method = "dpsd-t";
  spec.generator.discriminator = Discriminator::teacher;
  spec.noise = NoiseMode::secure;
  spec.release.sigma = static_cast<double>(spec.batch);
  const TrialOrder order = tiny.Order(spec, "discriminator", 1, tiny.TeacherFile("plain"));
  FakeTrialHost host;
  const cluster::Ended ended = RunTrial(order, host, storage::PosixEnv());
  ASSERT_TRUE(ended.succeeded) << ended.detail;
  for (const auto& [id, grant] : host.grants) {
    EXPECT_EQ(grant.event.voids, std::vector<std::string>{std::string(privacy::kVoidGeneratorTouchedTeacher)});
    EXPECT_EQ(grant.event.facts, std::vector<std::string>{std::string(privacy::kFactDetachedTarget)});
  }
  const auto file = storage::ReadAttemptFile(order.start.attempt_directory + "/attempt.h5").value();
  int bounded = 0, unbounded = 0;
  for (const privacy::Claim& claim : file.claims) {
    if (claim.status == privacy::ClaimStatus::paper_formula) continue;
    const bool one_answer =
        claim.adjacency == privacy::Adjacency::answer || claim.adjacency == privacy::Adjacency::slot;
    (one_answer ? bounded : unbounded)++;
    EXPECT_EQ(claim.status == privacy::ClaimStatus::proven, one_answer) << claim.reason;
    EXPECT_TRUE(one_answer || claim.reason == privacy::kVoidGeneratorTouchedTeacher) << claim.reason;
  }
  EXPECT_GT(bounded, 0);
  EXPECT_GT(unbounded, 0);
}

}  // namespace
}  // namespace retort::worker
