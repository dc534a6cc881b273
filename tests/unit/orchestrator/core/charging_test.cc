// Reserve and Settle: charge before release.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "experiments/privacy/claims.h"
#include "experiments/privacy/relation.h"
#include "orchestrator/core/privacy_charges.h"
#include "tests/unit/orchestrator/orchestrator_fixture.h"

namespace retort::orchestrator {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakePlan;
using ::testing::SizeIs;
using testing::TrialBuilder;

privacy::PrivacyEvent Votes() {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::noisy_votes;
  event.unit = privacy::EventUnit::vote;
  event.sensitivity = 1.4142135623730951;
  event.noise_std = 40;
  event.noise_coordinates = event.release_coordinates = 10;
  event.source = privacy::NoiseSource::secure_lattice;
  event.facts = privacy::ListNeededFacts(event.kind);
  return event;
}

class ChargingTest : public OrchestratorTest {
 protected:
  void SetUp() override {
    auto data = testing::SmallData();
    data->budget = Budget{0.5, 1e-5};
    const TrialSpec spec = TrialBuilder(1).Votes().With(data).Build();
    trial_ = spec.id;
    Open(MakePlan({spec}));
    Register(0, 1);
    Tick();
    TakeMessages();
  }
  [[nodiscard]] std::int64_t Charged() const {
    std::int64_t count = 0;
    for (const auto& event : core_.charges.CollectEvents(trial_)) count += event.count;
    return count;
  }
  TrialId trial_;
};

TEST_F(ChargingTest, NothingIsGrantedBeforeTheLedgerHoldsIt) {
  Say(trial_, cluster::Reserve{1, Votes(), 8});
  EXPECT_THAT(Take<cluster::Reserved>(), IsEmpty());
  ASSERT_THAT(outbox_.ledger, SizeIs(1));
  const auto& reserve = std::get<LedgerReserve>(outbox_.ledger[0]);
  EXPECT_EQ(reserve.event.count, 8);
  EXPECT_EQ(reserve.data_digest, std::string(64, 'd'));
  GrantAll();
  const auto granted = Take<cluster::Reserved>();
  ASSERT_THAT(granted, SizeIs(1));
  EXPECT_TRUE(granted[0].second.granted);
  EXPECT_EQ(granted[0].second.id, 1U);
}

TEST_F(ChargingTest, NextLeaseTellsWhatTheLedgerHasCharged) {
  Say(trial_, cluster::Reserve{1, Votes(), 8});
  GrantAll();
  Say(trial_, cluster::Settle{1, 3});
  Say(trial_, cluster::Reserve{2, Votes(), 8});
  GrantAll();  // the worker dies before it hears of it
  TakeMessages();
  Fail(trial_, FailureKind::worker_killed);
  Pass(10);
  const auto leases = Take<cluster::Lease>();
  ASSERT_THAT(leases, SizeIs(1));
  ASSERT_THAT(leases[0].second.start.charged, SizeIs(1));
  EXPECT_EQ(leases[0].second.start.charged[0].count, 3 + 8);
  EXPECT_TRUE(leases[0].second.start.charged[0].SameMechanism(Votes()));
}

TEST_F(ChargingTest, RepeatedRequestIsChargedOnce) {
  Say(trial_, cluster::Reserve{1, Votes(), 8});
  Say(trial_, cluster::Reserve{1, Votes(), 8});
  EXPECT_THAT(outbox_.ledger, SizeIs(1));
  GrantAll();
  TakeMessages();
  Say(trial_, cluster::Reserve{1, Votes(), 8});
  EXPECT_THAT(outbox_.ledger, IsEmpty());
  EXPECT_THAT(Take<cluster::Reserved>(), SizeIs(1));
  EXPECT_EQ(Charged(), 8);
}

TEST_F(ChargingTest, RequestsOfOneBatchOfMessagesSeeEachOther) {
  // Each alone fits, the two together do not.
  std::int64_t fits = 1;
  while (privacy::ComputeTotalEpsilon({{[&] {
                                        auto e = Votes();
                                        e.count = fits + 1;
                                        return e;
                                      }()}},
                                      1e-5) <= 0.5)
    ++fits;
  Say(trial_, cluster::Reserve{1, Votes(), fits});
  Say(trial_, cluster::Reserve{2, Votes(), fits});
  EXPECT_THAT(outbox_.ledger, SizeIs(1));
  const auto refused = Take<cluster::Reserved>();
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_FALSE(refused[0].second.granted);
  EXPECT_EQ(refused[0].second.id, 2U);
  EXPECT_THAT(refused[0].second.refusal, HasSubstr("budget"));
}

privacy::PrivacyEvent Counted(std::int64_t count) {
  privacy::PrivacyEvent event = Votes();
  event.count = count;
  return event;
}

std::shared_ptr<DataSpec> Capped(double epsilon) {
  auto data = testing::SmallData();
  data->budget = Budget{epsilon, 1e-5};
  return data;
}

TEST(Budget, IsGrantedAtEqualityAndRefusedADoubleBelow) {
  PrivacyCharges charges;
  charges.Add(std::string(64, 'd'), TrialId(1), Counted(40));
  for (const std::int64_t more : {1, 7, 64, 4000}) {
    const double total = privacy::ComputeTotalEpsilon({{Counted(40)}, {Counted(more)}}, 1e-5);
    EXPECT_EQ(RefuseOverBudget(charges, *Capped(total), Counted(more)), std::nullopt);
    EXPECT_NE(RefuseOverBudget(charges, *Capped(std::nextafter(total, 0.0)), Counted(more)), std::nullopt);
  }
}

// The same draws in a hundred thousand pieces, in one, or by another sweep: one total, so one answer.
TEST(Budget, DoesNotDependOnHowTheChargesCameIn) {
  constexpr int kPieces = 100'000;
  PrivacyCharges pieces, whole;
  privacy::PrivacyEvent small = Counted(3);
  small.noise_std = 1000.0 / 3;
  privacy::PrivacyEvent all = small;
  all.count = std::int64_t{3} * kPieces;
  for (int i = 0; i < kPieces; ++i) pieces.Add(std::string(64, 'd'), TrialId(1), small);
  whole.Add(std::string(64, 'd'), TrialId(1), all);
  const double total = privacy::ComputeTotalEpsilon({{all}, {Counted(5)}}, 1e-5);
  const auto at = Capped(total), below = Capped(std::nextafter(total, 0.0));
  EXPECT_EQ(RefuseOverBudget(pieces, *at, Counted(5)), std::nullopt);
  EXPECT_EQ(RefuseOverBudget(whole, *at, Counted(5)), std::nullopt);
  EXPECT_EQ(RefuseOverBudget({}, *at, Counted(5), {}, {all}), std::nullopt);
  EXPECT_NE(RefuseOverBudget(pieces, *below, Counted(5)), std::nullopt);
  EXPECT_NE(RefuseOverBudget(whole, *below, Counted(5)), std::nullopt);
  EXPECT_THAT(RefuseOverBudget({}, *below, Counted(5), {}, {all}).value(), HasSubstr("same results root"));
}

TEST_F(ChargingTest, WhatOtherSweepsChargedCountsBeforeTheDraw) {
  Say(trial_, cluster::Reserve{1, Votes(), 8});
  GrantAll();
  ASSERT_TRUE(Take<cluster::Reserved>().at(0).second.granted);
  core_.other_spending[std::string(64, 'd')] = {Counted(1'000'000)};
  Say(trial_, cluster::Reserve{2, Votes(), 8});
  EXPECT_THAT(outbox_.ledger, IsEmpty());
  const auto refused = Take<cluster::Reserved>();
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_THAT(refused[0].second.refusal, HasSubstr("other sweeps in the same results root"));
}

TEST_F(ChargingTest, BudgetsOfOtherSweepsHoldBesideTheTrialsOwn) {
  Say(trial_, cluster::Reserve{1, Votes(), 4});
  GrantAll();
  ASSERT_TRUE(Take<cluster::Reserved>().at(0).second.granted);
  core_.other_budgets[std::string(64, 'd')] = {{"results/loose", Budget{100, 1e-5}},
                                               {"results/tight", Budget{1e-3, 1e-5}}};
  Say(trial_, cluster::Reserve{2, Votes(), 4});
  EXPECT_THAT(outbox_.ledger, IsEmpty());
  EXPECT_THAT(Take<cluster::Reserved>().at(0).second.refusal, HasSubstr("that results/tight sets"));
  core_.other_budgets.clear();
  Say(trial_, cluster::Reserve{3, Votes(), 4});
  EXPECT_THAT(outbox_.ledger, SizeIs(1));
}

TEST(Budget, OfAnotherSweepBindsDataWithoutOneOfItsOwn) {
  auto data = testing::SmallData();
  ASSERT_FALSE(data->budget);
  EXPECT_EQ(RefuseOverBudget({}, *data, Counted(40)), std::nullopt);
  EXPECT_NE(RefuseOverBudget({}, *data, Counted(40), {}, {}, {{"results/a", Budget{1e-3, 1e-5}}}), std::nullopt);
}

TEST_F(ChargingTest, RefusedRequestIsNotCharged) {
  Say(trial_, cluster::Reserve{1, Votes(), 1'000'000});
  EXPECT_THAT(outbox_.ledger, IsEmpty());
  EXPECT_EQ(Charged(), 0);
  ASSERT_THAT(Take<cluster::Reserved>(), SizeIs(1));
}

// What was drawn is spent, whatever budgets say; what is drawn from then on they refuse.
TEST_F(ChargingTest, DrawsThatTheLedgerLostAreChargedBeyondABudget) {
  Say(trial_, cluster::Reserve{1, Votes(), 1'000'000, true});
  ASSERT_THAT(outbox_.ledger, SizeIs(1));
  EXPECT_EQ(Charged(), 1'000'000);
  GrantAll();
  ASSERT_TRUE(Take<cluster::Reserved>().at(0).second.granted);
  Say(trial_, cluster::Reserve{2, Votes(), 1});
  EXPECT_FALSE(Take<cluster::Reserved>().at(0).second.granted);
}

TEST_F(ChargingTest, ReservationOfNothingIsRefused) {
  for (const std::int64_t count : {0, -1}) {
    Say(trial_, cluster::Reserve{static_cast<std::uint64_t>(10 + count), Votes(), count});
    const auto refused = Take<cluster::Reserved>();
    ASSERT_THAT(refused, SizeIs(1));
    EXPECT_FALSE(refused[0].second.granted);
    EXPECT_EQ(refused[0].second.refusal, "a reservation of " + std::to_string(count) + " draws");
  }
}

TEST_F(ChargingTest, ReservationBeyondWhatCanBeCountedIsRefused) {
  std::uint64_t id = 0;
  // For their size, and not because the budget is far below them.
  const auto refusal = [&](const privacy::PrivacyEvent& event, std::int64_t count) {
    Say(trial_, cluster::Reserve{++id, event, count});
    const auto answers = Take<cluster::Reserved>();
    return answers.size() == 1 && !answers[0].second.granted ? answers[0].second.refusal : "";
  };
  EXPECT_THAT(refusal(Votes(), std::int64_t{1} << 62), HasSubstr("draws"));
  EXPECT_THAT(refusal(Votes(), privacy::kMaxDraws + 1), HasSubstr("draws"));
  for (const std::int64_t rows : {std::int64_t{0}, std::int64_t{-3}, privacy::kMaxRowsPerBatch + 1}) {
    auto event = Votes();
    event.rows_per_batch = rows;
    EXPECT_THAT(refusal(event, 1), HasSubstr("rows in a batch")) << rows;
  }
  EXPECT_THAT(outbox_.ledger, IsEmpty());
  EXPECT_EQ(Charged(), 0);
}

TEST_F(ChargingTest, WorkerThatReservesWithoutEndDoesNotBusyTheLedger) {
  privacy::PrivacyEvent event = Votes();
  event.noise_std = 1e6;  // far below the budget
  for (std::uint64_t id = 1; id <= 100; ++id) Say(trial_, cluster::Reserve{id, event, 1});
  EXPECT_THAT(outbox_.ledger, SizeIs(16));
  EXPECT_THAT(Take<cluster::Reserved>(), SizeIs(84)) << "refused";
  GrantAll();
  EXPECT_THAT(Take<cluster::Reserved>(), SizeIs(16));
  Say(trial_, cluster::Reserve{101, event, 1});
  EXPECT_THAT(outbox_.ledger, SizeIs(1)) << "the next one is served again";
}

TEST(PrivacyCharges, SumThatDoesNotFitIsUnboundedAndNeverLess) {
  PrivacyCharges book;
  const TrialId trial(7);
  auto event = Votes();
  event.count = (std::int64_t{1} << 62) + 1;
  for (int i = 0; i < 3; ++i) book.Add("data", trial, event);
  double total = 0;
  for (const privacy::PrivacyEvent& sum : book.CollectEvents(trial)) {
    EXPECT_GT(sum.count, 0);
    total += static_cast<double>(sum.count);
  }
  EXPECT_GE(total, 9.2e18);
  EXPECT_EQ(privacy::ComputeTotalEpsilon(book.ListChargesByTrial("data"), 1e-5),
            std::numeric_limits<double>::infinity());
}

TEST(PrivacyCharges, PackedFilesAndTheSameUnpackedAreOneDataSet) {
  const std::string packed(64, 'p'), plain(64, 'd'), repacked(64, 'q');
  PrivacyCharges book;
  book.Add(packed, TrialId(1), Counted(3));
  book.Unpack(packed, plain);
  book.Unpack(repacked, plain);
  book.Add(plain, TrialId(2), Counted(5));
  book.Add(repacked, TrialId(3), Counted(7));
  for (const std::string& digest : {packed, plain, repacked}) {
    std::int64_t draws = 0;
    for (const privacy::PrivacyEvent& event : book.SumCharges(digest)) draws += event.count;
    EXPECT_EQ(draws, 15);
    EXPECT_THAT(book.ListChargesByTrial(digest), SizeIs(3));
  }
  EXPECT_EQ(book.Digests(), std::vector<std::string>{plain});
}

TEST(PrivacyCharges, SharedExamplesCountForBothDataSetsOnly) {
  const auto draws = [](const PrivacyCharges& book, const std::string& digest) {
    std::int64_t sum = 0;
    for (const privacy::PrivacyEvent& event : book.SumCharges(digest)) sum += event.count;
    return sum;
  };
  PrivacyCharges book;
  book.Add("a", TrialId(1), Counted(3));
  book.Share("a", "b");
  const std::uint64_t version = book.version();
  book.Share("b", "c");
  EXPECT_NE(book.version(), version) << "whoever shows totals looks again";
  book.Add("b", TrialId(2), Counted(5));
  book.Add("c", TrialId(3), Counted(7));
  EXPECT_EQ(draws(book, "a"), 8);
  EXPECT_EQ(draws(book, "b"), 15);
  EXPECT_EQ(draws(book, "c"), 12);
  EXPECT_THAT(book.ListChargesByTrial("a"), SizeIs(2));
  EXPECT_EQ(book.Digests(), (std::vector<std::string>{"a", "b", "c"})) << "each under its own name";
}

TEST_F(ChargingTest, SettlingChargesWhatWasUsed) {
  Say(trial_, cluster::Reserve{1, Votes(), 8});
  GrantAll();
  Say(trial_, cluster::Settle{1, 3});
  EXPECT_EQ(Charged(), 3);
  ASSERT_THAT(outbox_.ledger, SizeIs(1));
  EXPECT_EQ(std::get<LedgerSettle>(outbox_.ledger[0]).used, 3);
  Say(trial_, cluster::Settle{1, 0});
  EXPECT_EQ(Charged(), 3) << "settled twice";
}

TEST_F(ChargingTest, ImpossibleSettlementLeavesTheWholeCharge) {
  Say(trial_, cluster::Reserve{1, Votes(), 8});
  GrantAll();
  Say(trial_, cluster::Settle{1, 9});
  Say(trial_, cluster::Settle{1, -1});
  Say(trial_, cluster::Settle{77, 1});
  EXPECT_EQ(Charged(), 8);
  EXPECT_THAT(outbox_.ledger, IsEmpty());
}

TEST_F(ChargingTest, CrashLeavesTheReservationSpent) {
  Say(trial_, cluster::Reserve{1, Votes(), 4});
  GrantAll();
  Say(trial_, cluster::WorkerLost{FailureKind::worker_crash, "SIGKILL"});
  Pass(2);
  Say(trial_, cluster::Reserve{1, Votes(), 4});
  GrantAll();
  EXPECT_EQ(Charged(), 8);
}

TEST_F(ChargingTest, GrantThatComesAfterTheEndOfItsAttemptIsNotSent) {
  Say(trial_, cluster::Reserve{1, Votes(), 8});
  Say(trial_, cluster::WorkerLost{FailureKind::worker_crash, "SIGKILL"});
  GrantAll();
  EXPECT_THAT(Take<cluster::Reserved>(), IsEmpty());
  EXPECT_EQ(Charged(), 8);
}

TEST_F(ChargingTest, StaleReservationIsNotCharged) {
  const ActiveAttempt attempt = *core_.fleet.Find(trial_);
  Hear(0, {{trial_, attempt.id.number + 1}, attempt.generation, 0, cluster::Reserve{1, Votes(), 8}});
  EXPECT_THAT(outbox_.ledger, IsEmpty());
  EXPECT_EQ(core_.counters.stale, 1U);
}

TEST_F(ChargingTest, RowClaimsComeFromTheCharges) {
  Say(trial_, cluster::Reserve{1, Votes(), 8});
  GrantAll();
  Succeed(trial_);
  Tick();
  privacy::ClaimContext context;
  context.spec = &core_.Get(trial_).spec;
  EXPECT_EQ(core_.Get(trial_).row->claims, privacy::ComputeClaims(context, core_.charges.CollectEvents(trial_)));
}

privacy::PrivacyEvent PrivateStep() {
  privacy::PrivacyEvent event;
  event.kind = privacy::MechanismKind::subsampled_gaussian;
  event.unit = privacy::EventUnit::step;
  event.sensitivity = 1;
  event.noise_std = 2;
  event.sampling_rate = 0.01;
  event.noise_coordinates = event.release_coordinates = 100;
  event.granularity = 0x1p-29;
  event.source = privacy::NoiseSource::secure_lattice;
  event.facts = privacy::ListNeededFacts(event.kind);
  return event;
}

class PostProcessingTest : public OrchestratorTest {
 protected:
  // A teacher that is trained privately or not, and its student, which then asks for `draws` votes far over
  // the budget of the data.
  void Run(bool private_teacher, std::int64_t draws) {
    auto data = testing::SmallData();
    data->budget = Budget{2.0, 1e-5};
    TrialSpec teacher = TrialBuilder(1).Teacher("t").With(data).Build();
    teacher.noise = NoiseMode::secure;
    if (private_teacher) {
      teacher.method = "dpsgd";
      teacher.release.noise_multiplier = 2;
      teacher.inputs.shift = 0;
    }
    teacher.id = ComputeTrialId(teacher);
    TrialSpec student = TrialBuilder(2).Of(teacher).With(data).Build();
    student.noise = NoiseMode::secure;
    student.id = ComputeTrialId(student);
    Open(MakePlan({teacher, student}));
    Register(0, 1);
    Tick();
    if (private_teacher) {
      Say(teacher.id, cluster::Reserve{1, PrivateStep(), 10});
      GrantAll();
    }
    Succeed(teacher.id);
    Tick();
    TakeMessages();
    privacy::PrivacyEvent event = Votes();
    event.kind = privacy::MechanismKind::gaussian_gradient;
    event.unit = privacy::EventUnit::row;
    event.noise_std = 0.1;
    Say(student.id, cluster::Reserve{1, event, draws});
    GrantAll();
  }
};

TEST_F(PostProcessingTest, StudentOfAPrivateTeacherSpendsNoBudget) {
  Run(true, 100'000);
  const auto answers = Take<cluster::Reserved>();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_TRUE(answers[0].second.granted) << answers[0].second.refusal;
}

TEST_F(PostProcessingTest, StudentOfAnOpenTeacherDoes) {
  Run(false, 100'000);
  const auto answers = Take<cluster::Reserved>();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_FALSE(answers[0].second.granted);
}

}  // namespace
}  // namespace retort::orchestrator
