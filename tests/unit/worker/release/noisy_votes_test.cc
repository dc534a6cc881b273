#include "worker/release/noisy_votes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "tests/unit/worker/release/release_fixture.h"
#include "worker/gang/local_collective.h"
#include "worker/release/mechanism.h"

namespace retort::worker::release::noisy_votes_test {
namespace {

constexpr std::int64_t kRows = 4, kClasses = 3, kMembers = 7;

// Member m votes for class (m * row) mod 3.
at::Tensor MemberLogits(std::int64_t members = kMembers) {
  at::Tensor logits = at::zeros({members, kRows, kClasses});
  for (std::int64_t m = 0; m < members; ++m) {
    for (std::int64_t r = 0; r < kRows; ++r) logits[m][r][(m * r) % kClasses] = 5;
  }
  return logits;
}

at::Tensor Votes() { return at::tensor({7, 0, 0, 3, 2, 2, 3, 2, 2, 7, 0, 0}, at::kInt).reshape({4, 3}); }

Answers Ask(at::Tensor logits, const at::Tensor& inputs, std::int64_t step) {
  FixedTeacher teacher(std::move(logits));
  return Oracle::Ask(teacher, {inputs, {}, step});
}

std::unique_ptr<NoisyVotes> Make(double scale, std::uint64_t seed = 1) {
  return NoisyVotes::Create({scale, kClasses}, noise::NoiseKey::FromSeed(seed, TrialId(1))).value();
}

class NoisyVotesTest : public ::testing::Test {
 protected:
  MemoryPort port_;
  ChargeBook book_{&port_, 1, 1'000'000};
};

TEST_F(NoisyVotesTest, NegligibleNoiseLeavesTheOneHotCounts) {
  const auto released = ChargeAndRelease(*Make(0.05), Ask(MemberLogits(), DistinctInputs(kRows, 0), 1), book_);
  EXPECT_TRUE(at::equal(released.value().values, Votes()));
}

TEST_F(NoisyVotesTest, AbstainingMemberVotesForClassZero) {
  at::Tensor logits = MemberLogits();
  logits[1][1][2] = std::nan("");
  const auto released = ChargeAndRelease(*Make(0.05), Ask(logits, DistinctInputs(kRows, 0), 1), book_);
  EXPECT_TRUE(at::equal(released.value().values[1], at::tensor({4, 1, 2}, at::kInt)));
}

TEST_F(NoisyVotesTest, SameQueryBytesNeverGetFreshNoiseAndCostNothing) {
  const auto mechanism = Make(40);
  const at::Tensor inputs = DistinctInputs(kRows, 0);
  const at::Tensor first = ChargeAndRelease(*mechanism, Ask(MemberLogits(), inputs, 1), book_).value().values;
  EXPECT_EQ(book_.drawn(), kRows);
  EXPECT_EQ(mechanism->DrawsFor(Ask(MemberLogits(), inputs, 2)), 0);
  const at::Tensor again = ChargeAndRelease(*mechanism, Ask(MemberLogits(), inputs.flip(0), 2), book_).value().values;
  EXPECT_TRUE(at::equal(again.flip(0), first));
  EXPECT_EQ(book_.drawn(), kRows);
}

TEST_F(NoisyVotesTest, EqualRowsOfOneBatchAreDrawnOnce) {
  const auto mechanism = Make(40);
  const at::Tensor inputs = at::zeros({kRows, 1, 1, 1});
  const at::Tensor released = ChargeAndRelease(*mechanism, Ask(MemberLogits(), inputs, 1), book_).value().values;
  EXPECT_EQ(book_.drawn(), 1);
  for (std::int64_t row = 1; row < kRows; ++row) EXPECT_TRUE(at::equal(released[row], released[0]));
}

TEST_F(NoisyVotesTest, MemorySurvivesSaveAndRestore) {
  const auto before = Make(40);
  const at::Tensor inputs = DistinctInputs(kRows, 0);
  const at::Tensor first = ChargeAndRelease(*before, Ask(MemberLogits(), inputs, 1), book_).value().values;
  const auto after = Make(40, 2);
  after->Restore(before->Save());
  EXPECT_TRUE(at::equal(ChargeAndRelease(*after, Ask(MemberLogits(), inputs, 1), book_).value().values, first));
  const auto replayed = Make(40, 3);
  replayed->Remember(inputs, first);
  EXPECT_TRUE(at::equal(ChargeAndRelease(*replayed, Ask(MemberLogits(), inputs, 1), book_).value().values, first));
  EXPECT_EQ(book_.drawn(), kRows);
}

TEST_F(NoisyVotesTest, EventNamesSquareRootOfTwoAndTheLattice) {
  const auto secure = NoisyVotes::Create({40, kClasses}, noise::NoiseKey::FromOperatingSystem()).value();
  const privacy::PrivacyEvent event = secure->Describe(300);
  EXPECT_EQ(event.kind, privacy::MechanismKind::noisy_votes);
  EXPECT_EQ(event.unit, privacy::EventUnit::vote);
  EXPECT_EQ(event.count, 300);
  EXPECT_GE(event.sensitivity * event.sensitivity, 2.0);  // never below the true bound
  EXPECT_EQ(event.noise_std, 40);
  EXPECT_EQ(event.source, privacy::NoiseSource::secure_lattice);
  EXPECT_EQ(Make(40)->Describe(1).source, privacy::NoiseSource::seeded);
}

TEST_F(NoisyVotesTest, SingleTeachersAnswersAreRefused) {
  FixedTeacher teacher(at::zeros({kRows, kClasses}));
  const Answers answers = Oracle::Ask(teacher, {DistinctInputs(kRows, 0), {}, 1});
  EXPECT_EQ(ChargeAndRelease(*Make(40), answers, book_).status().code(), StatusCode::refused);
}

TEST_F(NoisyVotesTest, SeededDrawsDependOnStepAloneSoResumeRepeatsThem) {
  const at::Tensor inputs = DistinctInputs(kRows, 9);
  const auto whole = Make(40);
  ASSERT_TRUE(ChargeAndRelease(*whole, Ask(MemberLogits(), DistinctInputs(kRows, 0), 1), book_).ok());
  const at::Tensor undisturbed = ChargeAndRelease(*whole, Ask(MemberLogits(), inputs, 2), book_).value().values;
  const at::Tensor resumed = ChargeAndRelease(*Make(40), Ask(MemberLogits(), inputs, 2), book_).value().values;
  EXPECT_TRUE(at::equal(undisturbed, resumed));
}

TEST_F(NoisyVotesTest, VotesOfAGangAddUpToTheWholeEnsembles) {
  auto gang = MakeLocalGang(2, std::chrono::seconds(5));
  const at::Tensor logits = MemberLogits(), inputs = DistinctInputs(kRows, 0);
  std::vector<at::Tensor> sums(2);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      const auto part = rank == 0 ? logits.slice(0, 0, 3) : logits.slice(0, 3);
      MemoryPort port;
      ChargeBook book(&port, 1, 100);
      auto summed = Oracle::SumVotes(Ask(part, inputs, 1), *gang[rank]);
      const auto released = ChargeAndRelease(*Make(0.05), summed.value(), book);
      sums[rank] = released.value().values;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(at::equal(sums[0], Votes()));
  EXPECT_TRUE(at::equal(sums[1], Votes()));
}

TEST(Noiseless, ReleasesTheLogitsAndSaysThatNothingWasAdded) {
  MemoryPort port;
  ChargeBook book(&port, 1, 100);
  Noiseless mechanism(kClasses, kRows);
  const at::Tensor logits = at::arange(12, at::kFloat).reshape({kRows, kClasses});
  FixedTeacher teacher(logits);
  const Answers answers = Oracle::Ask(teacher, {DistinctInputs(kRows, 0), {}, 1});
  EXPECT_TRUE(at::equal(ChargeAndRelease(mechanism, answers, book).value().values, logits));
  EXPECT_EQ(port.entries[1].event.kind, privacy::MechanismKind::none);
  EXPECT_EQ(port.entries[1].event.noise_std, 0);
}

}  // namespace
}  // namespace retort::worker::release::noisy_votes_test
