// orchestrator/FAULTS.md says what the code does: its rules are the rules, its tests are tests.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "experiments/base/failure_kind.h"

namespace retort::orchestrator {
namespace {

std::string ReadText(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string Table() { return ReadText(std::string(RETORT_SOURCE_DIR) + "/orchestrator/FAULTS.md"); }

TEST(FaultTable, HasEveryKindWithItsRule) {
  const std::string table = Table();
  int kinds = 0;
  for (int number = 1; number < 256; ++number) {
    const auto kind = static_cast<FailureKind>(number);
    if (GetFailureName(kind) == "unknown") continue;
    ++kinds;
    const RetryRule rule = FindRetryRule(kind);
    const std::string row = fmt::format("| `{}` | {} | {} | {} |", GetFailureName(kind), rule.max_attempts,
                                        rule.backoff_seconds, IsAmbiguousFailure(kind) ? "yes" : "no");
    EXPECT_NE(table.find(row), std::string::npos) << "there is no row " << row;
  }
  EXPECT_GE(kinds, 16);
}

TEST(FaultTable, NamesTestsThatExist) {
  std::string sources;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(RETORT_SOURCE_DIR) + "/tests")) {
    const std::string extension = entry.path().extension();
    if (extension == ".cc" || extension == ".py") sources += ReadText(entry.path());
  }
  const std::string table = Table();
  const std::regex named("`(test_[a-z0-9_]+|[A-Z][A-Za-z]+\\.[A-Z][A-Za-z0-9]+)`");
  std::set<std::string> tests;
  for (std::sregex_iterator match(table.begin(), table.end(), named), end; match != end; ++match)
    tests.insert((*match)[1]);
  EXPECT_GE(tests.size(), 35U);
  for (const std::string& test : tests) {
    const std::size_t dot = test.find('.');
    const std::string written =
        dot == std::string::npos ? "def " + test + "(" : "(" + test.substr(0, dot) + ", " + test.substr(dot + 1) + ")";
    EXPECT_NE(sources.find(written), std::string::npos) << "there is no test " << test;
  }
}

}  // namespace
}  // namespace retort::orchestrator
