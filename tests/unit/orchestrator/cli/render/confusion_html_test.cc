#include "orchestrator/cli/render/trial_drawings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace retort::orchestrator::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

storage::Evaluation ThreeClasses() {
  storage::Evaluation evaluation;
  evaluation.classes = 3;
  evaluation.confusion = {90, 10, 0, 1, 98, 1, 0, 0, 100};
  evaluation.accuracy = 0.96;
  evaluation.n = 300;
  return evaluation;
}

storage::Evaluation ManyClasses() {
  storage::Evaluation evaluation;
  evaluation.classes = 100;
  evaluation.confusion.resize(10'000);
  for (std::size_t i = 0; i < 100; ++i) evaluation.confusion[i * 101] = 5;
  evaluation.accuracy = 1;
  evaluation.n = 500;
  return evaluation;
}

std::string WrittenMatrix(const storage::Evaluation& evaluation, std::size_t most = 1'000'000) {
  Html html;
  std::size_t bytes = 0;
  WriteConfusion(html, "t", evaluation, bytes, most);
  return html.Take();
}

TEST(Confusion, NamesTheCommonestMistakes) {
  EXPECT_EQ(DescribeConfusion(ThreeClasses()),
            "accuracy 96.00 % of 300; most often 0 was taken for 1 (10 times), 1 was taken for 0 (1 time), 1 "
            "was taken "
            "for 2 (1 time)");
}

TEST(Confusion, CellsAreTintedByTheirPartOfTheTrueClass) {
  const std::string html = WrittenMatrix(ThreeClasses());
  EXPECT_THAT(html,
              HasSubstr("<tr><th scope=\"row\">0</th><td class=\"true heat-4\">90</td><td class=\"heat-2\">10</td>"
                        "<td>0</td></tr>"));
}

TEST(Confusion, ManyClassesAreAPictureWithWords) {
  const std::string html = WrittenMatrix(ManyClasses());
  EXPECT_THAT(html, HasSubstr("src=\"data:image/png;base64,iVBOR"));
  EXPECT_THAT(html, HasSubstr("alt=\"Confusion matrix of t: accuracy 100.00 % of 500\""));
  EXPECT_THAT(html, Not(HasSubstr("<table")));
}

TEST(Confusion, APictureThatDoesNotFitIsLeftToItsWords) {
  const std::string html = WrittenMatrix(ManyClasses(), 10);
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("accuracy 100.00 % of 500"));
}

TEST(Confusion, WhatIsNotSquareIsSaidToBe) {
  storage::Evaluation evaluation = ThreeClasses();
  evaluation.confusion.pop_back();
  EXPECT_THAT(WrittenMatrix(evaluation), HasSubstr("not square"));
  evaluation.classes = -1;
  EXPECT_THAT(WrittenMatrix(evaluation), HasSubstr("not square"));
}

}  // namespace
}  // namespace retort::orchestrator::cli
