#include "orchestrator/doctor/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "experiments/spec/printable.h"

namespace retort::orchestrator::doctor {
namespace {

constexpr std::size_t kLevelWidth = 7;  // "warning"

// What a program, a file or a variable said may hold anything.
std::string OnOneLine(const std::string& text) {
  std::string line = OneLine(text);
  const auto both_blank = [](char a, char b) { return a == ' ' && b == ' '; };
  line.erase(std::unique(line.begin(), line.end(), both_blank), line.end());
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

std::string Counted(int count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string LastLine(const Findings& findings) {
  const int problems = CountOf(findings, Level::problem), warnings = CountOf(findings, Level::warning);
  if (problems == 0 && warnings == 0) return "all well";
  if (problems == 0) return Counted(warnings, "warning");
  return Counted(problems, "problem") + ", " + Counted(warnings, "warning");
}

}  // namespace

std::string_view LevelName(Level level) {
  switch (level) {
    case Level::ok:
      return "ok";
    case Level::note:
      return "note";
    case Level::warning:
      return "warning";
    case Level::problem:
      return "problem";
  }
  return "";
}

int CountOf(const Findings& findings, Level level) {
  return static_cast<int>(
      std::ranges::count_if(findings, [level](const Finding& finding) { return finding.level == level; }));
}

Findings WorstFirst(Findings findings) {
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.level > b.level; });
  return findings;
}

std::string ReportText(const Findings& findings,
                       const std::function<std::string(Level, std::string_view)>& paint) {
  std::string text;
  for (const Finding& finding : findings) {
    const std::string_view level = LevelName(finding.level);
    text += paint(finding.level, level) + std::string(kLevelWidth - level.size() + 2, ' ');
    text += fmt::format("{}: {}\n", OnOneLine(finding.name), OnOneLine(finding.what));
    if (!finding.remedy.empty())
      text += std::string(kLevelWidth + 2, ' ') + "-> " + OnOneLine(finding.remedy) + "\n";
  }
  return text + LastLine(findings) + "\n";
}

}  // namespace retort::orchestrator::doctor
