// What holds for a student need not hold for the images of its generator.
#include "experiments/privacy/image_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "experiments/privacy/accountants/reasons.h"

namespace retort::privacy {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Claim MakeClaim(Adjacency adjacency, double epsilon, ClaimStatus status) {
  Claim claim;
  claim.adjacency = adjacency;
  claim.epsilon = epsilon;
  claim.status = status;
  claim.accountant = "some";
  if (!std::isfinite(epsilon)) claim.reason = "not-privately-trained";
  return claim;
}

TrialSpec MakeSpec(const char* method) {
  TrialSpec spec;
  spec.role = Role::student;
  spec.method = method;
  spec.reading = Reading::working;
  return spec;
}

TEST(PictureClaims, ProvenOnesPassThroughTheStudent) {
  const std::vector<Claim> claims = {MakeClaim(Adjacency::example, 3, ClaimStatus::proven)};
  const std::vector<Claim> held = ComputeImageClaims(MakeSpec("dpdfd"), claims);
  EXPECT_EQ(held, claims);
  EXPECT_THAT(WarnOfImages(held), IsEmpty());
}

TEST(PictureClaims, RawTeacherLeavesNone) {
  TrialSpec spec = MakeSpec("dpsd-t");
  spec.generator.discriminator = Discriminator::teacher;
  const std::vector<Claim> held =
      ComputeImageClaims(spec, {MakeClaim(Adjacency::example, 3, ClaimStatus::proven),
                                MakeClaim(Adjacency::example, 1, ClaimStatus::paper_formula),
                                MakeClaim(Adjacency::answer, 1, ClaimStatus::proven)});
  for (const Claim& claim : held) {
    EXPECT_TRUE(std::isinf(claim.epsilon));
    EXPECT_EQ(claim.status, ClaimStatus::unbounded);
    EXPECT_EQ(claim.reason, kVoidGeneratorTouchedTeacher);
  }
  EXPECT_THAT(WarnOfImages(held), HasSubstr("The generator was trained against the raw teacher."));
}

TEST(PictureClaims, TeachersJacobianLeavesNone) {
  TrialSpec spec = MakeSpec("dpdfd");
  spec.release.detach = false;
  const std::vector<Claim> held = ComputeImageClaims(spec, {MakeClaim(Adjacency::example, 3, ClaimStatus::proven)});
  EXPECT_TRUE(std::isinf(held[0].epsilon));
  EXPECT_EQ(held[0].reason, kVoidTeacherJacobian);
}

TEST(PictureClaims, ThoseOfLabelsSayNothingOfPictures) {
  for (const Claim& claim : {MakeClaim(Adjacency::label, 1, ClaimStatus::proven),
                             MakeClaim(Adjacency::example, 1, ClaimStatus::paper_formula),
                             MakeClaim(Adjacency::label, 1, ClaimStatus::paper_formula)}) {
    const std::vector<Claim> held = ComputeImageClaims(MakeSpec("dp-dfd"), {claim});
    EXPECT_TRUE(std::isinf(held[0].epsilon));
    EXPECT_THAT(WarnOfImages(held), HasSubstr("no ε is proven"));
  }
}

TEST(PictureClaims, FormulaIsTold) {
  const std::vector<Claim> held =
      ComputeImageClaims(MakeSpec("dpdfd"), {MakeClaim(Adjacency::example, 1, ClaimStatus::paper_formula)});
  EXPECT_THAT(WarnOfImages(held), HasSubstr("the paper's formula says ε = 1.000, which is no guarantee"));
}

TEST(PictureClaims, AnswersAndSlotsDoNotCoverExamples) {
  for (const Adjacency adjacency : {Adjacency::answer, Adjacency::slot, Adjacency::label})
    EXPECT_THAT(WarnOfImages({MakeClaim(adjacency, 1, ClaimStatus::proven)}), HasSubstr("no ε is proven"));
  for (const Adjacency adjacency : {Adjacency::example, Adjacency::member, Adjacency::teacher})
    EXPECT_THAT(WarnOfImages({MakeClaim(adjacency, 1, ClaimStatus::proven)}), IsEmpty());
}

// One that is finite may still mean little, so the number is told.
TEST(PictureClaims, LeastProvenOneIsTold) {
  std::vector<Claim> claims = {MakeClaim(Adjacency::example, 26121.65, ClaimStatus::proven),
                               MakeClaim(Adjacency::answer, 1, ClaimStatus::proven),
                               MakeClaim(Adjacency::teacher, 5, ClaimStatus::proven),
                               MakeClaim(Adjacency::example, 2, ClaimStatus::paper_formula)};
  claims[2].units = "one teacher";
  claims[2].delta = 1e-5;
  EXPECT_EQ(DescribeImages(claims), "ε ≤ 5.000 at δ = 1e-5 for one teacher (replace)");
  EXPECT_THAT(DescribeImages({claims[1], claims[3]}), IsEmpty());
}

TEST(PictureClaims, NoClaimIsAWarning) { EXPECT_THAT(WarnOfImages({}), HasSubstr("no ε is proven")); }

}  // namespace
}  // namespace retort::privacy
