// Answers chosen to break what bounds them: whatever a teacher says, what leaves is finite, and another answer moves it
// by no more than the event says.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/unit/worker/noise/lattice_noise.h"
#include "tests/unit/worker/release/release_fixture.h"
#include "worker/release/gaussian_gradient.h"
#include "worker/release/loss_noise.h"
#include "worker/release/member_gradient.h"
#include "worker/release/noisy_votes.h"
#include "worker/release/randomized_response.h"

namespace retort::worker::release::adversarial_answers_test {
namespace {

constexpr std::int64_t kClasses = 4;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::array kLosses = {DistillationLoss::dkd, DistillationLoss::kd, DistillationLoss::ce_hard,
                                DistillationLoss::dkd_printed};
constexpr std::array kTemperatures = {1e-2, 0.5, 1.0, 20.0, 1e3, 3e-37};
constexpr std::array kBounds = {1e-9, 1e-3, 1.0, 1e9};
constexpr std::array kFloors = {0.0, 1e-12, 1e-4, 1.0};

// f32 [rows, kClasses].
at::Tensor HostileLogits() {
  const std::vector<float> values = {0.0f,  -0.0f, 1e-45f, -1e-45f, 1e-38f,    5.0f,       -5.0f,
                                     1e19f, 2e38f, 3e38f,  -3e38f,  kInfinity, -kInfinity, std::nanf("")};
  std::vector<at::Tensor> rows;
  for (const float value : values) {
    rows.push_back(at::full({kClasses}, value));
    for (std::int64_t c = 0; c < 2; ++c) {
      at::Tensor one = at::tensor({0.3f, -1.0f, 2.0f, 0.1f});
      one[c] = value;
      rows.push_back(one);
    }
    rows.push_back(at::tensor({value, -value, value, 0.0f}));
  }
  return at::stack(rows);
}

at::Tensor TameLogits(std::int64_t rows) {
  return at::sin(at::arange(rows * kClasses, at::kFloat)).reshape({rows, kClasses});
}

// Every student that a hostile teacher meets: ordinary, undecided, and as hostile.
std::vector<at::Tensor> Students(const at::Tensor& hostile) {
  return {TameLogits(hostile.size(0)), at::zeros_like(hostile), hostile.flip(0).nan_to_num(0, 3e38, -3e38)};
}

// Both worlds with the same noise: what is left of the difference is the answers' own.
template <typename Make>
void ExpectBounded(const Make& make, const at::Tensor& one, const at::Tensor& other, const at::Tensor& student,
                   double bound, const std::optional<MemberRule>& members = {}) {
  const auto released = [&](const at::Tensor& said) {
    FixedTeacher teacher(said);
    MemoryPort port;
    ChargeBook book(&port, 1, privacy::kMaxDraws);
    const std::int64_t rows = student.size(0);
    const auto mechanism = make();
    const Query query{DistinctInputs(rows, 1), student, 1, 1, {}, members};
    return ChargeAndRelease(*mechanism, Oracle::Ask(teacher, query), book).value().values.to(at::kDouble);
  };
  const at::Tensor first = released(one), second = released(other);
  ASSERT_TRUE(at::isfinite(first).all().item<bool>() && at::isfinite(second).all().item<bool>());
  const double moved = (first - second).norm(2, -1).max().item<double>();
  EXPECT_LE(moved, bound * (1 + 1e-5));
}

GradientSettings Settings(DistillationLoss loss, double temperature, double bound, double floor) {
  GradientSettings settings;
  settings.loss = loss;
  settings.temperature = temperature;
  settings.norm_bound = bound;
  settings.floor = floor;
  settings.classes = kClasses;
  settings.sigma = 1;
  return settings;
}

TEST(AdversarialAnswers, ARowOfNoisyGradientsMovesByTwiceTheBoundAtMost) {
  const at::Tensor hostile = HostileLogits(), tame = TameLogits(hostile.size(0));
  for (const auto loss : kLosses) {
    for (const double temperature : kTemperatures) {
      for (const double bound : kBounds) {
        for (const double floor : kFloors) {
          for (const auto normalization : {Normalization::row, Normalization::clip}) {
            for (const at::Tensor& student : Students(hostile)) {
              GradientSettings settings = Settings(loss, temperature, bound, floor);
              settings.normalization = normalization;
              settings.batch = 1;  // the working reading's noise is sigma C
              SCOPED_TRACE(::testing::Message() << static_cast<int>(loss) << " T " << temperature << " C " << bound
                                                << " e " << floor << " " << static_cast<int>(normalization));
              settings.batch = student.size(0);
              settings.sigma = static_cast<double>(settings.batch);
              const auto make = [&] {
                return GaussianGradient::Create(settings, noise::NoiseKey::FromSeed(1, TrialId(1))).value();
              };
              ExpectBounded(make, hostile, tame, student, 2 * bound);
            }
          }
        }
      }
    }
  }
}

TEST(AdversarialAnswers, ABatchOfNoisyGradientsMovesByWhatItsRowsMay) {
  const at::Tensor hostile = HostileLogits(), tame = TameLogits(hostile.size(0));
  const auto rows = static_cast<double>(hostile.size(0));
  for (const auto loss : kLosses) {
    for (const double temperature : kTemperatures) {
      for (const auto normalization : {Normalization::row, Normalization::clip, Normalization::frobenius}) {
        for (const at::Tensor& student : Students(hostile)) {
          GradientSettings settings = Settings(loss, temperature, 1, 0);
          settings.normalization = normalization;
          settings.reading = Reading::printed;
          settings.batch = hostile.size(0);
          const auto make = [&] {
            return GaussianGradient::Create(settings, noise::NoiseKey::FromSeed(1, TrialId(1))).value();
          };
          const bool whole = normalization == Normalization::frobenius;
          // The sum divided by B: 2 C of each of B rows, or 2 C sqrt(B) of all together.
          ExpectBounded(make, hostile, tame, student, whole ? 2 / std::sqrt(rows) : 2);
        }
      }
    }
  }
}

// DPSD's equations 2 and 3 as printed: by probabilities, masked by value in each row or in the batch.
TEST(AdversarialAnswers, PrintedGradientsMoveByWhatTheirBatchMay) {
  const at::Tensor hostile = HostileLogits(), tame = TameLogits(hostile.size(0));
  const auto rows = static_cast<double>(hostile.size(0));
  for (const auto loss : kLosses) {
    for (const auto over : {MaskOver::row, MaskOver::batch}) {
      for (const at::Tensor& student : Students(hostile)) {
        GradientSettings settings = Settings(loss, 1, 1, 1e-4);
        settings.gradient_of = GradientOf::probabilities;
        settings.normalization = Normalization::frobenius;
        settings.mask_by = MaskBy::value;
        settings.mask_over = over;
        settings.top_k = 3;
        settings.reading = Reading::printed;
        settings.batch = hostile.size(0);
        const auto make = [&] {
          return GaussianGradient::Create(settings, noise::NoiseKey::FromSeed(1, TrialId(1))).value();
        };
        ExpectBounded(make, hostile, tame, student, 2 / std::sqrt(rows));
      }
    }
  }
}

TEST(AdversarialAnswers, MemberMovesNoisySumByTwiceTheBound) {
  const at::Tensor hostile = HostileLogits(), tame = TameLogits(hostile.size(0));
  for (const auto loss : kLosses) {
    for (const double temperature : kTemperatures) {
      for (const double bound : kBounds) {
        MemberGradientSettings settings;
        settings.rule = Settings(loss, temperature, bound, 0);
        settings.sigma = 1;
        settings.batch = hostile.size(0);
        settings.classes = kClasses;
        settings.members = 3;
        SCOPED_TRACE(::testing::Message() << static_cast<int>(loss) << " T " << temperature << " C " << bound);
        const auto make = [&] {
          return MemberGradient::Create(settings, noise::NoiseKey::FromSeed(1, TrialId(1))).value();
        };
        for (const at::Tensor& student : Students(hostile))
          ExpectBounded(make, at::stack({tame, hostile, hostile.flip(0)}), at::stack({tame, tame, hostile.flip(0)}),
                        student, 2 * bound / 3, MemberRule{settings.rule, settings.sigma});
      }
    }
  }
}

TEST(AdversarialAnswers, AMemberMovesVotesByTheirSensitivityAtMost) {
  const at::Tensor hostile = HostileLogits(), tame = TameLogits(hostile.size(0));
  for (const std::int64_t grain : {1, 10, 1024}) {
    const auto released = [&](const at::Tensor& said) {
      FixedTeacher teacher(at::stack({tame, said}));
      MemoryPort port;
      ChargeBook book(&port, 1, privacy::kMaxDraws);
      VoteSettings settings;
      settings.classes = kClasses;
      settings.scale = 3;
      settings.grain = grain;
      const auto mechanism = NoisyVotes::Create(settings, noise::NoiseKey::FromSeed(1, TrialId(1))).value();
      const Query query{DistinctInputs(hostile.size(0), 1), {}, 1, grain};
      return ChargeAndRelease(*mechanism, Oracle::Ask(teacher, query), book).value().values.to(at::kDouble);
    };
    const double moved = (released(hostile) - released(tame)).norm(2, 1).max().item<double>();
    EXPECT_LE(moved, std::sqrt(2.0) * static_cast<double>(grain) * (1 + 1e-12));
  }
}

TEST(AdversarialAnswers, ANoisyLossIsFiniteAndMovesByItsBoundAtMost) {
  const at::Tensor hostile = HostileLogits();
  for (const double temperature : kTemperatures) {
    for (const auto unit : {LossUnit::batch, LossUnit::row}) {
      for (const at::Tensor& student : Students(hostile)) {
        const auto released = [&](const at::Tensor& said) {
          FixedTeacher teacher(said);
          MemoryPort port;
          ChargeBook book(&port, 1, privacy::kMaxDraws);
          LossSettings settings;
          settings.temperature = temperature;
          settings.classes = kClasses;
          settings.unit = unit;
          const auto mechanism = LossNoise::Create(settings, noise::NoiseKey::FromSeed(1, TrialId(1))).value();
          const Query query{DistinctInputs(hostile.size(0), 1), student, 1};
          return ChargeAndRelease(*mechanism, Oracle::Ask(teacher, query), book).value().loss.item<double>();
        };
        const double one = released(hostile), other = released(TameLogits(hostile.size(0)));
        ASSERT_TRUE(std::isfinite(one) && std::isfinite(other)) << temperature;
        EXPECT_LE(std::abs(one - other), 1 + 1e-5);
      }
    }
  }
}

}  // namespace
}  // namespace retort::worker::release::adversarial_answers_test
