#include "worker/release/confident_votes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "experiments/privacy/planned_events.h"
#include "tests/unit/worker/release/release_fixture.h"
#include "worker/release/consensus_test.h"

namespace retort::worker::release::confident_votes_test {
namespace {

constexpr std::int64_t kRows = 6, kClasses = 3, kMembers = 9;

// Row r: 9 - r members vote for class r mod 3, the others for the next.
at::Tensor MemberLogits() {
  at::Tensor logits = at::zeros({kMembers, kRows, kClasses});
  for (std::int64_t row = 0; row < kRows; ++row)
    for (std::int64_t member = 0; member < kMembers; ++member)
      logits[member][row][member < kMembers - row ? row % kClasses : (row + 1) % kClasses] = 5;
  return logits;
}

// All members vote for one class in every row.
at::Tensor Unanimous() {
  at::Tensor logits = at::zeros({kMembers, kRows, kClasses});
  logits.select(2, 1).fill_(5);
  return logits;
}

Answers Ask(at::Tensor logits, const at::Tensor& inputs, std::int64_t step, std::int64_t grain = 1) {
  FixedTeacher teacher(std::move(logits));
  return Oracle::Ask(teacher, {inputs, {}, step, grain});
}

std::unique_ptr<ConfidentVotes> Make(std::int64_t threshold, std::int64_t answers, double noise = 0.05,
                                     std::uint64_t seed = 1) {
  return ConfidentVotes::Create({.votes = {.scale = noise, .classes = kClasses, .grain = 1, .first_class = true},
                                 .threshold = {.threshold = threshold, .scale = noise},
                                 .answers = answers},
                                noise::NoiseKey::FromSeed(seed, TrialId(1)),
                                noise::NoiseKey::FromSeed(seed, TrialId(1)))
      .value();
}

// Draws that the ledger holds of a mechanism.
std::int64_t Charged(const MemoryPort& port, privacy::MechanismKind kind) {
  std::int64_t count = 0;
  for (const auto& [id, entry] : port.entries)
    if (entry.event.kind == kind) count += entry.used >= 0 ? entry.used : entry.count;
  return count;
}

class ConfidentVotesTest : public ::testing::Test {
 protected:
  std::int64_t Thresholds() const { return Charged(port_, privacy::MechanismKind::vote_threshold); }
  std::int64_t Answered() const { return Charged(port_, privacy::MechanismKind::noisy_votes); }
  MemoryPort port_;
  ChargeBook book_{&port_, 1, 1'000'000};
};

TEST_F(ConfidentVotesTest, MembersThatAgreeAreHeardAndNobodyElse) {
  const at::Tensor inputs = DistinctInputs(kRows, 0);
  const at::Tensor released = Make(7, kRows)->Release(inputs, Ask(MemberLogits(), inputs, 1), book_).value();
  const at::Tensor wanted =
      at::tensor({1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}, at::kInt).reshape({kRows, kClasses});
  EXPECT_TRUE(at::equal(released, wanted)) << released;
}

TEST_F(ConfidentVotesTest, FirstClassAloneLeaves) {
  const at::Tensor inputs = DistinctInputs(kRows, 0);
  const at::Tensor released = Make(1, kRows, 3)->Release(inputs, Ask(MemberLogits(), inputs, 1), book_).value();
  EXPECT_TRUE((released.sum(1) <= 1).all().item<bool>());
  EXPECT_TRUE(((released == 0) | (released == 1)).all().item<bool>());
}

// The ledger holds the same whoever agreed: a charge that followed the answers would tell how many there were.
TEST_F(ConfidentVotesTest, ChargesDoNotDependOnTheVotes) {
  std::set<std::int64_t> given;
  for (const auto& [answers, owed] : {std::pair<std::int64_t, std::int64_t>{4, 4}, {6, 6}}) {
    for (const at::Tensor& logits : {MemberLogits(), Unanimous()}) {
      MemoryPort port;
      ChargeBook book(&port, 1, 1'000'000);
      const at::Tensor inputs = DistinctInputs(kRows, 0);
      const auto votes = Make(9, answers);
      ASSERT_TRUE(votes->Release(inputs, Ask(logits, inputs, 1), book).ok());
      given.insert(votes->answered());
      ASSERT_TRUE(book.SettleAll().ok());
      EXPECT_EQ(Charged(port, privacy::MechanismKind::vote_threshold), kRows);
      EXPECT_EQ(Charged(port, privacy::MechanismKind::noisy_votes), owed);
    }
  }
  EXPECT_GT(given.size(), 1u) << "charged as they are given, answers would tell";
}

TEST_F(ConfidentVotesTest, NoMoreIsAnsweredThanWasPlanned) {
  const auto votes = Make(1, 4);
  for (std::int64_t step = 1; step <= 2; ++step) {
    const at::Tensor inputs = DistinctInputs(kRows, step);
    const at::Tensor released = votes->Release(inputs, Ask(Unanimous(), inputs, step), book_).value();
    EXPECT_EQ(released.sum().item<std::int64_t>(), step == 1 ? 4 : 0);
  }
  ASSERT_TRUE(book_.SettleAll().ok());
  EXPECT_EQ(votes->answered(), 4);
  EXPECT_EQ(Thresholds(), 2 * kRows) << "queries that are asked after the last answer pay, too";
  EXPECT_EQ(Answered(), 4);
}

// What was saved up by queries without an answer pays for later ones.
TEST_F(ConfidentVotesTest, AnswersOfALaterStepArePaidBefore) {
  const auto votes = Make(8, kRows);
  const at::Tensor first = DistinctInputs(kRows, 1), second = DistinctInputs(kRows, 2);
  EXPECT_EQ(votes->Release(first, Ask(MemberLogits(), first, 1), book_).value().sum().item<std::int64_t>(), 2);
  EXPECT_EQ(votes->Release(second, Ask(Unanimous(), second, 2), book_).value().sum().item<std::int64_t>(), 4);
  ASSERT_TRUE(book_.SettleAll().ok());
  EXPECT_EQ(Answered(), kRows);
}

// Asking again until the threshold lets a query by would be as good as no threshold.
TEST_F(ConfidentVotesTest, QueryThatWasNotAnsweredStaysUnanswered) {
  const at::Tensor inputs = DistinctInputs(kRows, 0);
  const auto votes = Make(6, kRows, 4);
  const at::Tensor first = votes->Release(inputs, Ask(MemberLogits(), inputs, 1), book_).value();
  for (std::int64_t step = 2; step < 20; ++step)
    EXPECT_TRUE(at::equal(votes->Release(inputs, Ask(MemberLogits(), inputs, step), book_).value(), first));
  ASSERT_TRUE(book_.SettleAll().ok());
  EXPECT_EQ(Thresholds(), kRows);
  EXPECT_EQ(Answered(), kRows);

  const auto resumed = Make(6, kRows, 4, 2);
  resumed->Remember(inputs, first);
  for (std::int64_t step = 2; step < 20; ++step)
    EXPECT_TRUE(at::equal(resumed->Release(inputs, Ask(MemberLogits(), inputs, step), book_).value(), first));
  EXPECT_EQ(resumed->answered(), first.sum().item<std::int64_t>());
  ASSERT_TRUE(book_.SettleAll().ok());
  EXPECT_EQ(Thresholds(), kRows);
}

TEST_F(ConfidentVotesTest, EqualQueriesOfOneBatchAreOne) {
  const at::Tensor inputs = at::zeros({kRows, 1, 1, 1});
  const auto votes = Make(1, 1);
  const at::Tensor released = votes->Release(inputs, Ask(Unanimous(), inputs, 1), book_).value();
  EXPECT_EQ(released.sum().item<std::int64_t>(), kRows);
  ASSERT_TRUE(book_.SettleAll().ok());
  EXPECT_EQ(Thresholds(), 1);
  EXPECT_EQ(votes->answered(), 1);
}

TEST_F(ConfidentVotesTest, BudgetThatEndsRefusesBeforeAnythingIsDrawn) {
  MemoryPort port(2 * kRows - 1);
  ChargeBook book(&port, 1, 1'000'000);
  const at::Tensor inputs = DistinctInputs(kRows, 0);
  const auto released = Make(1, kRows)->Release(inputs, Ask(Unanimous(), inputs, 1), book);
  EXPECT_EQ(released.status().code(), StatusCode::refused);
}

TEST_F(ConfidentVotesTest, PartsOfVotesAreRefused) {
  const at::Tensor inputs = DistinctInputs(kRows, 0);
  EXPECT_EQ(Make(1, kRows)->Release(inputs, Ask(Unanimous(), inputs, 1, 8), book_).status().code(),
            StatusCode::refused);
}

TEST(VoteThreshold, EventIsThatOfOneCount) {
  const auto threshold =
      VoteThreshold::Create({.threshold = 5, .scale = 150}, noise::NoiseKey::FromOperatingSystem()).value();
  const privacy::PrivacyEvent event = threshold->Describe(640);
  EXPECT_EQ(event.kind, privacy::MechanismKind::vote_threshold);
  EXPECT_EQ(event.sensitivity, 1);
  EXPECT_EQ(event.noise_std, 150);
  EXPECT_EQ(event.count, 640);
  EXPECT_EQ(event.source, privacy::NoiseSource::secure_lattice);
  EXPECT_FALSE(VoteThreshold::Create({.threshold = 5, .scale = 0}, noise::NoiseKey::FromSeed(1, TrialId(1))).ok());
}

TEST(VoteThreshold, DrawsOtherNoiseThanAnswersOfItsKey) {
  MemoryPort port;
  ChargeBook book(&port, 1, 1'000'000);
  constexpr std::int64_t kMany = 512;
  const at::Tensor inputs = DistinctInputs(kMany, 0), logits = at::zeros({2, kMany, 1});
  const auto threshold =
      VoteThreshold::Create({.threshold = 2, .scale = 40}, noise::NoiseKey::FromSeed(1, TrialId(1))).value();
  const auto votes = NoisyVotes::Create({.scale = 40, .classes = 1}, noise::NoiseKey::FromSeed(1, TrialId(1))).value();
  const at::Tensor passed = ChargeAndRelease(*threshold, Ask(logits, inputs, 1), book).value().values.view({-1});
  const at::Tensor above =
      (ChargeAndRelease(*votes, Ask(logits, inputs, 1), book).value().values.view({-1}) >= 2).to(at::kInt);
  const auto equal = (passed == above).sum().item<std::int64_t>();
  EXPECT_NEAR(static_cast<double>(equal), kMany / 2.0, 5 * std::sqrt(kMany / 4.0));
}

TrialSpec TestedSpec(double cost) {
  auto data = std::make_shared<DataSpec>();
  data->classes = kClasses;
  TrialSpec spec;
  spec.data = data;
  spec.method = "pate";
  spec.source = QuerySource::public_split;
  spec.queries = kRows;
  spec.release.vote_noise = 2;
  spec.release.vote_threshold = 5;
  spec.release.threshold_noise = 2;
  spec.release.vote_cost = cost;
  spec.release.vote_order = 3;
  spec.release.cost_noise = 4;
  return spec;
}

std::unique_ptr<ConsensusTest> MakeTest(double cost) {
  const TrialSpec spec = TestedSpec(cost);
  return ConsensusTest::Create({privacy::PlanConsensusTest(spec), kMembers, kClasses, spec.release.vote_threshold},
                               noise::NoiseKey::FromOperatingSystem())
      .value();
}

Result<bool> RunTest(double cost, ChargeBook& book, const at::Tensor& logits) {
  const auto test = MakeTest(cost);
  RETORT_RETURN_IF_ERROR(test->Observe(Ask(logits, DistinctInputs(kRows, 0), 0)));
  RETORT_ASSIGN_OR_RETURN(Charge charge, book.Take(test->Describe(), 1));
  return test->Release(std::move(charge));
}

TEST_F(ConfidentVotesTest, TestLetsByWhatIsCheapAndNothingDear) {
  EXPECT_TRUE(RunTest(1e5, book_, MemberLogits()).value());
  EXPECT_FALSE(RunTest(1e-3, book_, MemberLogits()).value());
  ASSERT_TRUE(book_.SettleAll().ok());
  EXPECT_EQ(Charged(port_, privacy::MechanismKind::consensus_test), 2);
}

// With a margin: what costs just as much as is allowed does not pass but in one trial of a million.
TEST_F(ConfidentVotesTest, TestDoesNotLetByWhatCostsAsMuchAsIsAllowed) {
  const privacy::VoteCosts costs = privacy::VoteCosts::Create({kMembers, kClasses, 5, 2, 2, 3}).value();
  std::vector<privacy::Consensus> queries;
  for (std::int64_t row = 0; row < kRows; ++row) {
    const std::int64_t most = std::max(kMembers - row, row);
    queries.push_back({most, most - (kMembers - most)});
  }
  const double cost = costs.Sum(queries);
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(RunTest(cost, book_, MemberLogits()).value());
}

TEST_F(ConfidentVotesTest, TestIsPaidAndAskedOnce) {
  const auto test = MakeTest(1e5);
  ASSERT_TRUE(test->Observe(Ask(MemberLogits(), DistinctInputs(kRows, 0), 0)).ok());
  EXPECT_EQ(test->Release(book_.Take(test->Describe(), 0).value()).status().code(), StatusCode::refused);
  EXPECT_TRUE(test->Release(book_.Take(test->Describe(), 1).value()).ok());
  EXPECT_EQ(test->Release(book_.Take(test->Describe(), 1).value()).status().code(), StatusCode::refused);
  const auto fewer = MakeTest(1e5);
  ASSERT_TRUE(fewer->Observe(Ask(MemberLogits().slice(1, 0, 3), DistinctInputs(3, 0), 0)).ok());
  EXPECT_EQ(fewer->Release(book_.Take(fewer->Describe(), 1).value()).status().code(), StatusCode::refused);
}

TEST_F(ConfidentVotesTest, TestSaysHowManyQueriesDiffer) {
  const auto test = MakeTest(1e5);
  EXPECT_EQ(test->Describe().test.queries, kRows);
  ASSERT_TRUE(test->Observe(Ask(MemberLogits(), at::zeros({kRows, 1, 1, 1}), 0)).ok());
  EXPECT_EQ(test->Describe().test.queries, 1);
}

TEST(PlanEvents, EqualWhatConfidentVotesDescribe) {
  TrialSpec spec = TestedSpec(0.5);
  spec.queries = 300;
  spec.release.answers = 200;
  const auto planned = privacy::PlanEvents(spec).value();
  ASSERT_EQ(planned.size(), 3u);
  const ConfidentSettings settings = MakeConfidentSettings(spec, kClasses);
  const auto key = [] { return noise::NoiseKey::FromOperatingSystem(); };
  const std::vector<privacy::PrivacyEvent> described = {
      ConsensusTest::Create({privacy::PlanConsensusTest(spec), kMembers, kClasses, 5}, key()).value()->Describe(),
      VoteThreshold::Create(settings.threshold, key()).value()->Describe(300),
      NoisyVotes::Create(settings.votes, key()).value()->Describe(settings.answers)};
  for (std::size_t i = 0; i < 3; ++i) {
    privacy::PrivacyEvent event = planned[i];
    event.facts.clear();  // the runner's to add
    EXPECT_TRUE(described[i].SameMechanism(event)) << privacy::EncodeEvent(described[i]) << "\n"
                                                   << privacy::EncodeEvent(event);
    EXPECT_EQ(described[i].count, event.count);
  }
}

TEST(Charge, SplitsAndJoinsPayForTheSame) {
  MemoryPort port;
  ChargeBook book(&port, 1, 100);
  const auto votes = NoisyVotes::Create({.scale = 2, .classes = 3}, noise::NoiseKey::FromOperatingSystem()).value();
  Charge whole = book.Take(votes->Describe(5), 5).value();
  const Charge part = whole.Split(2);
  EXPECT_EQ(whole.count(), 3);
  EXPECT_EQ(part.count(), 2);
  whole.Join(book.Take(votes->Describe(4), 4).value());
  EXPECT_EQ(whole.count(), 7);
  EXPECT_EQ(book.drawn(), 9);
  EXPECT_DEATH((void)whole.Split(8), "");
}

}  // namespace
}  // namespace retort::worker::release::confident_votes_test
