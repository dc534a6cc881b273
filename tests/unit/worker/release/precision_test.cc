// What is released has the same bits whatever networks compute in: rows are bounded and noised in doubles.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/worker/release/release_fixture.h"
#include "worker/models/training_scopes.h"
#include "worker/release/class_embedding.h"
#include "worker/release/dpsgd_step.h"
#include "worker/release/gaussian_gradient.h"
#include "worker/release/lattice.h"
#include "worker/release/loss_noise.h"
#include "worker/release/member_gradient.h"
#include "worker/release/noisy_votes.h"
#include "worker/release/randomized_response.h"

namespace retort::worker::release::precision_test {
namespace {

constexpr std::int64_t kRows = 6, kClasses = 5, kMembers = 3, kFeatures = 7;

noise::NoiseKey Key() { return noise::NoiseKey::FromSeed(11, TrialId(1)); }

at::Tensor Waves(at::IntArrayRef shape, double step) {
  return 3 * at::sin(at::arange(c10::multiply_integers(shape), at::kFloat).mul(step)).reshape(shape);
}

at::Tensor Student() { return Waves({kRows, kClasses}, 0.9); }

// What one query releases, where a teacher of `members` answers it.
at::Tensor Ask(Mechanism& mechanism, std::int64_t members, Query query) {
  MemoryPort port;
  ChargeBook book(&port, 1, INT64_MAX);
  FixedTeacher teacher(members == 1 ? Waves({kRows, kClasses}, 1.7) : Waves({members, kRows, kClasses}, 1.7));
  query.inputs = DistinctInputs(kRows, 0);
  query.student_logits = Student();
  return ChargeAndRelease(mechanism, Oracle::Ask(teacher, query), book).value().values;
}

at::Tensor Gradient(Reading reading, Normalization normalization) {
  GradientSettings settings;
  settings.reading = reading;
  settings.normalization = normalization;
  settings.batch = kRows;
  settings.classes = kClasses;
  return Ask(*GaussianGradient::Create(settings, Key()).value(), 1, {});
}

at::Tensor OfMembers() {
  MemberGradientSettings settings;
  settings.rule.loss = DistillationLoss::ce_hard;
  settings.rule.norm_bound = 0.5;
  settings.sigma = 2;
  settings.batch = kRows;
  settings.classes = kClasses;
  settings.members = kMembers;
  Query query;
  query.gradients = MemberRule{settings.rule, settings.sigma};
  return Ask(*MemberGradient::Create(settings, Key()).value(), kMembers, query);
}

at::Tensor OfLosses() {
  LossSettings settings;
  settings.norm_bound = 1;
  settings.batch = kRows;
  settings.classes = kClasses;
  return Ask(*LossNoise::Create(settings, Key()).value(), 1, {});
}

at::Tensor OfDpSgd(bool outer) {
  MemoryPort port;
  ChargeBook book(&port, 1, INT64_MAX);
  DpSgdSettings settings;
  settings.norm_bound = 0.1;
  settings.noise_multiplier = 1;
  settings.sampling_rate = 0.5;
  settings.batch = kRows;
  settings.coordinates = kClasses * kFeatures;
  DpSgdStep step = DpSgdStep::Create(settings, Key()).value();
  ClippedSum sum = step.NewSum();
  if (outer)
    sum.AddOuter(Waves({kRows, kClasses}, 1.3), Waves({kRows, kFeatures}, 0.7));
  else
    sum.Add(Waves({kRows, kClasses * kFeatures}, 1.3));
  return step.Release(std::move(sum), 0, book.Take(step.Describe(1), 1).value()).value();
}

at::Tensor OfAnEmbedding() {
  MemoryPort port;
  ChargeBook book(&port, 1, INT64_MAX);
  EmbeddingSettings settings;
  settings.noise_multiplier = 1;
  settings.classes = kClasses;
  settings.features = kFeatures;
  ClassEmbedding embedding = ClassEmbedding::Create(settings, Key()).value();
  EmbeddingSum sum = embedding.NewSum();
  sum.Add(Waves({kRows, kFeatures}, 1.1), at::arange(kRows) % kClasses);
  return embedding.Release(std::move(sum), 0, book.Take(embedding.Describe(1), 1).value()).value();
}

struct Case {
  std::string name;
  std::function<at::Tensor()> release;
};

const Case kCases[] = {
    {"WorkingGradients", [] { return Gradient(Reading::working, Normalization::row); }},
    {"RowAveragedGradients", [] { return Gradient(Reading::row_averaged, Normalization::row); }},
    {"PrintedGradients", [] { return Gradient(Reading::printed, Normalization::row); }},
    {"GradientsByTheBatchsNorm", [] { return Gradient(Reading::working, Normalization::frobenius); }},
    {"ClippedGradients", [] { return Gradient(Reading::working, Normalization::clip); }},
    {"MemberGradients", OfMembers},
    {"LossNoise", OfLosses},
    {"Votes",
     [] {
       return Ask(*NoisyVotes::Create({5, kClasses, 1}, Key()).value(), kMembers, {});
     }},
    {"Shares",
     [] {
       Query query;
       query.grain = 32;
       return Ask(*NoisyVotes::Create({5, kClasses, 32}, Key()).value(), kMembers, query);
     }},
    {"RandomizedResponse",
     [] {
       return Ask(*RandomizedResponse::Create({1, kClasses, kRows}, Key()).value(), 1, {});
     }},
    {"DpSgd", [] { return OfDpSgd(false); }},
    {"DpSgdByOuterProducts", [] { return OfDpSgd(true); }},
    {"ClassEmbedding", OfAnEmbedding},
};

class ReleasePrecision : public ::testing::TestWithParam<Case> {};

TEST_P(ReleasePrecision, IsThatOfTheReleaseAlone) {
  const at::Tensor plain = GetParam().release();
  ASSERT_TRUE(at::isfinite(plain).all().item<bool>());
  {
    const AutocastScope scope(Precision::bfloat16, at::kCPU);
    EXPECT_TRUE(at::equal(GetParam().release(), plain));
  }
  const Tf32Scope scope(Precision::tf32, at::Device(at::kCUDA, 0));
  EXPECT_TRUE(at::equal(GetParam().release(), plain));
}

INSTANTIATE_TEST_SUITE_P(EveryMechanism, ReleasePrecision, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

using Bound = std::function<at::Tensor(const at::Tensor& rows, const Lattice& lattice)>;

// The longest row, in norm bounds, of what `bound` makes of long rows while networks compute in bfloat16.
double FindLongest(const Bound& bound) {
  const AutocastScope scope(Precision::bfloat16, at::kCPU);
  const Lattice lattice = Lattice::For(0.5, 1).value();
  const at::Tensor steps = bound(Waves({64, 33}, 1.7), lattice);
  return (steps.square().sum(1).sqrt().max() / lattice.longest).item<double>();
}

TEST(LowPrecision, BoundThatIsTakenInItIsCaught) {
  EXPECT_LE(FindLongest([](const at::Tensor& rows, const Lattice& lattice) {
              return RoundRows(rows, ClipFactors(rows, lattice));
            }),
            1);
  // The mutant: norms by a product of float32, which bfloat16 takes over.
  EXPECT_GT(FindLongest([](const at::Tensor& rows, const Lattice& lattice) {
              const at::Tensor norms = at::mm(rows, rows.t()).diagonal().to(at::kDouble).sqrt();
              return RoundRows(rows, lattice.longest / norms);
            }),
            1.0005);
}

}  // namespace
}  // namespace retort::worker::release::precision_test
