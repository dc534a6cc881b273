#include "orchestrator/results/tables/published.h"
#include "tests/unit/orchestrator/results/sample_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace retort::orchestrator::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::Pair;

TEST(Published, TheProgramCarriesEveryValueOfTheFourPapers) {
  std::map<std::string, int> counts;
  for (const PublishedValue& value : ReadAllPublished()) ++counts[value.paper];
  EXPECT_THAT(counts,
              ElementsAre(Pair("dp-dfd", 83), Pair("dpdfd-ijcai23", 169), Pair("dpsd", 188), Pair("rona-aaai19", 44)));
  EXPECT_EQ(ReadAllPublished().size(), 484U);
}

TEST(Published, TablesAreFoundByPaperAndName) {
  EXPECT_THAT(ListPublishedTables(), Contains("dpdfd-ijcai23/table1"));
  EXPECT_THAT(ListPublishedTables(), Contains("rona-aaai19/text-privacy"));
  EXPECT_EQ(FindPublishedTable("dpdfd-ijcai23/table3").size(), 36U);
  EXPECT_TRUE(FindPublishedTable("dpdfd-ijcai23/table99").empty());
  EXPECT_TRUE(FindPublishedTable("").empty());
}

TEST(Published, CountsInThousandsAndMillionsAreNumbers) {
  std::vector<std::pair<std::string, double>> counts;
  for (const PublishedValue& value : FindPublishedTable("rona-aaai19/table2"))
    if (value.metric == "parameters" && value.dataset == "MNIST") counts.emplace_back(value.printed, value.value);
  EXPECT_THAT(counts, ElementsAre(Pair("155.21K", 155210.0), Pair("4.97K", 4970.0), Pair("9.88K", 9880.0)));
  EXPECT_DOUBLE_EQ(ParsePublished(testing::kPublishedHeader + "p,t,D,A,,,,parameters,1.41M,\n").at(0).value, 1410000);
}

TEST(Published, NotesAreKeptAndSayWhereTheyAreFrom) {
  const std::vector<PublishedValue> table = FindPublishedTable("dpsd/table4");
  ASSERT_EQ(table.size(), 19U);
  for (const PublishedValue& value : table) EXPECT_THAT(value.note, HasSubstr("headings are wrong"));
  EXPECT_THAT(FormatPublishedNote(table[0]), ::testing::StartsWith("dpsd/table4: source's column headings"));
  const auto noted = std::count_if(ReadAllPublished().begin(), ReadAllPublished().end(),
                                   [](const PublishedValue& value) { return !value.note.empty(); });
  EXPECT_EQ(noted, 72);
  EXPECT_EQ(FormatPublishedNote(FindPublishedTable("dpsd/table2").at(0)), "");
}

TEST(Published, WrongHeadingsAreThoseOfTheTableThatIsRepeated) {
  const std::vector<PublishedValue> repeated = FindPublishedTable("dp-dfd/table2");
  for (const PublishedValue& value : FindPublishedTable("dpsd/table4")) {
    const std::string approach = value.approach == "DPSD" ? "DP-DFD" : value.approach;
    const auto same = std::find_if(repeated.begin(), repeated.end(), [&](const PublishedValue& other) {
      return other.approach == approach && other.dataset == value.dataset && other.epsilon == value.epsilon;
    });
    ASSERT_NE(same, repeated.end()) << FormatPublishedName(value);
    EXPECT_DOUBLE_EQ(same->value, value.value) << FormatPublishedName(value);
  }
}

TEST(Published, QuotedFieldsMayHoldCommas) {
  const auto values = ParsePublished(
      "paper,table,dataset,approach,epsilon,delta,setting,metric,value,note\r\n"
      "p,t,D,RONA,7.68,1e-5,\"fraction 0.4 (MNIST, SVHN), \"\"x\"\"\",accuracy,0.9864,\"a, b\"\r\n");
  ASSERT_EQ(values.size(), 1U);
  EXPECT_EQ(values[0].setting, "fraction 0.4 (MNIST, SVHN), \"x\"");
  EXPECT_THAT(values[0].epsilon, Optional(7.68));
  EXPECT_THAT(values[0].delta, Optional(1e-5));
  EXPECT_DOUBLE_EQ(values[0].value, 0.9864);
  EXPECT_EQ(values[0].note, "a, b");
}

TEST(Published, ADeltaThatNoTextStatesIsNone) {
  const auto values =
      ParsePublished(testing::kPublishedHeader + "p,t,D,A,1,,,accuracy,0.5,\np,t,D,A,1,0,,accuracy,0.5,\n");
  ASSERT_EQ(values.size(), 2U);
  EXPECT_FALSE(values[0].delta);
  EXPECT_THAT(values[1].delta, Optional(0.0));
  std::map<std::string, int> unstated;
  for (const PublishedValue& value : ReadAllPublished())
    if (value.epsilon && !value.delta) ++unstated[value.paper + "/" + value.table];
  EXPECT_THAT(unstated, ElementsAre(Pair("dpdfd-ijcai23/table2", 12), Pair("dpdfd-ijcai23/table4", 24),
                                    Pair("dpdfd-ijcai23/table6", 8), Pair("rona-aaai19/table1", 6)));
}

// LabelDP: its neighbours differ in a label, and no delta is part of it.
TEST(Published, LabelApproachesClaimALabelAtDeltaZero) {
  std::map<std::string, int> of_labels;
  for (const PublishedValue& value : ReadAllPublished()) {
    if (!value.epsilon || FindAdjacency(value) != privacy::Adjacency::label) continue;
    ++of_labels[value.paper + " " + value.approach];
    if (value.approach == "direct CNN") continue;
    EXPECT_THAT(value.delta, Optional(0.0)) << FormatPublishedName(value);
  }
  EXPECT_THAT(of_labels, ElementsAre(Pair("dp-dfd ALIBI", 3), Pair("dp-dfd ClusterRR", 3), Pair("dp-dfd DP-DFD", 18),
                                     Pair("dp-dfd LP-2ST", 6), Pair("dp-dfd Protocol", 1), Pair("dpsd ALIBI", 3),
                                     Pair("dpsd ClusterRR", 3), Pair("dpsd DPSD", 14), Pair("dpsd LP-2ST", 6),
                                     Pair("dpsd Protocol", 1), Pair("dpsd direct CNN", 1)));
}

TEST(Published, NoNoteSaysThatATextLostItsEpsilon) {
  for (const PublishedValue& value : ReadAllPublished())
    EXPECT_THAT(value.note, ::testing::Not(HasSubstr("lost"))) << FormatPublishedName(value);
}

TEST(Published, AValueThatAnotherTableHasElsewhereSaysSo) {
  for (const PublishedValue& value : FindPublishedTable("dpdfd-ijcai23/table2")) {
    if (value.approach != "DGD" || value.dataset != "MNIST") continue;
    EXPECT_THAT(value.note, HasSubstr("FMNIST"));
  }
}

TEST(Published, CountsAgreeToThePrintedDigits) {
  const auto values = ParsePublished(testing::kPublishedHeader +
                                     "p,t,D,A,,,,parameters,155.21K,\np,t,D,A,,,,parameters,0.04M,\n"
                                     "p,t,D,A,,,,parameters,9880,\n");
  ASSERT_EQ(values.size(), 3U);
  EXPECT_TRUE(RoundsToPrinted(values[0], 155'214));
  EXPECT_FALSE(RoundsToPrinted(values[0], 152'138));
  EXPECT_TRUE(RoundsToPrinted(values[1], 38'514)) << "rounded";
  EXPECT_TRUE(RoundsToPrinted(values[1], 49'000)) << "cut off";
  EXPECT_FALSE(RoundsToPrinted(values[1], 51'000));
  EXPECT_TRUE(RoundsToPrinted(values[2], 9880));
  EXPECT_FALSE(RoundsToPrinted(values[2], 9881));
}

TEST(Published, LinesWithoutAValueAreLeftOut) {
  EXPECT_TRUE(ParsePublished(testing::kPublishedHeader + "p,t,D,A,1,1e-5,,accuracy,high,\n").empty());
  EXPECT_TRUE(ParsePublished(testing::kPublishedHeader + "p,t,D,A,1,1e-5,,accuracy,0.5\n").empty());
  EXPECT_TRUE(ParsePublished(testing::kPublishedHeader + "\n").empty());
}

TEST(Published, NameTellsWhatTheValueIs) {
  EXPECT_EQ(FormatPublishedName(FindPublishedTable("dpsd/table4").at(0)),
            "LP-2ST, label-sensitive, MNIST, ε = 1 in dpsd/table4");
}

}  // namespace
}  // namespace retort::orchestrator::cli
