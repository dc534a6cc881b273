// A running sweep in a few lines: problems first, then what runs, totals, and what happens next. Pure; what a
// run shows of itself and what `retort status --watch` shows of a folder are laid out alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/screen_block.h"
#include "orchestrator/spending.h"
#include "orchestrator/sweep_estimate.h"
#include "orchestrator/terminal.h"

namespace retort::orchestrator {

inline constexpr std::size_t kMostBlockLines = 12;

// A sentence about something with a name, which is shortened before the rest is.
struct NamedText {
  std::string before, name, after;
  bool operator==(const NamedText&) const = default;
};

struct RunningTrial {
  std::string name;
  std::string phase;
  std::int64_t step = 0, total_steps = 0;  // 0 steps in all: not known yet
  double steps_per_second = 0;             // 0 = not known yet
};

struct Tally {
  std::size_t trials = 0, done = 0;  // done: ended for good, however
  std::size_t failed = 0, not_run = 0, cancelled = 0;  // of those: not_run for a teacher that failed
  std::size_t running = 0, queued = 0, waiting = 0;
};

struct BlockContent {
  std::vector<NamedText> problems;  // worst first
  std::vector<RunningTrial> running;
  Tally tally;
  bool stopping = false;               // no time is told then
  std::optional<Interval> left;        // seconds
  double trials_per_hour = 0;          // 0 = not known yet
  std::vector<DataSpending> spent;  // of those of which there is anything to say
  std::optional<NamedText> next;
};

// At most kMostBlockLines, and fewer than the screen is high; each narrower than the screen. What there is no
// room for is counted.
[[nodiscard]] std::vector<BlockLine> LayOut(const BlockContent& content, const Screen& screen);

// "95 s", "12 min", "3.4 h", "2.1 d": for durations that nobody knows to the second.
[[nodiscard]] std::string RoughText(double seconds);
// "digits: example ε ≤ 2.311 of 3, δ 1e-5", with what other sweeps of the results root spent. Rounded up.
[[nodiscard]] NamedText CostText(const DataSpending& spent);
// "next, in ~37 s: dpdfd-working-digits-s1 ends".
[[nodiscard]] NamedText NextText(double seconds, std::string name, const std::string& what);

}  // namespace retort::orchestrator
