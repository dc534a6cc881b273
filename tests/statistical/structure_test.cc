// What every mechanism must be whatever its numbers are: a new noise key changes what leaves, every direction
// carries noise, which outputs are possible does not depend on the teacher, and nothing that leaves has a
// graph to the teacher. A mechanism that fails has an event that no accountant bounds.
#include <gtest/gtest.h>

#include "experiments/privacy/relation.h"
#include "tests/statistical/noise_checks.h"
#include "tests/statistical/not_private.h"
#include "worker/release/gaussian_gradient.h"
#include "worker/release/loss_noise.h"
#include "worker/release/mechanism.h"
#include "worker/release/noisy_votes.h"
#include "worker/release/randomized_response.h"

namespace retort::worker::release::structure_test {
namespace {

constexpr std::int64_t kRows = 4, kClasses = 5, kSteps = 400;

using Make = std::function<std::unique_ptr<Mechanism>(noise::NoiseKey)>;

struct Case {
  std::string name;
  Make make;
  std::int64_t members = 1;
  std::int64_t grain = 1;
};

Make Gradient(Reading reading, Normalization normalization = Normalization::row) {
  return [=](noise::NoiseKey key) {
    GradientSettings settings;
    settings.reading = reading;
    settings.normalization = normalization;
    settings.batch = kRows;
    settings.classes = kClasses;
    return GaussianGradient::Create(settings, std::move(key)).value();
  };
}

Make Votes(std::int64_t grain) {
  return [=](noise::NoiseKey key) { return NoisyVotes::Create({5, kClasses, grain}, std::move(key)).value(); };
}

std::unique_ptr<Mechanism> Response(noise::NoiseKey key) {
  return RandomizedResponse::Create({1, kClasses, kRows}, std::move(key)).value();
}

std::unique_ptr<Mechanism> PrintedRona(noise::NoiseKey key) {
  LossSettings settings;
  settings.norm_bound = 100;
  settings.batch = kRows;
  settings.classes = kClasses;
  return LossNoise::Create(settings, std::move(key)).value();
}

std::vector<Case> Cases() {
  return {{"Working", Gradient(Reading::working)},
          {"Stated", Gradient(Reading::stated)},
          {"RowAveraged", Gradient(Reading::row_averaged)},
          {"Printed", Gradient(Reading::printed)},
          {"Frobenius", Gradient(Reading::working, Normalization::frobenius)},
          {"Clip", Gradient(Reading::working, Normalization::clip)},
          {"Votes", Votes(1), 5, 1},
          {"Probabilities", Votes(32), 5, 32},
          {"RandomizedResponse", Response},
          {"LossNoiseAsPrinted", PrintedRona},
          {"RawAnswers", [](noise::NoiseKey) { return std::make_unique<Noiseless>(kClasses, kRows); }}};
}

// Sure of `label` on every row; differs from the others in its Jacobian alone where `label` is the same.
class LinearTeacher final : public TeacherModel {
 public:
  LinearTeacher(std::int64_t label, std::int64_t members, double slope = 0)
      : label_(label), members_(members), slope_(slope) {}
  std::int64_t classes() const override { return kClasses; }
  std::int64_t members() const override { return members_; }

 protected:
  at::Tensor Logits(const at::Tensor& inputs) override {
    const at::Tensor rest = inputs.flatten(1) - inputs.flatten(1).detach();
    return Level(inputs.size(0)) + slope_ * rest * at::arange(1.0, kClasses + 1.0, at::kFloat);
  }
  at::Tensor MemberLogits(const at::Tensor& inputs) override {
    return Logits(inputs).expand({members_, inputs.size(0), kClasses});
  }

 private:
  at::Tensor Level(std::int64_t rows) const {
    at::Tensor level = at::sin(at::arange(kClasses, at::kFloat));
    level[label_] = 3;
    return level.expand({rows, kClasses});
  }
  std::int64_t label_, members_;
  double slope_;
};

at::Tensor Student() { return at::cos(at::arange(kRows * kClasses, at::kFloat)).reshape({kRows, kClasses}); }

// The first row of every release: f64 [kSteps, classes].
at::Tensor Draws(const Case& tried, noise::NoiseKey key, std::int64_t label, double slope = 0) {
  MemoryPort port;
  ChargeBook book(&port, 1, INT64_MAX);
  const auto mechanism = tried.make(std::move(key));
  LinearTeacher teacher(label, tried.members, slope);
  at::Tensor candidates = at::ones({kRows, kClasses}, at::kBool);
  candidates.select(1, kClasses - 1).fill_(false);  // the last class is no candidate
  std::vector<at::Tensor> rows;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const at::Tensor inputs = DistinctInputs(kRows, step).requires_grad_(true);
    const Answers answers = Oracle::Ask(teacher, {inputs, Student(), step, tried.grain, candidates});
    const at::Tensor values = ChargeAndRelease(*mechanism, answers, book).value().values;
    EXPECT_FALSE(values.requires_grad()) << tried.name;
    rows.push_back(values[0].to(at::kDouble));
  }
  return at::stack(rows);
}

noise::NoiseKey Secure() { return noise::NoiseKey::FromOperatingSystem(); }

// For each class: does it ever change from release to release?
at::Tensor Varies(const at::Tensor& draws) { return (draws != draws[0]).any(0); }

Alarm CheckRank(const at::Tensor& draws) {
  const at::Tensor centred = draws - draws.mean(0);
  const at::Tensor values = at::linalg_eigvalsh(at::mm(centred.t(), centred) / static_cast<double>(kSteps));
  const double least = values.min().item<double>(), most = values.max().item<double>();
  return most > 0 && least > most / 4 ? Alarm() : "some direction carries no noise, or less than others";
}

Alarm CheckStructure(const Case& tried) {
  const at::Tensor draws = Draws(tried, Secure(), 1);
  if (at::equal(draws, Draws(tried, Secure(), 1))) return "a new noise key does not change what leaves";
  if (!at::equal(Varies(draws), Varies(Draws(tried, Secure(), kClasses - 1))))
    return "which outputs are possible depends on the teacher";
  const bool additive = tried.make(Secure())->Describe(1).kind != privacy::MechanismKind::randomized_response;
  return additive ? CheckRank(draws) : Alarm();
}

TEST(Structure, UnboundedMechanismsAreCalledUnbounded) {
  for (const Case& tried : Cases()) {
    const std::string problem = privacy::FindEventProblem(tried.make(Secure())->Describe(1));
    EXPECT_EQ(CheckStructure(tried).empty(), problem.empty()) << tried.name << ": " << CheckStructure(tried) << problem;
  }
}

TEST(Structure, PrintedRonaFailsSinceItsNoiseNeverReachesTheUpdate) {
  EXPECT_EQ(CheckStructure({"Rona", PrintedRona}), "a new noise key does not change what leaves");
  EXPECT_EQ(privacy::FindEventProblem(PrintedRona(Secure())->Describe(1)), "noise-does-not-reach-the-update");
}

TEST(Structure, TeachersEqualAtTheQueriedPointsGiveEqualReleases) {
  for (const Case& tried : Cases()) {
    const auto key = [] { return noise::NoiseKey::FromSeed(5, TrialId(5)); };
    EXPECT_TRUE(at::equal(Draws(tried, key(), 1, 0.5), Draws(tried, key(), 1, -7))) << tried.name;
  }
}

class Mutant : public ::testing::Test {
 protected:
  template <typename M>
  static Alarm Check(const Make& inner) {
    return CheckStructure({"mutant", [&](noise::NoiseKey key) {
                             auto made = inner(std::move(key));
                             const privacy::PrivacyEvent claimed = made->Describe(1);
                             return std::make_unique<M>(claimed, std::move(made));
                           }});
  }
};

TEST_F(Mutant, FaithfulDoublePasses) { EXPECT_EQ(Check<NotPrivateMechanism>(Gradient(Reading::working)), ""); }

TEST_F(Mutant, BroadcastNoiseIsCaught) {
  EXPECT_EQ(Check<NotPrivateBroadcast>(Gradient(Reading::working)),
            "some direction carries no noise, or less than others");
}

TEST_F(Mutant, KeyThatIsAlwaysTheSameIsCaught) {
  EXPECT_EQ(Check<NotPrivateMechanism>(
                [](noise::NoiseKey) { return Gradient(Reading::working)(noise::NoiseKey::FromSeed(1, TrialId(1))); }),
            "a new noise key does not change what leaves");
}

// The three largest classes of each row alone are released, and these follow the teacher.
class NotPrivateMask final : public Mechanism {
 public:
  explicit NotPrivateMask(std::unique_ptr<Mechanism> inner) : inner_(std::move(inner)) {}
  privacy::PrivacyEvent Describe(std::int64_t rows) const override { return inner_->Describe(rows); }
  Result<Released> Release(const Answers& answers, Charge&& charge) override {
    RETORT_ASSIGN_OR_RETURN(Released released, inner_->Release(answers, std::move(charge)));
    const at::Tensor kept = std::get<1>(released.values.abs().topk(3, 1));
    return Released{at::zeros_like(released.values).scatter(1, kept, released.values.gather(1, kept))};
  }

 private:
  std::unique_ptr<Mechanism> inner_;
};

TEST_F(Mutant, MaskThatFollowsTheTeacherIsCaught) {
  const auto masked = [](noise::NoiseKey key) {
    GradientSettings settings;
    settings.batch = kRows;
    settings.classes = kClasses;
    settings.sigma = 0.01;  // the signal is far above the noise
    settings.norm_bound = 1;
    settings.floor = 0;
    settings.loss = DistillationLoss::ce_hard;
    return std::make_unique<NotPrivateMask>(GaussianGradient::Create(settings, std::move(key)).value());
  };
  EXPECT_EQ(CheckStructure({"mask", masked}), "which outputs are possible depends on the teacher");
}

}  // namespace
}  // namespace retort::worker::release::structure_test
