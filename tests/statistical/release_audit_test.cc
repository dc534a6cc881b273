// Release-step audit: the worst pair of neighbours goes through the real noise path, the best test tells
// them apart, and what it can tell is compared with what the event claims.
#include <gtest/gtest.h>

#include <cmath>

#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/relation.h"
#include "tests/statistical/noise_checks.h"
#include "tests/statistical/not_private.h"
#include "worker/models/model_registry.h"
#include "worker/release/class_embedding.h"
#include "worker/release/dpsgd_step.h"
#include "worker/release/gaussian_gradient.h"
#include "worker/release/noisy_votes.h"
#include "worker/training/per_sample_gradients.h"

namespace retort::worker::release::release_audit_test {
namespace {

constexpr std::int64_t kRows = 256, kClasses = 10, kTrials = 102'400;

// How many of kTrials released rows lie beyond `threshold` along `direction`, under one neighbour.
std::int64_t Hits(Mechanism& mechanism, TeacherModel& teacher, const at::Tensor& student, const at::Tensor& direction,
                  double threshold, std::int64_t grain = 1) {
  MemoryPort port;
  ChargeBook book(&port, 1, INT64_MAX);
  std::int64_t hits = 0;
  for (std::int64_t step = 0; step < kTrials / kRows; ++step) {
    const Answers answers = Oracle::Ask(teacher, {DistinctInputs(kRows, step), student, step, grain});
    const at::Tensor values = ChargeAndRelease(mechanism, answers, book).value().values.to(at::kDouble);
    hits += (values.matmul(direction) > threshold).sum().item<std::int64_t>();
  }
  return hits;
}

struct Audit {
  double mu_claimed = 0, mu_lower = 0;
  double epsilon_claimed = 0, epsilon_lower = 0;
};

// What `times` equal releases claim of an example that is added, by the event of one.
double ComputeMu(const privacy::PrivacyEvent& event, std::int64_t times = 1) {
  privacy::PrivacyEvent all = event;
  all.count = times;
  return privacy::ComputeComposedMu(privacy::ComposeEvents(privacy::kExampleAdded, {all}).gaussian);
}

Audit Compare(double mu_claimed, std::int64_t hits, std::int64_t false_hits) {
  constexpr double kDelta = 1e-5;
  Audit audit;
  audit.mu_claimed = mu_claimed;
  audit.mu_lower = MuLowerBound(hits, false_hits, kTrials);
  audit.epsilon_claimed = privacy::ComputeGaussianEpsilon(kDelta, mu_claimed);
  const double power = ClopperPearson(hits, kTrials).low, error = ClopperPearson(false_hits, kTrials).high;
  audit.epsilon_lower = std::max(0.0, std::log((power - kDelta) / error));
  return audit;
}

// All mass of student and teacher on two classes; the student is undecided, and the neighbours swap the
// teacher's label: the two gradients are antiparallel, which is the worst case.
Audit AuditGradient(const std::function<std::unique_ptr<Mechanism>()>& make) {
  at::Tensor student = at::full({kRows, kClasses}, -30.0f);
  student.slice(1, 0, 2).fill_(0);
  at::Tensor first = at::full({kRows, kClasses}, -30.0f), second = first.clone();
  first.slice(1, 0, 2).copy_(at::tensor({15.0f, 0.0f}));
  second.slice(1, 0, 2).copy_(at::tensor({0.0f, 15.0f}));
  at::Tensor direction = at::zeros({kClasses}, at::kDouble);
  direction[0] = -1;  // g pulls class 0 up in the first world
  direction[1] = 1;
  FixedTeacher one(first), other(second);
  const auto mechanism = make();
  const privacy::PrivacyEvent event = mechanism->Describe(kRows);
  const std::int64_t hits = Hits(*make(), one, student, direction, 0);
  const std::int64_t false_hits = Hits(*make(), other, student, direction, 0);
  return Compare(event.sensitivity / event.noise_std, hits, false_hits);
}

std::unique_ptr<Mechanism> Gradient(double sigma) {
  GradientSettings settings;
  settings.batch = kRows;
  settings.classes = kClasses;
  settings.sigma = sigma;  // mu = 2 B / sigma for one row
  return GaussianGradient::Create(settings, noise::NoiseKey::FromOperatingSystem()).value();
}

TEST(ReleaseAudit, GradientRowGivesAwayWhatItsEventClaimsAndNoMore) {
  const Audit audit = AuditGradient([] { return Gradient(kRows); });
  EXPECT_DOUBLE_EQ(audit.mu_claimed, 2);
  EXPECT_LE(audit.mu_lower, audit.mu_claimed);
  EXPECT_LE(audit.epsilon_lower, audit.epsilon_claimed);
  EXPECT_GE(audit.mu_lower, 0.95 * audit.mu_claimed) << "the audit has lost its power";
}

TEST(ReleaseAudit, HalvedNoiseGivesAwayMoreThanItsEventClaims) {
  const Audit audit = AuditGradient([]() -> std::unique_ptr<Mechanism> {
    return std::make_unique<NotPrivateMechanism>(Gradient(kRows)->Describe(1), Gradient(kRows / 2.0));
  });
  EXPECT_GT(audit.mu_lower, audit.mu_claimed);
}

TEST(ReleaseAudit, SensitivityCountedAsCInsteadOfTwoCIsCaught) {
  const Audit audit = AuditGradient([]() -> std::unique_ptr<Mechanism> {
    privacy::PrivacyEvent claimed = Gradient(kRows)->Describe(1);
    claimed.sensitivity /= 2;
    return std::make_unique<NotPrivateMechanism>(claimed, Gradient(kRows));
  });
  EXPECT_GT(audit.mu_lower, audit.mu_claimed);
}

// One member moves all of its grain from class 0 to class 1: mu = sqrt(2) / scale.
Audit AuditProbabilities(double scale, std::int64_t grain, std::int64_t claimed_grain) {
  const auto teacher = [](std::int64_t changed) {
    at::Tensor logits = at::zeros({3, kRows, kClasses});
    logits.select(0, 2).select(1, changed).fill_(100);
    return FixedTeacher(logits);
  };
  at::Tensor direction = at::zeros({kClasses}, at::kDouble);
  direction[0] = 1;
  direction[1] = -1;
  const auto hits = [&](std::int64_t changed) {
    FixedTeacher asked = teacher(changed);
    const auto mechanism = NoisyVotes::Create({scale, kClasses, grain}, noise::NoiseKey::FromOperatingSystem()).value();
    return Hits(*mechanism, asked, {}, direction, 0, grain);
  };
  const privacy::PrivacyEvent event =
      NoisyVotes::Create({scale, kClasses, claimed_grain}, noise::NoiseKey::FromOperatingSystem()).value()->Describe(1);
  return Compare(event.sensitivity / (scale * static_cast<double>(grain)), hits(0), hits(1));
}

TEST(ReleaseAudit, ProbabilityHistogramLeaksNoMoreThanClaimed) {
  const Audit audit = AuditProbabilities(1, 32, 32);
  EXPECT_NEAR(audit.mu_claimed, std::sqrt(2.0), 1e-9);
  EXPECT_LE(audit.mu_lower, audit.mu_claimed);
  EXPECT_LE(audit.epsilon_lower, audit.epsilon_claimed);
  EXPECT_GE(audit.mu_lower, 0.95 * audit.mu_claimed) << "the audit has lost its power";
}

TEST(ReleaseAudit, HalfGrainSensitivityIsCaught) {
  const Audit audit = AuditProbabilities(1, 32, 16);
  EXPECT_GT(audit.mu_lower, audit.mu_claimed);
}

TEST(ReleaseAudit, VoteHistogramGivesAwayWhatItsEventClaimsAndNoMore) {
  const double scale = 2;  // mu = sqrt(2) / 2: one member moves its vote from class 0 to class 1
  const auto teacher = [](std::int64_t changed) {
    at::Tensor logits = at::zeros({3, kRows, kClasses});
    logits.slice(0, 0, 2).select(2, 2).fill_(5);
    logits.select(0, 2).select(1, changed).fill_(5);
    return FixedTeacher(logits);
  };
  const auto make = [&] {
    return NoisyVotes::Create({scale, kClasses}, noise::NoiseKey::FromOperatingSystem()).value();
  };
  at::Tensor direction = at::zeros({kClasses}, at::kDouble);
  direction[0] = 1;
  direction[1] = -1;
  FixedTeacher one = teacher(0), other = teacher(1);
  const privacy::PrivacyEvent event = make()->Describe(kRows);
  const std::int64_t hits = Hits(*make(), one, {}, direction, 0);
  const std::int64_t false_hits = Hits(*make(), other, {}, direction, 0);
  const Audit audit = Compare(event.sensitivity / event.noise_std, hits, false_hits);
  EXPECT_LE(audit.mu_lower, audit.mu_claimed);
  EXPECT_LE(audit.epsilon_lower, audit.epsilon_claimed);
  // Rounding to the lattice costs the attacker a little: variance 4 + 1/12, and ties at the threshold.
  EXPECT_GE(audit.mu_lower, 0.85 * audit.mu_claimed);
}

constexpr std::int64_t kCoordinates = 8;

// One example far beyond the norm bound, in the sum or not. `unclipped`: what clipping took away is put back.
Audit AuditDpSgd(bool unclipped) {
  DpSgdSettings settings;
  settings.coordinates = kCoordinates;
  settings.sampling_rate = 1;
  settings.noise_multiplier = 0.5;  // mu = 2
  const auto hits = [&](bool present) {
    MemoryPort port;
    ChargeBook book(&port, kTrials, kTrials);
    DpSgdStep mechanism = DpSgdStep::Create(settings, noise::NoiseKey::FromOperatingSystem()).value();
    at::Tensor example = at::zeros({1, kCoordinates});
    example[0][0] = 100;
    const auto bound = static_cast<float>(settings.norm_bound);
    const float put_back = unclipped && present ? 100 - bound : 0;
    std::int64_t count = 0;
    for (std::int64_t step = 0; step < kTrials; ++step) {
      ClippedSum sum = mechanism.NewSum();
      if (present) sum.Add(example);
      Charge charge = book.Take(mechanism.Describe(1), 1).value();
      const at::Tensor released = mechanism.Release(std::move(sum), step, std::move(charge)).value();
      count += released.const_data_ptr<float>()[0] + put_back > bound / 2 ? 1 : 0;
    }
    return count;
  };
  const DpSgdStep step = DpSgdStep::Create(settings, noise::NoiseKey::FromOperatingSystem()).value();
  return Compare(ComputeMu(step.Describe(1)), hits(true), hits(false));
}

TEST(ReleaseAudit, DpSgdStepGivesAwayWhatItsEventClaimsAndNoMore) {
  const Audit audit = AuditDpSgd(false);
  EXPECT_NEAR(audit.mu_claimed, 2, 1e-9);
  EXPECT_LE(audit.mu_lower, audit.mu_claimed);
  EXPECT_GE(audit.mu_lower, 0.95 * audit.mu_claimed);
}

TEST(ReleaseAudit, DpSgdWithClippingOffIsCaught) {
  const Audit audit = AuditDpSgd(true);
  EXPECT_GT(audit.mu_lower, audit.mu_claimed);
}

// One example that lies far beyond norm 1, in the sums of the classes or not. `unshortened`: what was taken off its
// length is put back. `drawn`: the noise multiplier of a release whose event claims `claimed`.
Audit AuditEmbedding(double drawn, double claimed, bool unshortened = false) {
  const auto hits = [&](bool present) {
    MemoryPort port;
    ChargeBook book(&port, kTrials, kTrials);
    ClassEmbedding mechanism = ClassEmbedding::Create({drawn, 2, 4}, noise::NoiseKey::FromOperatingSystem()).value();
    at::Tensor features = at::zeros({1, 4});
    features[0][1] = 3;
    const at::Tensor label = at::ones({1}, at::kLong);
    const float put_back = unshortened && present ? 2 : 0;
    std::int64_t count = 0;
    for (std::int64_t step = 0; step < kTrials; ++step) {
      EmbeddingSum sum = mechanism.NewSum();
      if (present) sum.Add(features, label);
      Charge charge = book.Take(mechanism.Describe(1), 1).value();
      const at::Tensor released = mechanism.Release(std::move(sum), step, std::move(charge)).value();
      count += released.const_data_ptr<float>()[5] + put_back > 0.5F ? 1 : 0;
    }
    return count;
  };
  const auto event =
      ClassEmbedding::Create({claimed, 2, 4}, noise::NoiseKey::FromOperatingSystem()).value().Describe(1);
  return Compare(ComputeMu(event), hits(true), hits(false));
}

TEST(ReleaseAudit, EmbeddingGivesAwayWhatItsEventClaimsAndNoMore) {
  const Audit audit = AuditEmbedding(0.5, 0.5);
  EXPECT_NEAR(audit.mu_claimed, 2, 1e-9);
  EXPECT_LE(audit.mu_lower, audit.mu_claimed);
  EXPECT_GE(audit.mu_lower, 0.95 * audit.mu_claimed) << "the audit has lost its power";
}

TEST(ReleaseAudit, EmbeddingOfHalfItsNoiseIsCaught) {
  const Audit audit = AuditEmbedding(0.5, 1);
  EXPECT_GT(audit.mu_lower, audit.mu_claimed);
}

TEST(ReleaseAudit, ExamplesThatLieFurtherOutThanNormOneAreCaught) {
  const Audit audit = AuditEmbedding(0.5, 0.5, true);
  EXPECT_GT(audit.mu_lower, audit.mu_claimed);
}

// Steps that add up the gradients `with` or `without` one example, [examples, coordinates], at a noise of
// half the norm bound.
Audit AuditSums(const at::Tensor& with, const at::Tensor& without) {
  DpSgdSettings settings;
  settings.coordinates = with.size(1);
  settings.sampling_rate = 1;
  settings.noise_multiplier = 0.5;  // mu = 2
  const auto clipped = [&](const at::Tensor& gradients) {
    return (gradients * (settings.norm_bound / gradients.norm(2, 1, true).clamp_min(settings.norm_bound))).sum(0);
  };
  const at::Tensor apart = clipped(with) - clipped(without), direction = apart / apart.norm();
  const double threshold = (clipped(with) + clipped(without)).dot(direction).item<double>() / 2;
  const auto hits = [&](const at::Tensor& gradients) {
    MemoryPort port;
    ChargeBook book(&port, kTrials, kTrials);
    DpSgdStep mechanism = DpSgdStep::Create(settings, noise::NoiseKey::FromOperatingSystem()).value();
    std::int64_t count = 0;
    for (std::int64_t step = 0; step < kTrials; ++step) {
      ClippedSum sum = mechanism.NewSum();
      sum.Add(gradients);
      Charge charge = book.Take(mechanism.Describe(1), 1).value();
      const at::Tensor released = mechanism.Release(std::move(sum), step, std::move(charge)).value();
      count += released.dot(direction).item<double>() > threshold ? 1 : 0;
    }
    return count;
  };
  return Compare(2, hits(with), hits(without));
}

std::unique_ptr<Network> ThreePixels() {
  return std::move(MakeNetwork("logistic", {1, 1, 3}, 2, RngStream(1, Purpose::parameters))).value();
}

// One example with a gradient far beyond the norm bound, of which a step sees kCopies, in the sum or not.
// `each_clipped`: its copies enter the sum one by one.
Audit AuditCopies(bool each_clipped) {
  constexpr std::int64_t kCopies = 4;
  const auto network = ThreePixels();
  const auto images = [](const at::Tensor& rows, const RowPlaces& places) -> Result<at::Tensor> {
    at::Tensor scales = at::empty({rows.size(0), 1, 1, 1});
    for (std::int64_t i = 0; i < rows.size(0); ++i) scales[i] = static_cast<float>(100 + places.Of(i));
    return scales * at::tensor({-1.0F, 2.0F, 3.0F}).view({1, 1, 1, 3});
  };
  const at::Tensor logits = network->Forward(images(at::zeros({1}, at::kLong), 0).value()).logits;
  const at::Tensor wrong = logits.argmin(1);  // a label that is far from what the network says
  const at::Tensor row = at::zeros({each_clipped ? kCopies : 1}, at::kLong);
  const AugmentedRows sample{row, wrong.expand({row.size(0)}), each_clipped ? 1 : kCopies};
  const at::Tensor gradients = ComputeMeanGradients(*network, sample, 512, images).value();
  return AuditSums(gradients, gradients.narrow(0, 0, 0));
}

TEST(ReleaseAudit, CopiesOfAnExampleGiveAwayWhatItAloneDoes) {
  const Audit audit = AuditCopies(false);
  EXPECT_LE(audit.mu_lower, audit.mu_claimed);
  EXPECT_GE(audit.mu_lower, 0.95 * audit.mu_claimed) << "the audit has lost its power";
}

TEST(ReleaseAudit, CopiesOfAnExampleClippedOneByOneAreCaught) {
  const Audit audit = AuditCopies(true);
  EXPECT_GT(audit.mu_lower, audit.mu_claimed);
}

// Example 0 is there or not, and example 1 behind it. Images at even places are negative, which turns their
// gradients. `by_sample`: an image's place is that of its example among those that are there.
Audit AuditAugmentation(bool by_sample) {
  const auto network = ThreePixels();
  const auto images = [by_sample](const at::Tensor& rows, const RowPlaces& places) -> Result<at::Tensor> {
    at::Tensor signs = at::empty({rows.size(0), 1, 1, 1});
    for (std::int64_t i = 0; i < rows.size(0); ++i) signs[i] = (by_sample ? i : places.Of(i)) % 2 == 0 ? -1.0F : 1.0F;
    return signs * at::tensor({-1.0F, 2.0F, 3.0F}).view({1, 1, 1, 3});
  };
  const auto gradients = [&](std::vector<std::int64_t> rows) {
    const at::Tensor index = at::tensor(rows, at::kLong);
    return ComputeMeanGradients(*network, {index, index, 1}, 512, images)
        .value();  // of labels 0 and 1: turned alike at their places
  };
  return AuditSums(gradients({0, 1}), gradients({1}));
}

TEST(ReleaseAudit, HowOthersAreAugmentedGivesNothingAway) {
  const Audit audit = AuditAugmentation(false);
  EXPECT_LE(audit.mu_lower, audit.mu_claimed);
  EXPECT_GE(audit.mu_lower, 0.95 * audit.mu_claimed) << "the audit has lost its power";
}

TEST(ReleaseAudit, AugmentationThatDependsOnWhoIsThereIsCaught) {
  const Audit audit = AuditAugmentation(true);
  EXPECT_GT(audit.mu_lower, 1.2 * audit.mu_claimed);
}

constexpr std::int64_t kSteps = 2;

// One example whose gradients are outer products far beyond the norm bound, in every step's sum or in none; what an
// attacker sees is all steps. `drawn`: the noise multiplier of the steps; their events claim `claimed`, for `counted`
// of them.
Audit AuditDpGd(double drawn, double claimed, std::int64_t counted = kSteps) {
  DpSgdSettings settings;
  settings.coordinates = kCoordinates;
  settings.sampling_rate = 1;
  settings.noise_multiplier = drawn;
  at::Tensor left = at::zeros({1, 2}), right = at::zeros({1, kCoordinates / 2});
  left[0][0] = 30;
  right[0][0] = 40;
  const auto hits = [&](bool present) {
    MemoryPort port;
    ChargeBook book(&port, kSteps * kTrials, kSteps * kTrials);
    DpSgdStep mechanism = DpSgdStep::Create(settings, noise::NoiseKey::FromOperatingSystem()).value();
    const double threshold = static_cast<double>(kSteps) * settings.norm_bound / 2;
    std::int64_t count = 0;
    for (std::int64_t trial = 0; trial < kTrials; ++trial) {
      double seen = 0;
      for (std::int64_t step = 0; step < kSteps; ++step) {
        ClippedSum sum = mechanism.NewSum();
        if (present) sum.AddOuter(left, right);
        Charge charge = book.Take(mechanism.Describe(1), 1).value();
        const at::Tensor released = mechanism.Release(std::move(sum), trial * kSteps + step, std::move(charge)).value();
        seen += static_cast<double>(released.const_data_ptr<float>()[0]);
      }
      count += seen > threshold ? 1 : 0;
    }
    return count;
  };
  DpSgdSettings told = settings;
  told.noise_multiplier = claimed;
  const DpSgdStep step = DpSgdStep::Create(told, noise::NoiseKey::FromOperatingSystem()).value();
  return Compare(ComputeMu(step.Describe(1), counted), hits(true), hits(false));
}

TEST(ReleaseAudit, DpGdStepsLeakNoMoreThanClaimed) {
  // Loud enough for the bounds of kTrials to lie 3 % below what is true, with a standard error of 0.4 %.
  const Audit audit = AuditDpGd(1, 1);
  EXPECT_NEAR(audit.mu_claimed, std::sqrt(2.0), 1e-9);
  EXPECT_LE(audit.mu_lower, audit.mu_claimed);
  EXPECT_LE(audit.epsilon_lower, audit.epsilon_claimed);
  EXPECT_GE(audit.mu_lower, 0.95 * audit.mu_claimed) << "the audit has lost its power";
}

TEST(ReleaseAudit, DpGdWithItsNoiseAllButOffIsCaught) {
  const Audit audit = AuditDpGd(0.5, 2);
  EXPECT_GT(audit.mu_lower, audit.mu_claimed);
}

TEST(ReleaseAudit, DpGdStepsCountedAsOneAreCaught) {
  const Audit audit = AuditDpGd(2, 2, 1);
  EXPECT_GT(audit.mu_lower, audit.mu_claimed);
}

}  // namespace
}  // namespace retort::worker::release::release_audit_test
