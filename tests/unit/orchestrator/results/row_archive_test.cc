// What programs of other versions read in an archive of rows.
#include "orchestrator/results/row_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/base/digests.h"
#include "tests/testing/finished_sweep.h"

namespace retort::orchestrator {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RowArchive MakeEvaluated(double fid) {
  RowArchive archive;
  archive.program = "0.1.0";
  const TrialSpec spec = retort::testing::SweptTrial(0, retort::testing::SmallData());
  archive.events = {{1, SweepOpened{kResultsFormatVersion, "swept", "retort = 1\n", "{}"}},
                    {1, MakeTrialPlanned(spec)}};
  archive.synthetic = {{spec.id.Hex(), {60000, 1, "student", "lenet5", 0.5, fid}}};
  return archive;
}

double ReadFid(const std::string& text) {
  const Result<RowArchive> archive = DecodeArchive(text, "a.rows");
  EXPECT_TRUE(archive.ok()) << archive.status().message();
  return archive.ok() && archive->synthetic.size() == 1 ? archive->synthetic[0].second.frechet_distance : -1;
}

// `text` with its line about images changed, under a seal of its own.
template <typename Change>
std::string ChangeSynthetic(const std::string& text, const Change& change) {
  std::string body;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    nlohmann::json line = nlohmann::json::parse(text.substr(at, end - at));
    at = end + 1;
    if (line.contains("seal")) continue;
    const bool head = line.contains("row_archive");
    if (line.contains("synthetic")) change(line.at("synthetic"));
    body += head ? text.substr(0, end + 1) : line.dump() + "\n";
  }
  return body + "{\"seal\":\"" + ComputeSha256Hex(body) + "\"}\n";
}

TEST(RowArchive, FidIsKeptUnderTheNameOfItsFeatures) {
  EXPECT_EQ(ReadFid(EncodeArchive(MakeEvaluated(6.5))), 6.5);
  EXPECT_TRUE(std::isnan(ReadFid(EncodeArchive(MakeEvaluated(std::nan(""))))));
}

// They read the number "fid" as one in the features of the classifier.
TEST(RowArchive, OlderProgramsFindNoFid) {
  const std::string text = EncodeArchive(MakeEvaluated(6.5));
  EXPECT_THAT(text, HasSubstr("\"fid\":\"nan\""));
  EXPECT_THAT(text, Not(HasSubstr("\"fid\":6")));
  EXPECT_THAT(text, HasSubstr("\"row_archive\":1"));
}

TEST(RowArchive, FidOfOlderProgramsIsNotRead) {
  const std::string text = EncodeArchive(MakeEvaluated(6.5));
  const auto unchanged = [](nlohmann::json&) {};
  ASSERT_EQ(ReadFid(ChangeSynthetic(text, unchanged)), 6.5);
  for (const bool named : {false, true}) {
    const std::string older = ChangeSynthetic(text, [&](nlohmann::json& synthetic) {
      synthetic.erase("fid_oriented_gradients");
      synthetic["fid"] = 6.5;
      if (named) synthetic["fid_features"] = "oriented-gradients";
    });
    EXPECT_TRUE(std::isnan(ReadFid(older))) << older;
  }
}

}  // namespace
}  // namespace retort::orchestrator
