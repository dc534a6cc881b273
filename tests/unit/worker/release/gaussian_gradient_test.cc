#include "worker/release/gaussian_gradient.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "tests/unit/worker/noise/lattice_noise.h"
#include "tests/unit/worker/release/release_fixture.h"
#include "worker/release/output_gradient.h"

namespace retort::worker::release::gaussian_gradient_test {
namespace {

constexpr std::int64_t kRows = 6, kClasses = 5;

at::Tensor Logits(double scale, std::int64_t shift) {
  return scale * at::sin(at::arange(kRows * kClasses, at::kDouble).mul(1.7).add(static_cast<double>(shift)))
                     .reshape({kRows, kClasses});
}

at::Tensor ComputeAutograd(const at::Tensor& loss, const at::Tensor& logits) {
  return torch::autograd::grad({loss.sum()}, {logits})[0];
}

// DKD as Zhao et al. 2022 print it: KL of (p_r, 1 - p_r), and KL over the other classes.
at::Tensor DkdLoss(const at::Tensor& student, const at::Tensor& teacher, double alpha, double beta, double t) {
  const at::Tensor target = at::one_hot(teacher.argmax(-1), kClasses).to(at::kBool);
  const at::Tensor p = (student / t).softmax(-1), q = (teacher / t).softmax(-1);
  const at::Tensor p_r = p.masked_select(target), q_r = q.masked_select(target);
  const at::Tensor tckd = q_r * (q_r / p_r).log() + (1 - q_r) * ((1 - q_r) / (1 - p_r)).log();
  const at::Tensor p_other = (student / t).masked_fill(target, -1e9).log_softmax(-1);
  const at::Tensor q_other = (teacher / t).masked_fill(target, -1e9).log_softmax(-1);
  const at::Tensor nckd = (q_other.exp() * (q_other - p_other)).sum(-1);
  return t * t * (alpha * tckd + beta * nckd);
}

TEST(DistillationGradient, DkdIsTheGradientOfThePrintedLoss) {
  for (const double temperature : {1.0, 4.0}) {
    const at::Tensor student = Logits(2.5, 1).requires_grad_(true);
    const at::Tensor teacher = Logits(3.0, 4);
    const at::Tensor expected = ComputeAutograd(DkdLoss(student, teacher, 1, 8, temperature), student);
    const at::Tensor actual =
        ComputeDistillationGradient(DistillationLoss::dkd, student.detach(), teacher, 1, 8, temperature);
    EXPECT_TRUE(at::allclose(actual, expected, 1e-9, 1e-12)) << "T = " << temperature;
  }
}

TEST(DistillationGradient, KdAndHardLabelsAreTheGradientsOfTheirLosses) {
  const at::Tensor student = Logits(2.5, 1).requires_grad_(true);
  const at::Tensor teacher = Logits(3.0, 4);
  const double t = 2;
  const at::Tensor kl = ((teacher / t).softmax(-1) * ((teacher / t).log_softmax(-1) - (student / t).log_softmax(-1)));
  EXPECT_TRUE(at::allclose(ComputeDistillationGradient(DistillationLoss::kd, student.detach(), teacher, 1, 8, t),
                           ComputeAutograd(t * t * kl, student), 1e-9, 1e-12));
  const at::Tensor ce = -(at::one_hot(teacher.argmax(-1), kClasses) * student.log_softmax(-1));
  EXPECT_TRUE(at::allclose(ComputeDistillationGradient(DistillationLoss::ce_hard, student.detach(), teacher, 1, 8, 1),
                           ComputeAutograd(ce, student), 1e-9, 1e-12));
}

TEST(DistillationGradient, OnePassOverTheRowsGivesWhatTensorOperationsGive) {
  for (const auto& [rows, classes] : {std::pair{1, 2}, {7, 10}, {300, 1000}}) {
    for (const double temperature : {1.0, 4.0}) {
      const at::Tensor teacher =
          at::sin(at::arange(rows * classes, at::kDouble).mul(2.3)).mul(9).reshape({rows, classes});
      teacher[0].fill_(1);  // a tie: the first class is the label
      const at::Tensor student = at::cos(at::arange(rows * classes, at::kDouble)).mul(5).reshape({rows, classes});
      const at::Tensor one_pass =
          ComputeDistillationGradient(DistillationLoss::dkd, student, teacher, 2, 8, temperature);
      const at::Tensor operations = ComputeDistillationGradient(
          DistillationLoss::dkd, student.clone().requires_grad_(true), teacher, 2, 8, temperature);
      EXPECT_TRUE(at::allclose(one_pass, operations.detach(), 1e-11, 1e-13)) << rows << " " << classes;
      const at::Tensor columns = student.t().contiguous().t();  // the same logits, laid out by class
      EXPECT_TRUE(
          at::equal(ComputeDistillationGradient(DistillationLoss::dkd, columns, teacher, 2, 8, temperature), one_pass));
    }
  }
}

TEST(DistillationGradient, StaysFiniteAndSumsToZeroWhereProbabilitiesVanish) {
  for (const double scale : {0.0, 1.0, 60.0, 3e4}) {
    const at::Tensor gradient = ComputeDistillationGradient(DistillationLoss::dkd, Logits(scale, 1).to(at::kFloat),
                                                            Logits(scale, 4).to(at::kFloat), 1, 8, 1);
    EXPECT_TRUE(at::isfinite(gradient).all().item<bool>()) << scale;
    EXPECT_LT(gradient.sum(-1).abs().max().item<double>(), 1e-4) << scale;
  }
}

TEST(DistillationGradient, KeepsItsSignWhereBothLabelsAreAllButCertain) {
  // Student 1 - 5e-9, teacher 1 - 5e-13: in float both round to 1, yet the student must grow surer.
  const at::Tensor student = at::tensor({20.0f, 0.0f, 0.0f}).reshape({1, 3});
  const at::Tensor teacher = at::tensor({29.0f, 0.0f, 0.0f}).reshape({1, 3});
  const at::Tensor gradient = ComputeDistillationGradient(DistillationLoss::dkd, student, teacher, 1, 0, 1);
  EXPECT_LT(gradient[0][0].item<double>(), 0);
  EXPECT_GT(gradient[0][1].item<double>(), 0);
}

// Two rows by hand: T (q - p) with p and q softmax of teacher and student over T.
TEST(DistillationGradient, KdIsWhatItsDefinitionSaysNumberByNumber) {
  const double z[2][3] = {{0.5, -1, 2}, {0, 0, 0}}, t[2][3] = {{1, 1, -2}, {3, 0, 0}};
  for (const double temperature : {1.0, 4.0}) {
    const at::Tensor got = ComputeDistillationGradient(
        DistillationLoss::kd, at::tensor({0.5, -1., 2., 0., 0., 0.}, at::kDouble).reshape({2, 3}),
        at::tensor({1., 1., -2., 3., 0., 0.}, at::kDouble).reshape({2, 3}), 1, 8, temperature);
    for (std::int64_t row = 0; row < 2; ++row) {
      double student = 0, teacher = 0;
      for (std::int64_t c = 0; c < 3; ++c) {
        student += std::exp(z[row][c] / temperature);
        teacher += std::exp(t[row][c] / temperature);
      }
      for (std::int64_t c = 0; c < 3; ++c) {
        const double want =
            temperature * (std::exp(z[row][c] / temperature) / student - std::exp(t[row][c] / temperature) / teacher);
        EXPECT_NEAR(got[row][c].item<double>(), want, 1e-12);
      }
    }
  }
}

// v pulled back through the softmax: p (v - <p, v>) / T.
TEST(ProbabilityGradient, IsTheLogitsGradientBeforeTheSoftmax) {
  const at::Tensor student = Logits(2.5, 1), teacher = Logits(3.0, 4);
  for (const auto loss : {DistillationLoss::dkd, DistillationLoss::kd, DistillationLoss::ce_hard}) {
    for (const double temperature : {1.0, 4.0}) {
      if (loss == DistillationLoss::ce_hard && temperature != 1) continue;  // it has no temperature
      const at::Tensor v = ComputeProbabilityGradient(loss, student, teacher, 2, 8, temperature);
      const at::Tensor p = (student / temperature).softmax(-1);
      const at::Tensor pulled = p * (v - (p * v).sum(-1, true)) / temperature;
      EXPECT_TRUE(
          at::allclose(pulled, ComputeDistillationGradient(loss, student, teacher, 2, 8, temperature), 1e-9, 1e-12))
          << static_cast<int>(loss) << " T = " << temperature;
    }
  }
}

// DPSD, equation 2: the sum over the classes but r divides by 1 - p of the class, not of r.
at::Tensor PrintedDkdLoss(const at::Tensor& p, const at::Tensor& t, double lambda) {
  const at::Tensor target = at::one_hot(t.argmax(-1), kClasses).to(at::kBool);
  const at::Tensor p_r = p.masked_select(target), t_r = t.masked_select(target);
  const at::Tensor tc = t_r * (t_r / p_r).log() + (1 - t_r) * ((1 - t_r) / (1 - p_r)).log();
  const at::Tensor nc = (t / (1 - t) * (t * (1 - p) / (p * (1 - t))).log()).masked_fill(target, 0).sum(-1);
  return tc + lambda * nc;
}

TEST(ProbabilityGradient, PrintedDkdIsTheGradientOfEquation2) {
  const at::Tensor student = Logits(2.5, 1), teacher = Logits(3.0, 4);
  const at::Tensor t = teacher.softmax(-1), p = student.softmax(-1).requires_grad_(true);
  const at::Tensor expected = ComputeAutograd(PrintedDkdLoss(p, t, 8), p);
  const at::Tensor actual = ComputeProbabilityGradient(DistillationLoss::dkd_printed, student, teacher, 1, 8, 1);
  EXPECT_TRUE(at::allclose(actual, expected, 1e-9, 1e-12));
  const at::Tensor logits = student.clone().requires_grad_(true);
  const at::Tensor by_logits = ComputeAutograd(PrintedDkdLoss(logits.softmax(-1), t, 8), logits);
  EXPECT_TRUE(at::allclose(ComputeDistillationGradient(DistillationLoss::dkd_printed, student, teacher, 1, 8, 1),
                           by_logits, 1e-9, 1e-12));
  EXPECT_FALSE(at::allclose(by_logits, ComputeDistillationGradient(DistillationLoss::dkd, student, teacher, 1, 8, 1)));
}

// Two classes, number by number: t = (0.8, 0.2), p = (0.5, 0.5), lambda = 8.
TEST(ProbabilityGradient, PrintedDkdOfTwoClassesByHand) {
  const at::Tensor teacher = at::tensor({std::log(4.0), 0.0}, at::kDouble).reshape({1, 2});
  const at::Tensor v =
      ComputeProbabilityGradient(DistillationLoss::dkd_printed, at::zeros({1, 2}, at::kDouble), teacher, 1, 8, 1);
  EXPECT_NEAR(v[0][0].item<double>(), -0.8 / 0.5 + 0.2 / 0.5, 1e-12);
  EXPECT_NEAR(v[0][1].item<double>(), -8 * 0.2 / (0.8 * 0.5 * 0.5), 1e-12);
}

TEST(ProbabilityGradient, StaysFiniteWhereProbabilitiesVanish) {
  for (const auto loss :
       {DistillationLoss::dkd, DistillationLoss::kd, DistillationLoss::ce_hard, DistillationLoss::dkd_printed}) {
    for (const double scale : {0.0, 60.0, 3e4}) {
      const at::Tensor v =
          ComputeProbabilityGradient(loss, Logits(scale, 1).to(at::kFloat), Logits(scale, 4).to(at::kFloat), 1, 8, 1);
      EXPECT_TRUE(at::isfinite(v).all().item<bool>()) << static_cast<int>(loss) << " " << scale;
    }
  }
}

TEST(KeepLargest, ByValueKeepsTheLargestWhateverTheirSign) {
  const at::Tensor g = at::tensor({0.1f, -0.9f, 0.5f, -0.5f, -0.1f, -0.9f, -0.2f, -0.3f}).reshape({2, 4});
  const at::Tensor want = at::tensor({0.1f, 0.0f, 0.5f, 0.0f, -0.1f, 0.0f, -0.2f, 0.0f}).reshape({2, 4});
  EXPECT_TRUE(at::equal(KeepLargest(g, 2, MaskBy::value), want));
}

TEST(KeepLargest, OverTheBatchKeepsSoManyOfAllRows) {
  const at::Tensor g = at::tensor({0.1f, -0.9f, 0.5f, -0.5f, -0.1f, -0.8f, -0.2f, -0.3f}).reshape({2, 4});
  const at::Tensor want = at::tensor({0.0f, -0.9f, 0.0f, 0.0f, 0.0f, -0.8f, 0.0f, 0.0f}).reshape({2, 4});
  EXPECT_TRUE(at::equal(KeepLargest(g, 2, MaskBy::magnitude, MaskOver::batch), want));
}

// One answer would change what is kept of every row, each by 2 C.
TEST(GaussianGradient, MaskOverTheBatchNeedsTheNormOfTheBatch) {
  GradientSettings settings;
  settings.classes = kClasses;
  settings.top_k = 2;
  settings.mask_over = MaskOver::batch;
  const auto make = [&] { return GaussianGradient::Create(settings, noise::NoiseKey::FromSeed(1, TrialId(1))); };
  EXPECT_EQ(make().status().code(), StatusCode::usage);
  settings.normalization = Normalization::frobenius;
  EXPECT_TRUE(make().ok());
}

TEST(KeepLargest, KeepsTheLargestMagnitudesAndTheLeftOfEqualOnes) {
  const at::Tensor g = at::tensor({0.1f, -0.9f, 0.5f, -0.5f, 0.2f, 0.0f, 0.3f, 0.3f, -0.3f, 0.0f}).reshape({2, 5});
  const at::Tensor want = at::tensor({0.0f, -0.9f, 0.5f, 0.0f, 0.0f, 0.0f, 0.3f, 0.3f, 0.0f, 0.0f}).reshape({2, 5});
  EXPECT_TRUE(at::equal(KeepLargest(g, 2), want));
  EXPECT_TRUE(at::equal(KeepLargest(g, 0), g));
  EXPECT_TRUE(at::equal(KeepLargest(g, 5), g));
}

TEST(NormaliseGradient, RowsAndBatchesStayInsideTheBound) {
  const double bound = 1e-3;
  for (const double scale : {1e-8, 1.0, 1e6}) {
    const at::Tensor g = Logits(scale, 2).to(at::kFloat);
    EXPECT_LE(NormaliseGradient(g, Normalization::row, bound, 1e-4).norm(2, -1).max().item<double>(),
              bound * (1 + 1e-6));
    EXPECT_LE(NormaliseGradient(g, Normalization::frobenius, bound, 1e-4).norm().item<double>(), bound * (1 + 1e-6));
    EXPECT_LE(NormaliseGradient(g, Normalization::clip, bound, 1e-4).norm(2, -1).max().item<double>(),
              bound * (1 + 1e-6));
  }
  const at::Tensor small = at::full({1, 4}, 1e-5f);
  EXPECT_TRUE(at::equal(NormaliseGradient(small, Normalization::clip, bound, 1e-4), small));
}

class GaussianGradientTest : public ::testing::Test {
 protected:
  GaussianGradientTest() : book_(&port_, 1, 1'000'000) {
    settings_.batch = kRows;
    settings_.classes = kClasses;
    settings_.sigma = 3;
    settings_.norm_bound = 0.5;
  }
  std::unique_ptr<GaussianGradient> Make() {
    return GaussianGradient::Create(settings_, noise::NoiseKey::FromSeed(1, TrialId(1))).value();
  }
  Answers Ask(std::int64_t step) {
    FixedTeacher teacher(Logits(3, 4).to(at::kFloat));
    return Oracle::Ask(teacher, {DistinctInputs(kRows, step), Logits(2, 1).to(at::kFloat), step});
  }
  at::Tensor Noise(std::int64_t step, std::int64_t rows, double std) {
    return LatticeNoise(noise::NoiseKey::FromSeed(1, TrialId(1)),
                        {static_cast<std::uint64_t>(step), noise::Purpose::gradient}, settings_.norm_bound, std,
                        {rows, kClasses});
  }
  at::Tensor Bounded() {
    return NormaliseGradient(ComputeDistillationGradient(DistillationLoss::dkd, Logits(2, 1).to(at::kFloat),
                                                         Logits(3, 4).to(at::kFloat), 1, 8, 1),
                             Normalization::row, 0.5, 1e-4);
  }
  GradientSettings settings_;
  MemoryPort port_;
  ChargeBook book_;
};

TEST_F(GaussianGradientTest, WorkingReadingAddsSigmaCOverBToEveryRow) {
  const auto mechanism = Make();
  const at::Tensor released = ChargeAndRelease(*mechanism, Ask(2), book_).value().values;
  EXPECT_TRUE(at::allclose(released, Bounded() + Noise(2, kRows, 3 * 0.5 / kRows), 1e-5, 1e-6));
  const privacy::PrivacyEvent event = mechanism->Describe(kRows);
  EXPECT_EQ(event.unit, privacy::EventUnit::row);
  EXPECT_EQ(event.count, kRows);
  EXPECT_EQ(event.noise_std, 3 * 0.5 / kRows);
  EXPECT_EQ(event.sensitivity, 1.0);
}

TEST_F(GaussianGradientTest, RowAveragedReadingDividesGradientAndNoiseByB) {
  settings_.reading = Reading::row_averaged;
  const at::Tensor released = ChargeAndRelease(*Make(), Ask(2), book_).value().values;
  EXPECT_TRUE(at::allclose(released, (Bounded() + Noise(2, kRows, 1.5)) / kRows, 1e-6, 1e-8));
}

TEST_F(GaussianGradientTest, PerRowDrawsHaveTheNoiseOfTheirSum) {
  settings_.reading = Reading::printed;
  settings_.noise_by_row = true;
  const at::Tensor released = ChargeAndRelease(*Make(), Ask(2), book_).value().values;
  const double deviation = 1.5 * std::sqrt(static_cast<double>(kRows));
  const at::Tensor expected = (Bounded().sum(0, true) + Noise(2, 1, deviation)) / kRows;
  EXPECT_TRUE(at::allclose(released, expected.expand({kRows, kClasses}), 1e-6, 1e-7));
  EXPECT_EQ(Make()->Describe(kRows).noise_std, deviation);
}

// The trap of a masked release: which entries are not zero must not tell which the mask kept.
TEST_F(GaussianGradientTest, NoiseCoversWhatTheMaskZeroedWhoeverTheTeacherIs) {
  settings_.top_k = 2;
  settings_.norm_bound = 1;
  for (const Reading reading : {Reading::working, Reading::row_averaged, Reading::printed}) {
    for (const auto normalization : {Normalization::row, Normalization::frobenius, Normalization::clip}) {
      settings_.reading = reading;
      settings_.normalization = normalization;
      for (const std::int64_t teacher_of : {4, 9}) {
        FixedTeacher teacher(Logits(3, teacher_of).to(at::kFloat));
        const Query query{DistinctInputs(kRows, 1), Logits(2, 1).to(at::kFloat), 1};
        const at::Tensor released = ChargeAndRelease(*Make(), Oracle::Ask(teacher, query), book_).value().values;
        EXPECT_TRUE((released != 0).all().item<bool>());
        const at::Tensor masked =
            ComputeOutputGradient(settings_, query.student_logits, Logits(3, teacher_of).to(at::kFloat));
        EXPECT_TRUE(at::equal((masked != 0).sum(1), at::full({kRows}, 2, at::kLong)));
      }
      EXPECT_EQ(Make()->Describe(kRows).noise_coordinates, kClasses);
    }
  }
}

TEST_F(GaussianGradientTest, TheMaskComesBeforeTheNorm) {
  settings_.top_k = 2;
  settings_.sigma = 1e-9;
  const at::Tensor released = ChargeAndRelease(*Make(), Ask(2), book_).value().values;
  EXPECT_LT((released.norm(2, 1) - settings_.norm_bound).abs().max().item<double>(), 1e-3);
  const at::Tensor gradient = ComputeDistillationGradient(DistillationLoss::dkd, Logits(2, 1).to(at::kFloat),
                                                          Logits(3, 4).to(at::kFloat), 1, 8, 1);
  for (std::int64_t row = 0; row < kRows; ++row) {
    const at::Tensor kept = std::get<1>(gradient[row].abs().topk(2));
    const at::Tensor share = gradient[row].index_select(0, kept) / gradient[row].index_select(0, kept).norm();
    EXPECT_TRUE(at::allclose(released[row].index_select(0, kept), share * 0.5, 1e-3, 1e-4));
  }
}

TEST_F(GaussianGradientTest, QueriesOfAGeneratorThatTouchedTheTeacherAreMarked) {
  EXPECT_TRUE(Make()->Describe(kRows).voids.empty());
  settings_.teacher_drives_generator = true;
  EXPECT_EQ(Make()->Describe(kRows).voids,
            std::vector<std::string>{std::string(privacy::kVoidGeneratorTouchedTeacher)});
}

TEST_F(GaussianGradientTest, PrintedReadingReleasesOneVectorForTheWholeBatch) {
  settings_.reading = Reading::printed;
  const auto mechanism = Make();
  const at::Tensor released = ChargeAndRelease(*mechanism, Ask(2), book_).value().values;
  const at::Tensor expected = (Bounded().sum(0, true) + Noise(2, 1, 1.5)) / kRows;
  EXPECT_TRUE(at::allclose(released, expected.expand({kRows, kClasses}), 1e-6, 1e-8));
  EXPECT_EQ(mechanism->Describe(kRows).count, 1);
  EXPECT_EQ(mechanism->Describe(kRows).unit, privacy::EventUnit::batch);
  EXPECT_EQ(port_.entries.begin()->second.count, 1);
}

TEST_F(GaussianGradientTest, StepThatDoesNotGrowIsRefused) {
  const auto mechanism = Make();
  ASSERT_TRUE(ChargeAndRelease(*mechanism, Ask(4), book_).ok());
  EXPECT_EQ(ChargeAndRelease(*mechanism, Ask(4), book_).status().code(), StatusCode::refused);
  EXPECT_EQ(ChargeAndRelease(*mechanism, Ask(3), book_).status().code(), StatusCode::refused);
  EXPECT_TRUE(ChargeAndRelease(*mechanism, Ask(5), book_).ok());
}

TEST_F(GaussianGradientTest, ChargeOfAnotherMechanismOrTooFewDrawsIsRefused) {
  const auto mechanism = Make();
  EXPECT_FALSE(mechanism->Release(Ask(1), book_.Take(mechanism->Describe(kRows), kRows - 1).value()).ok());
  privacy::PrivacyEvent cheaper = mechanism->Describe(kRows);
  cheaper.noise_std *= 2;
  EXPECT_FALSE(mechanism->Release(Ask(1), book_.Take(cheaper, kRows).value()).ok());
}

TEST_F(GaussianGradientTest, MoreRowsThanTheEventSpeaksOfAreRefused) {
  settings_.batch = kRows - 1;
  EXPECT_EQ(ChargeAndRelease(*Make(), Ask(1), book_).status().code(), StatusCode::refused);
}

TEST_F(GaussianGradientTest, NonFiniteAnswerTakesTheSamePathAsZeros) {
  at::Tensor bad = Logits(3, 4).to(at::kFloat);
  bad[2][1] = std::nan("");
  at::Tensor zero = Logits(3, 4).to(at::kFloat);
  zero[2].zero_();
  FixedTeacher bad_teacher(bad), zero_teacher(zero);
  const Query query{DistinctInputs(kRows, 0), Logits(2, 1).to(at::kFloat), 1};
  const at::Tensor first = ChargeAndRelease(*Make(), Oracle::Ask(bad_teacher, query), book_).value().values;
  const at::Tensor second = ChargeAndRelease(*Make(), Oracle::Ask(zero_teacher, query), book_).value().values;
  EXPECT_TRUE(at::equal(first, second));
}

TEST_F(GaussianGradientTest, SettingsWithoutAMeaningAreRefused) {
  settings_.norm_bound = 0;
  EXPECT_EQ(GaussianGradient::Create(settings_, noise::NoiseKey::FromSeed(1, TrialId(1))).status().code(),
            StatusCode::usage);
  settings_.norm_bound = 1;
  settings_.reading = Reading::sound;
  EXPECT_EQ(GaussianGradient::Create(settings_, noise::NoiseKey::FromSeed(1, TrialId(1))).status().code(),
            StatusCode::usage);
}

TEST(SoftTarget, SumsToOneAndMovesAgainstTheRelease) {
  const at::Tensor logits = Logits(2, 1);
  const at::Tensor released = Logits(0.1, 3) + 7;  // its mean does not matter
  const at::Tensor y = ComputeSoftTarget(logits, released, 2.0);
  EXPECT_LT((y.sum(-1) - 1).abs().max().item<double>(), 1e-12);
  EXPECT_TRUE(at::allclose(logits.softmax(-1) - y, 2.0 * (released - released.mean(-1, true)), 1e-9, 1e-12));
}

}  // namespace
}  // namespace retort::worker::release::gaussian_gradient_test
