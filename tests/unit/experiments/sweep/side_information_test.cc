// What a row had beside the private examples.
#include "experiments/sweep/table_specs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/experiments/sweep/sweep_fixture.h"

namespace retort {
namespace {

std::string AskedThrough(const std::string& rows, const std::string& table) {
  const SweepPlan plan = GoodPlan(kHead + kTeachers + "[trial]\ndelta = 1e-5\n[sweep]\nzip.row = [" + rows +
                                  "]\n[table.t]\nrows = [" + table + "]\n");
  std::string told;
  for (const TrialSpec& student : Students(plan))
    for (const auto& [key, value] : student.axes)
      if (key == kSideInformationKey) told += "[" + value + "]";
  return told;
}

TEST(SideInformation, TablesCanTellWhatARowHadBesideThePrivateExamples) {
  const std::string rows =
      "{ teacher = \"single\" }, { teacher = \"single\", source = \"procedural\" }, "
      "{ teacher = \"shards\", reading = \"sound\", source = \"public\", vote_noise = 3 }, "
      "{ method = \"rona\", teacher = \"single\", hint_epochs = 0 }, "
      "{ method = \"dp-gd\", student = \"hog-linear\", noise_multiplier = 9.0 }, "
      "{ method = \"dpsgd\", student = \"tanh-cnn\", noise_multiplier = 9.0 }";
  EXPECT_EQ(AskedThrough(rows, "\"method\", \"side_information\""),
            "[none][domain knowledge][public pictures][public pictures][domain knowledge][none]");
  EXPECT_EQ(AskedThrough(rows, "\"method\""), "") << "no table asks for it";
}

TEST(SideInformation, AStudentHadWhatItsTeacherHad) {
  const std::string sweep = kHead +
                            "[teacher]\nhog = { network = \"hog-linear\", private = { noise_multiplier = 9.0 } }\n"
                            "[trial]\nreading = \"sound\"\nteacher = \"hog\"\ndelta = 1e-5\nsource = \"public\"\n"
                            "[table.t]\nrows = [\"method\"]\ncolumns = [\"side_information\"]\n";
  const std::vector<TrialSpec> students = Students(GoodPlan(sweep));
  ASSERT_EQ(students.size(), 1U);
  EXPECT_THAT(students[0].axes,
              ::testing::Contains(::testing::Pair("side_information", "public pictures, domain knowledge")));
}

TEST(SideInformation, SpreadLabelsRestOnPublicPictures) {
  TrialSpec student;
  student.source = QuerySource::public_split;
  student.labels.neighbours = 10;
  EXPECT_EQ(DescribeSideInformation(student, nullptr), "public pictures, domain knowledge");
  student.distill.balance = true;
  EXPECT_EQ(DescribeSideInformation(student, nullptr), "public pictures, class shares, domain knowledge");
  student.source = QuerySource::generator;
  EXPECT_EQ(DescribeSideInformation(student, nullptr), "none");
}

TEST(SideInformation, PublicExamplesThatATeacherIsTrainedOnAreTold) {
  for (const char* on : {"all", "public"}) {
    TrialSpec teacher, student;
    teacher.trained_on = on == std::string("all") ? TrainedOn::all : TrainedOn::public_split;
    EXPECT_EQ(DescribeSideInformation(student, &teacher), "public examples") << on;
  }
}

}  // namespace
}  // namespace retort
