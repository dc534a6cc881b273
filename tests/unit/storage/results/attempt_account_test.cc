#include "storage/results/attempt_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/storage_samples.h"
#include "tests/testing/temporary_directory.h"

namespace retort::storage {
namespace {

using retort::testing::SampleAttempt;
using retort::testing::SampleClaims;
using retort::testing::VoteEvent;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

privacy::PrivacyEvent Louder(std::int64_t count) {
  privacy::PrivacyEvent event = VoteEvent(count);
  event.noise_std = 99;
  return event;
}

// The sample attempt, whose one reservation of 64 votes was settled at 40.
class AttemptAccount : public ::testing::Test {
 protected:
  AttemptFile file_ = SampleAttempt();
  TrialAccount account_{std::string(64, 'd'), {VoteEvent(40)}, SampleAttempt().claims};
};

TEST_F(AttemptAccount, OfAFileThatCountsAsTheLedgerDoesIsSound) {
  ASSERT_FALSE(account_.claims.empty());
  EXPECT_THAT(DescribeAccountDamage(file_, account_), IsEmpty());
  EXPECT_FALSE(NeedsRecount(file_, account_));
  EXPECT_THAT(FindUncountedDraws(file_.ledger, account_.charged), IsEmpty());
}

TEST_F(AttemptAccount, DrawsThatTheFileLacksAreCounted) {
  account_.charged = {VoteEvent(47), Louder(5)};
  const auto lacking = FindUncountedDraws(file_.ledger, account_.charged);
  ASSERT_THAT(lacking, SizeIs(2));
  EXPECT_EQ(lacking[0].count, 7);
  EXPECT_TRUE(lacking[0].SameMechanism(VoteEvent(1)));
  EXPECT_EQ(lacking[1].count, 5);
  EXPECT_TRUE(lacking[1].SameMechanism(Louder(1)));
  EXPECT_THAT(DescribeAccountDamage(file_, account_), ElementsAre(HasSubstr("12 draws of noise less than the ledger")));
  EXPECT_TRUE(NeedsRecount(file_, account_));
}

TEST_F(AttemptAccount, AnEventOfAnotherMechanismPaysForNothing) {
  account_.charged = {Louder(1)};
  EXPECT_THAT(FindUncountedDraws(file_.ledger, account_.charged), SizeIs(1));
}

TEST_F(AttemptAccount, MoreThanTheLedgerChargesIsFoundAndNotTakenAway) {
  account_.charged = {VoteEvent(39)};
  EXPECT_THAT(DescribeAccountDamage(file_, account_), ElementsAre(HasSubstr("more draws of noise than the ledger")));
  EXPECT_FALSE(NeedsRecount(file_, account_));
}

// As after an older copy of ledger and journal was put back: what follows from it promises too much.
TEST_F(AttemptAccount, ClaimsOfALedgerThatLostDrawsAreNotTaken) {
  account_.charged = {VoteEvent(39)};
  account_.claims[0].epsilon /= 2;
  EXPECT_THAT(DescribeAccountDamage(file_, account_), ElementsAre(HasSubstr("the ledger has lost some")));
  EXPECT_FALSE(NeedsRecount(file_, account_));
  account_.charged = {VoteEvent(39), Louder(5)};
  EXPECT_TRUE(NeedsRecount(file_, account_));
  const retort::testing::TemporaryDirectory folder;
  const std::string path = folder / "attempt.h5";
  ASSERT_TRUE(WriteAttemptFile(PosixEnv(), path, file_).ok());
  ASSERT_TRUE(RecountAttemptFile(PosixEnv(), path, account_).ok());
  const AttemptFile read = ReadAttemptFile(path).value();
  EXPECT_THAT(read.ledger, SizeIs(2));
  EXPECT_EQ(read.claims, file_.claims);
}

TEST_F(AttemptAccount, WhatTheLedgerForgotIsTheRestOfWhatIsRecorded) {
  EXPECT_THAT(FindForgottenDraws(file_.ledger, account_.charged), IsEmpty());
  EXPECT_THAT(FindForgottenDraws(file_.ledger, {VoteEvent(90), Louder(1)}), IsEmpty());
  const auto lost = FindForgottenDraws(file_.ledger, {VoteEvent(33)});
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].count, 7);
}

TEST_F(AttemptAccount, ASmallerMissingOrIncomparableClaimIsLess) {
  const std::vector<privacy::Claim> whole = account_.claims;
  file_.claims[0].epsilon -= 0.001;
  EXPECT_THAT(DescribeAccountDamage(file_, account_),
              ElementsAre(HasSubstr("claims less than its row: example (replace)")));
  file_.claims = {whole[1]};
  EXPECT_THAT(DescribeAccountDamage(file_, account_),
              ElementsAre(HasSubstr("claims less than its row: example (replace)")));
  file_.claims = whole;
  file_.claims[0].delta = 0.1;
  EXPECT_THAT(DescribeAccountDamage(file_, account_), ElementsAre(HasSubstr("claims less than its row")));
  file_.claims = whole;
  file_.claims[0].epsilon = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(DescribeAccountDamage(file_, account_), ElementsAre(HasSubstr("claims less than its row")));
  file_.claims = whole;
  account_.claims[0] = privacy::Claim(whole[1]);
  account_.claims[0].adjacency = privacy::Adjacency::example;
  EXPECT_THAT(DescribeAccountDamage(file_, account_), ElementsAre(HasSubstr("claims less")))
      << "finite, where the row says infinity";
}

TEST_F(AttemptAccount, AnotherClaimThanTheRowsIsFound) {
  file_.claims[0].epsilon += 1;
  EXPECT_THAT(DescribeAccountDamage(file_, account_), ElementsAre(HasSubstr("other claims than its row")));
  EXPECT_TRUE(NeedsRecount(file_, account_));
}

TEST_F(AttemptAccount, RecountedFileAgreesAndKeepsEverythingElse) {
  const retort::testing::TemporaryDirectory folder;
  const std::string path = folder / "attempt.h5";
  account_.charged = {VoteEvent(50)};
  account_.claims[0].epsilon += 1;
  ASSERT_TRUE(WriteAttemptFile(PosixEnv(), path, file_).ok());
  ASSERT_TRUE(RecountAttemptFile(PosixEnv(), path, account_).ok());
  const Result<AttemptFile> read = ReadAttemptFile(path);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_THAT(DescribeAccountDamage(*read, account_), IsEmpty());
  ASSERT_THAT(read->ledger, SizeIs(2));
  EXPECT_EQ(read->ledger[1].id, kUncountedId);
  EXPECT_EQ(read->ledger[1].Charged().count, 10);
  EXPECT_EQ(read->ledger[1].data_digest, account_.data_digest);
  EXPECT_EQ(read->claims, account_.claims);
  AttemptFile expected = file_;
  expected.ledger = read->ledger;
  expected.claims = read->claims;
  const std::string recounted = PosixEnv().ReadFile(path).value();
  ASSERT_TRUE(WriteAttemptFile(PosixEnv(), path, expected).ok());
  EXPECT_EQ(PosixEnv().ReadFile(path).value(), recounted);
}

}  // namespace
}  // namespace retort::storage
