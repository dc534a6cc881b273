#include "experiments/base/status.h"

#include <gtest/gtest.h>

#include <memory>

namespace retort {
namespace {

TEST(Status, OkHasNeitherMessageNorChoices) {
  const Status ok;
  EXPECT_TRUE(ok.ok());
  EXPECT_EQ(ok.code(), StatusCode::ok);
  EXPECT_EQ(ok.message(), "");
  EXPECT_TRUE(ok.choices().empty());
}

TEST(Status, CopiesAreIndependent) {
  Status first = UsageError("no such key", {"steps"});
  Status copy = first;
  first = DamageError("other");
  EXPECT_EQ(copy.code(), StatusCode::usage);
  EXPECT_EQ(copy.message(), "no such key");
  EXPECT_EQ(copy.choices(), std::vector<std::string>{"steps"});
  copy = Status();
  EXPECT_TRUE(copy.ok());
  EXPECT_EQ(first.message(), "other");
}

TEST(Status, AssignedToItselfItStaysWhatItIs) {
  Status status = Refused("spent");
  const Status& same = status;
  status = same;
  EXPECT_EQ(status.message(), "spent");
}

TEST(ResultDeathTest, OkStatusInPlaceOfAValueIsABrokenInvariant) {
  EXPECT_DEATH(static_cast<void>(Result<int>(Status())), "Result from ok Status");
}

TEST(Result, HoldsAValueOrTheStatusThatSaysWhyNot) {
  Result<std::unique_ptr<int>> made = std::make_unique<int>(7);
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made.status().ok());
  EXPECT_EQ(**made, 7);
  const Result<std::unique_ptr<int>> failed = Cancelled("stopped");
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().message(), "stopped");
}

TEST(ResultDeathTest, ReadingTheAbsentValueNamesTheError) {
  const Result<int> failed = EnvironmentError("no disk");
  EXPECT_DEATH(static_cast<void>(failed.value()), "no disk");
}

TEST(Result, MacrosReturnTheError) {
  const auto twice = [](Result<int> made) -> Result<int> {
    RETORT_ASSIGN_OR_RETURN(const int value, std::move(made));
    return 2 * value;
  };
  EXPECT_EQ(*twice(4), 8);
  EXPECT_EQ(twice(Refused("no")).status().message(), "no");
}

}  // namespace
}  // namespace retort
