// The table of what the texts state says what it says of keys, methods and networks that there are.
#include "tests/unit/experiments/methods/stated_settings_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <tuple>

#include "experiments/methods/methods.h"
#include "experiments/methods/spec_keys.h"

namespace retort {
namespace {

constexpr std::array<std::string_view, 3> kDataKeys = {"data.crop", "data.split.public", "data.sensitive_classes"};

bool IsKey(std::string_view name) {
  constexpr std::string_view kOfTeachers = "teacher.";
  if (name.starts_with(kOfTeachers)) return FindKey(name.substr(kOfTeachers.size()), kInTeacher) != nullptr;
  if (name.starts_with("data.")) return std::find(kDataKeys.begin(), kDataKeys.end(), name) != kDataKeys.end();
  return FindKey(name, kInTrial) != nullptr;
}

TEST(StatedSettingsTable, NamesKeysAndMethodsThatThereAre) {
  for (const StatedSetting& row : kStatedSettings) {
    EXPECT_NE(FindMethod(row.method), nullptr) << row.method;
    EXPECT_TRUE(row.key.empty() || IsKey(row.key)) << row.method << " " << row.key;
    EXPECT_FALSE(row.value.empty()) << row.method << " " << row.key;
    EXPECT_FALSE(row.place.empty()) << row.method << " " << row.key;
    EXPECT_TRUE(row.branch.empty() || row.method == "feddpsd") << row.method;
    EXPECT_LT(row.epsilon_above, row.epsilon_up_to) << row.method << " " << row.key;
  }
  for (const DerivedMethod& derived : kDerivedMethods) {
    EXPECT_NE(FindMethod(derived.method), nullptr) << derived.method;
    EXPECT_NE(FindMethod(derived.base), nullptr) << derived.base;
  }
}

TEST(StatedSettingsTable, SaysOneValueOfAKeyInOnePlace) {
  std::set<std::tuple<std::string_view, std::string_view, std::string_view, std::string_view, std::string_view, double>>
      said;
  for (const StatedSetting& row : kStatedSettings) {
    if (row.key.empty()) continue;
    EXPECT_TRUE(said.emplace(row.experiment, row.method, row.branch, row.data, row.key, row.epsilon_above).second)
        << row.method << " " << row.data << " " << row.key << " in " << row.experiment;
  }
}

TEST(StatedSettingsTable, ChoicesAreThoseOfTheirKeys) {
  for (const StatedSetting& row : kStatedSettings) {
    const SpecKey* key = FindKey(row.key, kInTrial);
    if (key == nullptr || key->type != KeyType::choice || row.value.find('|') != std::string_view::npos) continue;
    EXPECT_NE(std::find(key->choices.begin(), key->choices.end(), row.value), key->choices.end())
        << row.method << " " << row.key << " = " << row.value;
  }
}

}  // namespace
}  // namespace retort
