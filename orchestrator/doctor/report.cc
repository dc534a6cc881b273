#include "orchestrator/doctor/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "experiments/base/printable.h"

namespace retort::orchestrator::doctor {
namespace {

constexpr std::size_t kLevelWidth = 7;  // "warning"

// What a program, a file or a variable said may hold anything.
std::string OnOneLine(const std::string& text) {
  std::string line = MakeOneLine(text);
  const auto both_blank = [](char a, char b) { return a == ' ' && b == ' '; };
  line.erase(std::unique(line.begin(), line.end(), both_blank), line.end());
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

std::string Counted(int count, const char* word) { return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s"); }

std::string LastLine(const Findings& findings) {
  const int problems = CountFindings(findings, Level::problem), warnings = CountFindings(findings, Level::warning);
  if (problems == 0 && warnings == 0) return "all well";
  if (problems == 0) return Counted(warnings, "warning");
  return Counted(problems, "problem") + ", " + Counted(warnings, "warning");
}

}  // namespace

std::string_view GetLevelName(Level level) {
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

int CountFindings(const Findings& findings, Level level) {
  return static_cast<int>(
      std::ranges::count_if(findings, [level](const Finding& finding) { return finding.level == level; }));
}

Findings SortWorstFirst(Findings findings) {
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.level > b.level; });
  return findings;
}

std::string ReportText(const Findings& findings, const std::function<std::string(Level, std::string_view)>& paint) {
  std::string text;
  for (const Finding& finding : findings) {
    const std::string_view level = GetLevelName(finding.level);
    text += paint(finding.level, level) + std::string(kLevelWidth - level.size() + 2, ' ');
    text += fmt::format("{}: {}\n", OnOneLine(finding.name), OnOneLine(finding.what));
    if (!finding.remedy.empty()) text += std::string(kLevelWidth + 2, ' ') + "-> " + OnOneLine(finding.remedy) + "\n";
  }
  return text + LastLine(findings) + "\n";
}

namespace {

// Shared by the thread that looks and the one that waits for it.
struct Place {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  Findings findings;
};

std::shared_ptr<Place> Begin(const Check& check) {
  auto place = std::make_shared<Place>();
  const auto look = [place, run = check.look] {
    Findings found = run();
    const std::lock_guard lock(place->mutex);
    place->findings = std::move(found);
    place->done = true;
    place->changed.notify_all();
  };
  try {
    std::thread(look).detach();
  } catch (const std::system_error&) {
    look();  // no room for a thread
  }
  return place;
}

}  // namespace

Findings RunChecks(const std::vector<Check>& checks, std::chrono::milliseconds limit) {
  const auto until = std::chrono::steady_clock::now() + limit;
  std::vector<std::shared_ptr<Place>> places;
  for (const Check& check : checks) places.push_back(Begin(check));
  Findings all;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    std::unique_lock lock(places[i]->mutex);
    if (places[i]->changed.wait_until(lock, until, [&] { return places[i]->done; })) {
      all.insert(all.end(), places[i]->findings.begin(), places[i]->findings.end());
    } else {
      const double seconds = std::chrono::duration<double>(limit).count();
      all.push_back({checks[i].name, checks[i].late, fmt::format("gave no answer within {:g} s", seconds),
                     checks[i].late_remedy});
    }
  }
  return all;
}

}  // namespace retort::orchestrator::doctor
