// What exported files say of themselves.
#include "orchestrator/cli/commands/network_description.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/testing/trial_builder.h"

namespace retort::orchestrator::cli {
namespace {

TrialView MakeTrial(const char* method) {
  TrialView trial;
  trial.spec = testing::TrialBuilder(1).Build();
  trial.spec.method = method;
  trial.row.emplace();
  privacy::Claim claim;
  claim.adjacency = privacy::Adjacency::example;
  claim.epsilon = 3;
  claim.status = privacy::ClaimStatus::proven;
  trial.row->claims = {claim};
  return trial;
}

std::string FindStatus(const nlohmann::ordered_json& description) {
  return description.at("claims").at(0).at("status").get<std::string>();
}

// The raw teacher trained the generator, as its discriminator: what is proven of the student says nothing of images.
TEST(GeneratorDescription, StudentsClaimsAreNotItsOwn) {
  TrialView trial = MakeTrial("dpsd-t");
  EXPECT_EQ(FindStatus(DescribeGenerator(trial)), "proven") << "of one that learnt from the student alone";
  trial.spec.generator.discriminator = Discriminator::teacher;
  EXPECT_EQ(FindStatus(DescribeGenerator(trial)), "unbounded");
  EXPECT_EQ(FindStatus(DescribeTrial(trial.spec, trial.row->claims)), "proven") << "the mutant: a student's file";
}

TEST(GeneratorDescription, OfATrialWithoutARowClaimsNothing) {
  TrialView trial = MakeTrial("dpdfd");
  trial.row.reset();
  EXPECT_TRUE(DescribeGenerator(trial).at("claims").empty());
}

}  // namespace
}  // namespace retort::orchestrator::cli
