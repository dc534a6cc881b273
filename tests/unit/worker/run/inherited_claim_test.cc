// What a student inherits is what the ledger says of its teacher, whatever the teacher's file says of itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "experiments/privacy/claim.h"
#include "tests/unit/worker/tiny_trials.h"

namespace retort::worker {
namespace {

using ::testing::HasSubstr;

class InheritedClaim : public ::testing::Test {
 protected:
  // A teacher trained with DP-SGD, and a student that labels public images with it.
  void SetUp() override {
    TrialSpec teacher = tiny_.Teacher("dpsgd");
    teacher.noise = NoiseMode::secure;
    FakeTrialHost host;
    const TrialOrder order = tiny_.Order(teacher, "teacher", 1);
    const cluster::Ended ended = RunTrial(order, host, storage::PosixEnv());
    ASSERT_TRUE(ended.succeeded) << ended.detail;
    teacher_file_ = order.start.attempt_directory + "/attempt.h5";
    TrialSpec student = tiny_.LabelledStudent();
    student.noise = NoiseMode::secure;
    order_ = tiny_.Order(student, "student", 1, teacher_file_);
    ASSERT_EQ(ExampleIn(storage::ReadAttemptFile(teacher_file_)->claims).status, privacy::ClaimStatus::proven);
  }
  static privacy::Claim ExampleIn(const std::vector<privacy::Claim>& claims) {
    const auto found = std::find_if(claims.begin(), claims.end(), [](const privacy::Claim& claim) {
      return claim.adjacency == privacy::Adjacency::example && claim.neighbour == privacy::Neighbour::replace &&
             claim.status != privacy::ClaimStatus::paper_formula;
    });
    EXPECT_NE(found, claims.end());
    return found == claims.end() ? privacy::Claim() : *found;
  }
  // The teacher's file counts and claims half of what its row does.
  void CountLess() {
    storage::AttemptFile file = storage::ReadAttemptFile(teacher_file_).value();
    for (storage::LedgerEntry& entry : file.ledger) entry.used /= 2;
    for (privacy::Claim& claim : file.claims) claim.epsilon /= 2;
    ASSERT_TRUE(storage::WriteAttemptFile(storage::PosixEnv(), teacher_file_, file).ok());
  }
  privacy::Claim Student() {
    FakeTrialHost host;
    const cluster::Ended ended = RunTrial(order_, host, storage::PosixEnv());
    EXPECT_TRUE(ended.succeeded) << ended.detail;
    const auto file = storage::ReadAttemptFile(order_.start.attempt_directory + "/attempt.h5");
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? ExampleIn(file->claims) : privacy::Claim();
  }

  const TinyTrials tiny_;
  std::string teacher_file_;
  TrialOrder order_;
};

TEST_F(InheritedClaim, IsThatOfTheTeachersRow) {
  const double epsilon = ExampleIn(storage::ReadAttemptFile(teacher_file_)->claims).epsilon;
  CountLess();
  const privacy::Claim claim = Student();
  EXPECT_EQ(claim.status, privacy::ClaimStatus::proven) << claim.reason;
  EXPECT_EQ(claim.epsilon, epsilon);
  EXPECT_THAT(claim.reason, HasSubstr("post-processing of the teacher"));
}

TEST_F(InheritedClaim, HasNoBoundWhereTheTeachersRowIsNotKnown) {
  order_.start.teacher_claims.clear();
  const privacy::Claim claim = Student();
  EXPECT_EQ(claim.status, privacy::ClaimStatus::unbounded);
  EXPECT_EQ(claim.reason, "unknown-teacher-account");
}

TEST_F(InheritedClaim, ThatDoesNotDecodeEndsTheAttempt) {
  order_.start.teacher_claims[0] = "{}";
  FakeTrialHost host;
  EXPECT_EQ(RunTrial(order_, host, storage::PosixEnv()).failure, FailureKind::configuration);
}

TEST_F(InheritedClaim, SaysNothingOfOtherParametersThanTheRows) {
  storage::AttemptFile file = storage::ReadAttemptFile(teacher_file_).value();
  file.parameters[0].bytes[0] ^= 1;
  ASSERT_TRUE(storage::WriteAttemptFile(storage::PosixEnv(), teacher_file_, file).ok());
  FakeTrialHost host;
  const cluster::Ended ended = RunTrial(order_, host, storage::PosixEnv());
  EXPECT_EQ(ended.failure, FailureKind::disk);
  EXPECT_THAT(ended.detail, HasSubstr("other parameters than its row was written for"));
  EXPECT_TRUE(host.grants.empty());
}

}  // namespace
}  // namespace retort::worker
