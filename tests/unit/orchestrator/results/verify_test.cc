#include "orchestrator/results/verify.h"
#include "experiments/privacy/claims.h"
#include "experiments/privacy/planned_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "experiments/privacy/claim.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/reactor/result_row.h"
#include "orchestrator/service/repair.h"
#include "storage/formats/tensor_blob.h"
#include "storage/log/privacy_ledger.h"
#include "storage/results/attempt_file.h"
#include "tests/testing/temporary_directory.h"
#include "tests/testing/trial_builder.h"

namespace retort::orchestrator::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A folder with one finished teacher trial, written through the journal, the ledger and attempt.h5.
class VerifyFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    spec_ = retort::testing::TrialBuilder(0).Teacher("single").Build();
    ASSERT_TRUE(storage::PosixEnv().CreateDirectories(folder_.path()).ok());
  }

  storage::ResultRow Row() {
    storage::ResultRow row;
    row.trial = spec_.id.Hex();
    row.name = spec_.name;
    row.role = "teacher";
    row.state = "succeeded";
    row.attempts = 1;
    row.metrics = {{"test.accuracy", 0.5}};
    row.spec_json = EncodeTrialSpec(spec_);
    row.attempt_file = GetTrialDirectory(spec_) + "/attempt-1/attempt.h5";
    row.parameters_digest = storage::ComputeTensorDigest(Parameters());
    row.claims = privacy::ComputeClaims({&spec_, {}}, events_);
    row.row_digest = storage::ComputeRowDigest(row);
    return row;
  }

  static std::vector<storage::TensorBlob> Parameters() {
    return {{"teacher/fc.weight", storage::DType::u8, {2, 2}, {1, 2, 3, 4}},
            {"teacher/fc.bias", storage::DType::u8, {2}, {5, 6}}};
  }

  void WriteAttempt(double accuracy, const std::string& trial,
                    const std::vector<storage::TensorBlob>& parameters = Parameters()) {
    storage::AttemptFile file;
    file.parameters = parameters;
    file.trial = trial;
    file.attempt = attempt_;
    file.sweep = "tested";
    file.spec_json = EncodeTrialSpec(spec_);
    file.provenance_json = "{}";
    storage::Evaluation evaluation;
    evaluation.classes = 2;
    evaluation.confusion = {1, 1, 1, 1};
    evaluation.accuracy = accuracy;
    evaluation.n = 4;
    file.evaluation = evaluation;
    file.ledger = recorded_;
    file.claims = claimed_ ? *claimed_ : Row().claims;
    const std::string folder = folder_ / (GetTrialDirectory(spec_) + "/attempt-" + std::to_string(attempt_));
    ASSERT_TRUE(storage::PosixEnv().CreateDirectories(folder).ok());
    const Status written = storage::WriteAttemptFile(storage::PosixEnv(), folder + "/attempt.h5", file);
    ASSERT_TRUE(written.ok()) << written.message();
  }

  void WriteJournal(const storage::ResultRow& row) {
    Core core(Settings{.results = folder_.path(), .provenance_json = "{}"});
    Result<Journal> journal = Journal::Open(storage::PosixEnv(), folder_.path(), core);
    ASSERT_TRUE(journal.ok()) << journal.status().message();
    const AttemptId attempt{spec_.id, 1};
    AttemptEnded ended;
    ended.attempt = attempt;
    ended.succeeded = true;
    ended.metrics = row.metrics;
    ended.file = row.attempt_file;
    const std::vector<Event> events = {SweepOpened{kResultsFormatVersion, "tested", "retort = 1\n", "{}"},
                                       MakeTrialPlanned(spec_),
                                       PlanAdopted{{spec_.id}},
                                       RunStarted{"{}"},
                                       AttemptLeased{attempt, Generation{1}, {{0, 0}}},
                                       AttemptStarted{attempt},
                                       ended,
                                       RowWritten{row}};
    std::vector<JournalEvent> timed;
    for (const Event& event : events) timed.push_back({1.0, event});
    const Status committed = journal->Commit(timed);
    ASSERT_TRUE(committed.ok()) << committed.message();
  }

  void WriteLedger(const std::vector<privacy::PrivacyEvent>& events) {
    auto ledger = storage::PrivacyLedger::Open(storage::PosixEnv(), GetLedgerPath(folder_.path()));
    ASSERT_TRUE(ledger.ok()) << ledger.status().message();
    for (const privacy::PrivacyEvent& event : events)
      ASSERT_TRUE((*ledger)->Reserve(spec_.data->digest, {spec_.id, 1}, 1, event).ok());
  }

  void WriteAll() {
    WriteJournal(Row());
    WriteLedger({});
    WriteAttempt(0.5, spec_.id.Hex());
  }

  void Flip(const std::string& file, std::streamoff at) {
    std::fstream bytes(folder_ / file, std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(bytes);
    bytes.seekg(at);
    const int byte = bytes.get();
    bytes.seekp(at);
    bytes.put(static_cast<char>(byte ^ 0x55));
  }

  [[nodiscard]] VerifyReport Report() const { return Verify(storage::PosixEnv(), folder_.path()); }

  retort::testing::TemporaryDirectory folder_;
  TrialSpec spec_;
  std::vector<privacy::PrivacyEvent> events_;           // that the row's claims follow from
  std::vector<storage::LedgerEntry> recorded_;          // in attempt.h5
  std::optional<std::vector<privacy::Claim>> claimed_;  // in attempt.h5; nothing: the row's
  std::uint32_t attempt_ = 1;                           // whose attempt.h5 is written
};

TEST_F(VerifyFolder, UntouchedFolderHasNoDamage) {
  WriteAll();
  const VerifyReport report = Report();
  for (const Damage& damage : report.damage) ADD_FAILURE() << damage.where << ": " << damage.what;
  EXPECT_EQ(report.rows, 1);
  EXPECT_EQ(report.attempts, 1);
  EXPECT_GE(report.logs, 2);
}

TEST_F(VerifyFolder, FlippedByteInTheJournalIsFound) {
  WriteAll();
  Flip("journal.log", 100);
  EXPECT_THAT(Report().damage, Contains(Field(&Damage::where, "journal.log")));
}

TEST_F(VerifyFolder, TornTailIsARemarkAndNoDamage) {
  WriteAll();
  std::ofstream(folder_ / "journal.log", std::ios::app | std::ios::binary) << "abc";
  const VerifyReport report = Report();
  EXPECT_THAT(report.damage, IsEmpty());
  EXPECT_THAT(report.remarks, Contains(HasSubstr("3 bytes")));
}

TEST_F(VerifyFolder, LedgerThatLostReservationsIsFound) {
  WriteAll();
  {
    Core core(Settings{.results = folder_.path(), .provenance_json = "{}"});
    ASSERT_TRUE(Journal::Open(storage::PosixEnv(), folder_.path(), core)->Commit({{1.0, LedgerNoted{1}}}).ok());
  }
  EXPECT_THAT(Report().damage, Contains(Field(&Damage::what, HasSubstr("0 of the 1 reservations"))));
  ASSERT_TRUE(storage::PosixEnv().Remove(GetLedgerPath(folder_.path())).ok());
  EXPECT_THAT(Report().damage, Contains(Field(&Damage::where, "ledger.log")));
}

TEST_F(VerifyFolder, RowThatIsNotItsDigestIsFound) {
  storage::ResultRow row = Row();
  row.metrics = {{"test.accuracy", 0.99}};  // not what the digest was taken over
  WriteJournal(row);
  WriteLedger({});
  WriteAttempt(0.99, spec_.id.Hex());
  EXPECT_THAT(Report().damage, Contains(Field(&Damage::what, HasSubstr("digest"))));
}

TEST_F(VerifyFolder, ClaimThatDoesNotFollowFromTheLedgerIsFound) {
  storage::ResultRow row = Row();
  ASSERT_FALSE(row.claims.empty());
  row.claims[0].status = privacy::ClaimStatus::proven;
  row.claims[0].epsilon = 1;
  row.row_digest = storage::ComputeRowDigest(row);
  WriteJournal(row);
  WriteLedger({});
  WriteAttempt(0.5, spec_.id.Hex());
  EXPECT_THAT(Report().damage, Contains(Field(&Damage::what, HasSubstr("ledger"))));
}

TEST_F(VerifyFolder, MissingAttemptFileIsFound) {
  WriteJournal(Row());
  WriteLedger({});
  EXPECT_THAT(Report().damage, Contains(Field(&Damage::what, HasSubstr("missing"))));
}

TEST_F(VerifyFolder, AttemptFileOfAnotherTrialIsFound) {
  WriteJournal(Row());
  WriteLedger({});
  WriteAttempt(0.5, "0000000000000001");
  EXPECT_THAT(Report().damage, Contains(Field(&Damage::what, HasSubstr("belongs to trial"))));
}

TEST_F(VerifyFolder, AttemptWithAnotherAccuracyIsFound) {
  WriteJournal(Row());
  WriteLedger({});
  WriteAttempt(0.25, spec_.id.Hex());
  EXPECT_THAT(Report().damage, Contains(Field(&Damage::what, HasSubstr("test.accuracy"))));
}

TEST_F(VerifyFolder, AttemptWithOtherParametersIsFound) {
  WriteJournal(Row());
  WriteLedger({});
  std::vector<storage::TensorBlob> parameters = Parameters();
  parameters[1].bytes[0] ^= 1;
  WriteAttempt(0.5, spec_.id.Hex(), parameters);
  EXPECT_THAT(Report().damage, Contains(Field(&Damage::what, HasSubstr("other parameters"))));
}

// A student that released 300 noisy vote histograms.
class VerifyCharged : public VerifyFolder {
 protected:
  void SetUp() override {
    VerifyFolder::SetUp();
    spec_ = retort::testing::TrialBuilder(0).Build();
    spec_.reading = Reading::sound;
    spec_.source = QuerySource::public_split;
    spec_.queries = kVotes;
    spec_.release.vote_noise = 40;
    spec_.noise = NoiseMode::secure;
    spec_.id = ComputeTrialId(spec_);
    events_ = privacy::PlanEvents(spec_).value();
    recorded_.resize(1);
    recorded_[0].id = 1;
    recorded_[0].data_digest = spec_.data->digest;
    recorded_[0].attempt = {spec_.id, 1};
    recorded_[0].event = events_[0];
  }
  // With `charged` votes in the ledger, in a row whose claims are those of all.
  void WriteCharged(std::int64_t charged) {
    WriteJournal(Row());
    privacy::PrivacyEvent event = events_[0];
    event.count = charged;
    WriteLedger({event});
    WriteAttempt(0.5, spec_.id.Hex());
  }
  void WriteResults(const storage::ResultRow& row) {
    ASSERT_TRUE(storage::WriteResultFile(storage::PosixEnv(), folder_.path(), "tested", {row}, recorded_).ok());
  }
  static constexpr std::int64_t kVotes = 300;
};

TEST_F(VerifyCharged, RowThatFollowsFromTheLedgerHasNoDamage) {
  WriteCharged(kVotes);
  WriteResults(Row());
  for (const Damage& damage : Report().damage) ADD_FAILURE() << damage.where << ": " << damage.what;
}

TEST_F(VerifyCharged, LedgerThatCountsLessThanTheRowIsFoundTwice) {
  WriteCharged(kVotes - 1);
  const auto damage = Report().damage;
  EXPECT_THAT(damage, Contains(Field(&Damage::what, HasSubstr("not those that follow from the ledger"))));
  EXPECT_THAT(damage, Contains(Field(&Damage::what, HasSubstr("more draws of noise than the ledger charges"))));
}

TEST_F(VerifyCharged, UndercountingAttemptIsFoundAndRepaired) {
  WriteJournal(Row());
  WriteLedger(events_);
  recorded_[0].event.count = kVotes - 7;
  claimed_ = privacy::ComputeClaims({&spec_, {}}, {recorded_[0].event});
  for (const std::uint32_t attempt : {1U, 2U}) {  // the one that the row names, and one that nobody does
    attempt_ = attempt;
    WriteAttempt(0.5, spec_.id.Hex());
  }
  const auto damage = Report().damage;
  for (const char* file : {"attempt-1/attempt.h5", "attempt-2/attempt.h5"})
    for (const char* what : {"7 draws of noise less than the ledger", "claims less than its row"})
      EXPECT_THAT(damage,
                  Contains(AllOf(Field(&Damage::where, EndsWith(file)), Field(&Damage::what, HasSubstr(what)))));

  const Result<RepairPlan> plan = PlanRepair(storage::PosixEnv(), folder_.path());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_EQ(plan->items.size(), 2U);
  EXPECT_EQ(plan->items[0].action, RepairAction::rewrite);
  EXPECT_THAT(plan->items[0].remedy, HasSubstr("the draws that it lacks"));
  const std::string path = GetTrialDirectory(spec_) + "/attempt-1/attempt.h5";
  const std::string before = storage::PosixEnv().ReadFile(folder_ / path).value();
  const Result<std::string> quarantine = ApplyRepair(storage::PosixEnv(), folder_.path(), *plan);
  ASSERT_TRUE(quarantine.ok()) << quarantine.status().message();
  EXPECT_EQ(storage::PosixEnv().ReadFile(folder_ / (*quarantine + "/" + path)).value(), before);
  for (const Damage& left : Report().damage) ADD_FAILURE() << left.where << ": " << left.what;
  const storage::AttemptFile file = storage::ReadAttemptFile(folder_ / path).value();
  EXPECT_EQ(file.claims, Row().claims);
  EXPECT_TRUE(PlanRepair(storage::PosixEnv(), folder_.path())->items.empty());
}

// As where older copies of journal and ledger were put back: the row's claims are too small, and the file keeps its
// own.
TEST_F(VerifyCharged, LostDrawsCostARecordedFileNoClaim) {
  privacy::PrivacyEvent fewer = events_[0];
  fewer.count = kVotes / 2;
  storage::ResultRow row = Row();
  const std::vector<privacy::Claim> whole = row.claims;
  row.claims = privacy::ComputeClaims({&spec_, {}}, {fewer});
  row.row_digest = storage::ComputeRowDigest(row);
  WriteJournal(row);
  WriteLedger({fewer});
  claimed_ = whole;
  WriteAttempt(0.5, spec_.id.Hex());
  EXPECT_THAT(Report().damage, Contains(Field(&Damage::what, HasSubstr("what its row claims is too little"))));
  const Result<RepairPlan> plan = PlanRepair(storage::PosixEnv(), folder_.path());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->BeyondRepair(), 1U);
  EXPECT_THAT(plan->items, Contains(Field(&RepairItem::remedy, HasSubstr("restore ledger.log and journal.log"))));
  ASSERT_TRUE(ApplyRepair(storage::PosixEnv(), folder_.path(), *plan).ok());
  EXPECT_EQ(storage::ReadAttemptFile(folder_ / (GetTrialDirectory(spec_) + "/attempt-1/attempt.h5"))->claims, whole);
}

TEST_F(VerifyCharged, ALostLedgerCountsNothingAnew) {
  WriteJournal(Row());
  WriteLedger(events_);
  recorded_.clear();
  WriteAttempt(0.5, spec_.id.Hex());
  Flip("ledger.log", 40);
  const Result<RepairPlan> plan = PlanRepair(storage::PosixEnv(), folder_.path());
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  for (const RepairItem& item : plan->items) EXPECT_EQ(item.where, "ledger.log");
}

TEST_F(VerifyCharged, EpsilonEditedInTheRowIsFound) {
  storage::ResultRow row = Row();
  for (privacy::Claim& claim : row.claims)
    if (claim.status == privacy::ClaimStatus::proven) claim.epsilon -= 0.001;
  row.row_digest = storage::ComputeRowDigest(row);
  WriteJournal(row);
  WriteLedger(events_);
  WriteAttempt(0.5, spec_.id.Hex());
  EXPECT_THAT(Report().damage, Contains(Field(&Damage::what, HasSubstr("not those that follow from the ledger"))));
}

TEST_F(VerifyCharged, EpsilonEditedInThePublishedResultsIsFound) {
  WriteCharged(kVotes);
  storage::ResultRow row = Row();
  row.claims.back().epsilon = 0.5;
  WriteResults(row);
  EXPECT_THAT(Report().damage, Contains(Field(&Damage::where, "results.h5")));
}

TEST_F(VerifyCharged, ResultsThatLackATrialAreARemark) {
  WriteCharged(kVotes);
  storage::ResultRow other = Row();
  other.trial = "00000000000000ff";
  WriteResults(other);
  const VerifyReport report = Report();
  EXPECT_THAT(report.damage, IsEmpty());
  EXPECT_THAT(report.remarks, Contains(HasSubstr("results.h5 lacks 1 finished trial")));
}

TEST_F(VerifyCharged, ForeignLedgerEntriesAreFound) {
  WriteCharged(kVotes);
  auto ledger = storage::PrivacyLedger::Open(storage::PosixEnv(), GetLedgerPath(folder_.path())).value();
  privacy::PrivacyEvent event = events_[0];
  event.noise_std = 41;
  ASSERT_TRUE(ledger->Reserve(std::string(64, 'e'), {spec_.id, 1}, 1, event).ok());
  ASSERT_TRUE(ledger->Reserve(spec_.data->digest, {spec_.id, 7}, 1, event).ok());
  const auto damage = Report().damage;
  EXPECT_THAT(damage, Contains(Field(&Damage::what, HasSubstr("another data set"))));
  EXPECT_THAT(damage, Contains(Field(&Damage::what, HasSubstr("attempt 7"))));
}

}  // namespace
}  // namespace retort::orchestrator::cli
