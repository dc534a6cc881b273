#include "experiments/methods/spec_keys.h"
#include "experiments/base/number_text.h"
#include "experiments/methods/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "experiments/methods/methods.h"
#include "experiments/sweep/key_docs.h"
#include "experiments/sweep/sweep_plan.h"
#include "experiments/sweep/value_reader.h"

namespace retort {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(SpecKeys, NamesAreUniqueWhereverAKeyMayStand) {
  std::set<std::string> canonical, trial, teacher;
  for (const SpecKey& key : ListSpecKeys()) {
    EXPECT_TRUE(canonical.insert(std::string(key.name)).second) << key.name;
    EXPECT_TRUE(trial.insert(std::string(key.TrialName())).second) << key.TrialName();
  }
}

TEST(SpecKeys, EveryKeyIsDocumentedAndUsedByAKindOfTrial) {
  for (const SpecKey& key : ListSpecKeys()) {
    EXPECT_FALSE(key.doc.empty()) << key.name;
    EXPECT_NE(key.AllKinds(), 0U) << key.name;
    EXPECT_NE(key.get, nullptr) << key.name;
  }
}

TEST(SpecKeys, DefaultsAndPresetsLieInTheirRanges) {
  const auto check = [](const SpecKey& key, const KeyValue& value) {
    if (key.indexed) {
      EXPECT_LT(static_cast<std::size_t>(std::get<std::int64_t>(value)), key.choices.size()) << key.name;
    } else if (key.type == KeyType::choice) {
      EXPECT_THAT(key.ChoiceList(), ::testing::Contains(std::get<std::string>(value))) << key.name;
    } else if (const auto* count = std::get_if<std::int64_t>(&value)) {
      const bool word = *count == 0 && !key.zero_word.empty();
      EXPECT_TRUE(word || IsWithin(key.limits, static_cast<double>(*count))) << key.name;
    } else if (const auto* real = std::get_if<double>(&value)) {
      EXPECT_TRUE(IsWithin(key.limits, *real)) << key.name;
    }
  };
  for (const SpecKey& key : ListSpecKeys()) {
    check(key, key.get(TrialSpec{}));
    for (const PresetRow& row : ListPresetRows()) {
      if (row.key != key.name) continue;
      EXPECT_EQ(row.value.index(), key.get(TrialSpec{}).index()) << key.name;
      EXPECT_EQ(row.kinds & ~key.AllKinds(), 0U) << "preset of " << key.name << " for a kind that does not use it";
      check(key, row.value);
    }
  }
}

TEST(SpecKeys, PresetsNameExistingKeys) {
  for (const PresetRow& row : ListPresetRows()) {
    EXPECT_TRUE(std::any_of(ListSpecKeys().begin(), ListSpecKeys().end(), [&](const SpecKey& key) {
      return key.name == row.key;
    })) << row.key;
  }
}

TEST(SpecKeys, SettersWriteTheFieldThatGettersRead) {
  for (const SpecKey& key : ListSpecKeys()) {
    if (key.set == nullptr) continue;
    TrialSpec spec;
    KeyValue other = key.get(spec);
    if (auto* flag = std::get_if<bool>(&other))
      *flag = !*flag;
    else if (auto* text = std::get_if<std::string>(&other))
      *text = key.choices.empty() ? "other" : key.choices.back();
    else if (auto* count = std::get_if<std::int64_t>(&other))
      *count = key.indexed ? *count ^ 1 : *count + 1;
    else if (auto* real = std::get_if<double>(&other))
      *real += 0.25;
    key.set(spec, other);
    EXPECT_EQ(key.get(spec), other) << key.name;
    for (const SpecKey& neighbour : ListSpecKeys()) {
      if (&neighbour == &key) continue;
      EXPECT_EQ(neighbour.get(spec), neighbour.get(TrialSpec{})) << key.name << " " << neighbour.name;
    }
  }
}

TEST(SpecKeys, KeyTextShowsTheNameThatTheFileUses) {
  TrialSpec spec;
  spec.reading = Reading::row_averaged;
  EXPECT_EQ(FormatKey(spec, "reading"), "row-averaged");
  EXPECT_EQ(FormatKey(spec, "student"), "datalens");
  EXPECT_EQ(FormatKey(spec, "norm_bound"), "0.001");
  EXPECT_EQ(FormatKey(spec, "queries"), "") << "does not apply to a student by noisy gradients";
  EXPECT_EQ(FormatKey(spec, "nonsense"), "");
}

TEST(SpecKeys, ZeroThatIsWrittenAsAWordIsNoNumberOfItsRange) {
  for (const SpecKey& key : ListSpecKeys()) {
    if (key.zero_word.empty()) continue;
    EXPECT_EQ(key.type, KeyType::count) << key.name;
    EXPECT_FALSE(IsWithin(key.limits, 0)) << key.name;
    EXPECT_EQ(FormatValue(key, std::int64_t{0}), key.zero_word);
  }
  EXPECT_EQ(FormatValue(*FindKey("batch", kInTrial), std::int64_t{0}), "full");
}

TEST(SpecKeys, KeysMarkdownIsWhatTheTableSays) {
  const std::string expected = FormatKeysMarkdown();
  const std::string path = std::string(RETORT_SOURCE_DIR) + "/experiments/KEYS.md";
  if (ReadText(path) != expected) {
    const std::string fresh = std::string(RETORT_BINARY_DIR) + "/KEYS.md";
    std::ofstream(fresh) << expected;
    FAIL() << path << " is not what the key table says; copy " << fresh << " over it";
  }
}

// The third column of the line that names the method.
TEST(Methods, PageSaysWhichReadingsEachHas) {
  std::istringstream page(ReadText(std::string(RETORT_SOURCE_DIR) + "/experiments/METHODS.md"));
  std::map<std::string, std::string> lines;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    for (const MethodTraits& method : GetMethods()) {
      const std::string name = "`" + std::string(method.name) + "`";
      if (line.find(name) < line.find(" | ")) lines[std::string(method.name)] = line;
    }
  }
  for (const MethodTraits& method : GetMethods()) {
    if (IsSleeper(method.kind)) continue;
    std::string readings;
    for (const std::string& reading : ListReadings(method)) readings += (readings.empty() ? "" : ", ") + reading;
    const std::string& line = lines[std::string(method.name)];
    EXPECT_NE(line.find(" | " + (readings.empty() ? "–" : readings) + " | "), std::string::npos)
        << method.name << ": " << line;
  }
}

TEST(SpecKeys, SchemaHasEveryKeyAndForbidsOthers) {
  const auto schema = nlohmann::json::parse(FormatSweepJsonSchema());
  const auto& trial = schema.at("definitions").at("trial");
  const auto& teacher = schema.at("properties").at("teacher").at("additionalProperties");
  EXPECT_EQ(trial.at("additionalProperties"), false);
  EXPECT_EQ(trial.at("properties").size(), ListKeyNames(kInTrial).size() + 1) << "and `stop`, a table";
  for (const std::string& name : ListKeyNames(kInTrial)) EXPECT_TRUE(trial.at("properties").contains(name)) << name;
  for (const std::string& name : ListKeyNames(kInTeacher)) EXPECT_TRUE(teacher.at("properties").contains(name)) << name;
  EXPECT_EQ(trial.at("properties").at("reading").at("enum").size(), 5U);
  EXPECT_EQ(schema.at("properties").at("retort").at("const"), 1);
  EXPECT_EQ(schema.at("required"), nlohmann::json::parse(R"(["retort"])"));
  EXPECT_TRUE(schema.at("definitions").at("sweep").at("properties").at("grid").at("properties").contains("sigma"));
}

TEST(SpecKeys, DurationsNeedAUnit) {
  EXPECT_EQ(ParseDuration("30s"), 30);
  EXPECT_EQ(ParseDuration("500ms"), 0.5);
  EXPECT_EQ(ParseDuration("1.5m"), 90);
  EXPECT_EQ(ParseDuration("2h"), 7200);
  for (const char* bad : {"", "30", "s", "30 s", "-1s", "1e3s", "30sec", "nans"}) {
    EXPECT_EQ(ParseDuration(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace retort
