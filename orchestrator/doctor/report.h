// Holds the findings of checks, runs checks that may hang, and formats what they found.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace retort::orchestrator::doctor {

enum class Level : unsigned char {
  ok,       // as it should be
  note,     // worth knowing; nothing to do
  warning,  // `retort run` works, but not as well, or not in every place
  problem,  // would stop `retort run`
};

struct Finding {
  std::string name;  // what was looked at: "worker", "results folder"
  Level level = Level::ok;
  std::string what;         // one line
  std::string remedy = {};  // what mends it, where anything needs to be
};

using Findings = std::vector<Finding>;

// Findings as people read them.

// "ok", "note", "warning", "problem".
[[nodiscard]] std::string_view GetLevelName(Level level);
[[nodiscard]] int CountFindings(const Findings& findings, Level level);
// Problems, warnings, notes, then what is well; findings of one level keep their order.
[[nodiscard]] Findings SortWorstFirst(Findings findings);

// A line a finding, its remedy indented below it, and a last line that counts. `paint` colours the level's
// name; of control characters in a finding only the spaces are left.
[[nodiscard]] std::string ReportText(const Findings& findings,
                                     const std::function<std::string(Level, std::string_view)>& paint);

// Checks that may hang: a file system whose server is gone, a driver, a launcher that asks a dead daemon.

struct Check {
  std::string name;
  Level late = Level::problem;  // of the finding that takes the place of those that did not come in time
  std::string late_remedy;
  std::function<Findings()> look;  // holds by value whatever it needs: it may outlive the call that began it
};

// Runs all at once, each in a thread of its own, for at most `limit` in all. A check that is not done then is
// left behind. In the order of `checks`.
[[nodiscard]] Findings RunChecks(const std::vector<Check>& checks, std::chrono::milliseconds limit);

}  // namespace retort::orchestrator::doctor
