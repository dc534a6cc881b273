// The headers of the papers' sweeps say what their trials do otherwise than the texts, and what the texts leave open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "experiments/methods/settings_lines.h"
#include "tests/unit/experiments/methods/paper_sweeps.h"

namespace retort {
namespace {

constexpr std::string_view kFirst = "# Settings beside the texts', from the presets and this file; a test compares.\n";
constexpr std::string_view kLast = "# End of the settings.\n";
constexpr std::size_t kWidth = 110;

// As a comment, with its further lines set in.
std::string Wrapped(const std::string& sentence) {
  std::string text, line = "#";
  std::istringstream words(sentence);
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > kWidth) {
      text += line + "\n";
      line = "#  ";
    }
    line += " " + word;
  }
  return text + line + "\n";
}

std::string ExpectedBlock(const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string block(kFirst);
  for (const std::string& line : lines) block += Wrapped(line);
  return block + std::string(kLast);
}

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The file without its block, if it has one.
std::string Without(std::string text) {
  const std::size_t first = text.find(kFirst), last = text.find(kLast);
  if (first == std::string::npos || last == std::string::npos) return text;
  return text.erase(first, last + kLast.size() - first);
}

// With the block before the file's first key.
std::string With(std::string text, const std::string& block) {
  text = Without(std::move(text));
  const std::size_t place = text.find("retort = 1");
  return place == std::string::npos ? block + text : text.insert(place, block);
}

TEST(ShippedHeaders, SayWhatDiffersFromTheTexts) {
  for (const std::string& name : ListPaperSweeps()) {
    const SweepPlan plan = LoadPaperSweep(name);
    const std::string path = ConfigsFolder() + "/" + name, text = Read(path);
    const std::string expected = With(text, ExpectedBlock(DescribeSettings(AllTrials(plan))));
    if (text == expected) continue;
    const std::filesystem::path fresh = std::filesystem::path(RETORT_BINARY_DIR) / "headers" / name;
    std::filesystem::create_directories(fresh.parent_path());
    std::ofstream(fresh) << expected;
    ADD_FAILURE() << path << " is not what its settings are; copy " << fresh << " over it";
  }
}

// A number of a preset that a person typed into a header is soon another one.
TEST(ShippedHeaders, TypeNoValueOfAPreset) {
  const std::regex typed("presets?'?s? ?\\(");
  for (const std::string& name : ListPaperSweeps()) {
    const std::string text = Read(ConfigsFolder() + "/" + name);
    EXPECT_FALSE(std::regex_search(text, typed)) << name;
  }
}

TEST(ShippedHeaders, BlockOfAChangedSettingIsSeen) {
  SweepPlan plan = LoadPaperSweep("dpdfd-ijcai23/table1.toml");
  const std::string before = ExpectedBlock(DescribeSettings(AllTrials(plan)));
  for (TrialSpec& trial : plan.trials) trial.distill.dkd_beta = 3;
  const std::string after = ExpectedBlock(DescribeSettings(AllTrials(plan)));
  EXPECT_NE(before, after);
  EXPECT_THAT(after, ::testing::HasSubstr("dkd_beta 3 (8)"));
}

}  // namespace
}  // namespace retort
