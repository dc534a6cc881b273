// What noise alone cannot show: who is in a batch, who touches whom, and what repeats. Each check is silent
// on the real code and sees its mutant.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/statistical/noise_checks.h"
#include "tests/unit/worker/release/release_fixture.h"
#include "worker/models/ensemble.h"
#include "worker/models/model_registry.h"
#include "worker/release/noisy_votes.h"
#include "worker/training/per_sample_gradients.h"
#include "worker/training/poisson_sample.h"

namespace retort::worker::structure_mutants_test {
namespace {

using release::Answers;
using release::DistinctInputs;
using release::FixedTeacher;
using release::NoisyVotes;
using release::Oracle;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kRows = 4, kClasses = 3, kMembers = 5;

std::unique_ptr<NoisyVotes> Votes() {
  return NoisyVotes::Create({40, kClasses}, noise::NoiseKey::FromOperatingSystem()).value();
}

// `mechanism(step)`: the one that answers at that step.
Alarm CheckRepeatedBytes(const std::function<NoisyVotes&(std::int64_t)>& mechanism) {
  release::MemoryPort port;
  release::ChargeBook book(&port, 1, 1000);
  FixedTeacher teacher(at::zeros({kMembers, kRows, kClasses}));
  std::vector<at::Tensor> released;
  for (std::int64_t step = 0; step < 3; ++step) {
    const Answers answers = Oracle::Ask(teacher, {DistinctInputs(kRows, 0), {}, step});
    released.push_back(ChargeAndRelease(mechanism(step), answers, book).value().values);
  }
  if (!at::equal(released[0], released[1]) || !at::equal(released[0], released[2]))
    return "the same query bytes got fresh noise";
  return book.drawn() == kRows ? Alarm() : "repeated queries were charged again";
}

TEST(StructureMutants, FreshNoiseForRepeatedBytesIsCaught) {
  const auto real = Votes();
  EXPECT_THAT(CheckRepeatedBytes([&](std::int64_t) -> NoisyVotes& { return *real; }), IsEmpty());
  std::vector<std::unique_ptr<NoisyVotes>> forgetful;
  EXPECT_THAT(CheckRepeatedBytes([&](std::int64_t) -> NoisyVotes& { return *forgetful.emplace_back(Votes()); }),
              HasSubstr("fresh noise"));
}

struct Seen {
  std::int64_t rows = 0, draws = 0;
  bool operator==(const Seen&) const = default;
};

// Member 1 answers row 2 with NaN, or not. What leaves must not tell which: as many rows, as many draws.
Alarm CheckNonFinite(const std::function<Answers(FixedTeacher&, at::Tensor logits, at::Tensor inputs)>& ask) {
  const auto release = [&](bool finite) {
    at::Tensor logits = at::zeros({kMembers, kRows, kClasses});
    if (!finite) logits[1][2][0] = std::nan("");
    FixedTeacher teacher(logits);
    release::MemoryPort port;
    release::ChargeBook book(&port, 1, 1000);
    const auto mechanism = Votes();
    const Answers answers = ask(teacher, logits, DistinctInputs(kRows, 0));
    const at::Tensor values = ChargeAndRelease(*mechanism, answers, book).value().values;
    return Seen{values.size(0), book.drawn()};
  };
  return release(true) == release(false) ? Alarm() : "whether an answer was finite shows in what left";
}

TEST(StructureMutants, SkippedNanAnswersAreCaught) {
  EXPECT_THAT(CheckNonFinite([](FixedTeacher& teacher, const at::Tensor&, const at::Tensor& inputs) {
                return Oracle::Ask(teacher, {inputs, {}, 0});
              }),
              IsEmpty());
  EXPECT_THAT(CheckNonFinite([](FixedTeacher&, const at::Tensor& logits, const at::Tensor& inputs) {
                const at::Tensor finite = at::isfinite(logits).all(2).all(0).nonzero().flatten();
                FixedTeacher rest(logits.index_select(1, finite));
                return Oracle::Ask(rest, {inputs.index_select(0, finite), {}, 0});
              }),
              HasSubstr("shows in what left"));
}

TEST(StructureMutants, FixedBatchesUnderPoissonAccountingAreCaught) {
  constexpr std::int64_t kExamples = 200;
  constexpr double kRate = 0.2;
  for (const NoiseMode mode : {NoiseMode::secure, NoiseMode::seeded}) {
    const auto real = [mode](std::int64_t step) { return DrawPoissonSample(kExamples, kRate, mode, 7, step); };
    EXPECT_THAT(CheckPoissonSamples(real, kExamples, kRate), IsEmpty());
  }
  const auto fixed = [](std::int64_t) {
    return at::randperm(kExamples, at::kLong).narrow(0, 0, static_cast<std::int64_t>(kRate * kExamples));
  };
  EXPECT_THAT(CheckPoissonSamples(fixed, kExamples, kRate), HasSubstr("sizes of samples"));
  const auto cyclic = [](std::int64_t step) { return (at::arange(step * 40, step * 40 + 40, at::kLong)) % kExamples; };
  EXPECT_THAT(CheckPoissonSamples(cyclic, kExamples, kRate), HasSubstr("sizes of samples"));
}

TEST(StructureMutants, BatchNormInADpSgdNetworkIsCaught) {
  const at::Tensor images = at::sin(at::arange(3 * 28 * 28, at::kFloat)).view({3, 1, 28, 28});
  for (const std::string name : {"datalens", "datalens-x0.125", "tanh-cnn", "logistic", "wrn16-1-gn"}) {
    const auto network = std::move(MakeNetwork(name, {1, 28, 28}, 10, RngStream(1, Purpose::parameters))).value();
    EXPECT_TRUE(AreExamplesIndependent([&](const at::Tensor& x) { return network->Forward(x).logits; }, images))
        << name;
    const auto mutant = [&](const at::Tensor& x) {
      return network->Forward(at::batch_norm(x, {}, {}, {}, {}, true, 0.1, 1e-5, false)).logits;
    };
    EXPECT_FALSE(AreExamplesIndependent(mutant, images)) << name;
  }
}

TEST(StructureMutants, OverlappingShardsAreCaught) {
  const at::Tensor shards = MakeDisjointShards(1003, 10);
  EXPECT_TRUE(CheckDisjoint(shards, 1003).ok());
  at::Tensor overlapping = shards.clone();
  overlapping[3][17] = overlapping[7][2].item<std::int64_t>();
  EXPECT_THAT(CheckDisjoint(overlapping, 1003).message(), HasSubstr("two shards"));
  EXPECT_FALSE(CheckDisjoint(shards + 10, 1003).ok());
}

}  // namespace
}  // namespace retort::worker::structure_mutants_test
