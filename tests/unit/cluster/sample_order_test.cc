#include "cluster/sample_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace retort::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SampleOrder, RoundTripsExactly) {
  SampleOrder order;
  order.trial = "ab";
  order.spec = R"({"method":"dpdfd"})";
  order.attempt_file = "/a/attempt.h5";
  order.parameters = "cd";
  order.teacher_file = "/t";
  order.teacher_parameters = "ef";
  order.data_path = "/d";
  order.folder = "/f";
  order.format = "idx";
  order.labels = SampleLabels::released;
  order.count = 60'000;
  order.seed = std::numeric_limits<std::uint64_t>::max();
  order.evaluate = true;
  const Result<SampleOrder> read = DecodeSampleOrder(EncodeSampleOrder(order));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(EncodeSampleOrder(*read), EncodeSampleOrder(order));
  EXPECT_EQ(read->seed, order.seed);
  EXPECT_EQ(read->labels, order.labels);
}

TEST(SampleOrder, WrongFieldIsNamed) {
  for (const auto& [from, to, field] :
       {std::tuple{"\"count\":0", "\"count\":-1", "count"}, std::tuple{"\"labels\":0", "\"labels\":3", "labels"},
        std::tuple{"\"seed\":\"0\"", "\"seed\":\"0x\"", "seed"}}) {
    std::string text = EncodeSampleOrder({});
    text.replace(text.find(from), std::string(from).size(), to);
    const Result<SampleOrder> read = DecodeSampleOrder(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.status().code(), StatusCode::damage);
    EXPECT_THAT(read.status().message(), HasSubstr(field));
  }
  EXPECT_FALSE(DecodeSampleOrder("[]").ok());
}

TEST(SampleReport, RoundTripsWithAndWithoutEvaluation) {
  SampleReport report{1, 28, 28, {3, 0, 4}, "digest", {}};
  const Result<SampleReport> plain = DecodeSampleReport(EncodeSampleReport(report));
  ASSERT_TRUE(plain.ok()) << plain.status().message();
  EXPECT_THAT(plain->labels, ElementsAre(3, 0, 4));
  EXPECT_FALSE(plain->evaluation.has_value());
  report.evaluation =
      SampleEvaluation{"logistic", 90, 10, 50, 10, 3, 0.5, 0.25, std::numeric_limits<double>::quiet_NaN()};
  const Result<SampleReport> read = DecodeSampleReport(EncodeSampleReport(report));
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_TRUE(read->evaluation.has_value());
  EXPECT_EQ(read->evaluation->epoch, 3);
  EXPECT_EQ(read->evaluation->accuracy, 0.25);
  EXPECT_TRUE(std::isnan(read->evaluation->frechet_distance));
}

TEST(SampleReport, DamageIsAnErrorWhateverItIs) {
  for (const char* text :
       {"", "{}", "[]", R"({"channels":1,"height":1,"width":1,"digest":"","evaluation":"","labels":["x"]})",
        R"({"channels":1,"height":1,"width":1,"digest":"","evaluation":"","labels":[-1]})",
        R"({"channels":1,"height":1,"width":1,"digest":"","evaluation":"","labels":3})",
        R"({"channels":1,"height":1,"width":1,"digest":"","evaluation":"{}","labels":[1]})"})
    EXPECT_FALSE(DecodeSampleReport(text).ok()) << text;
}

}  // namespace
}  // namespace retort::cluster
