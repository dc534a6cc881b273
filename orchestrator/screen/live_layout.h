// Lays out a running sweep in a few lines: problems first, then what runs, totals, and what happens next. A run and
// `retort status --watch` both use it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/process/terminal.h"
#include "orchestrator/results/spending.h"
#include "orchestrator/results/sweep_estimate.h"
#include "orchestrator/screen/screen_block.h"

namespace retort::orchestrator {

inline constexpr std::size_t kMaxBlockLines = 12;

// A sentence with a name in it; where it is too long, the name is shortened first.
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
  std::size_t trials = 0, done = 0;                    // done: ended for good, however
  std::size_t failed = 0, not_run = 0, cancelled = 0;  // of those: not_run for a teacher that failed
  std::size_t running = 0, queued = 0, waiting = 0;
};

struct BlockContent {
  std::vector<NamedText> problems;  // worst first
  std::vector<RunningTrial> running;
  Tally tally;
  bool stopping = false;            // no time is shown then
  std::optional<Interval> left;     // seconds
  double trials_per_hour = 0;       // 0 = not known yet
  std::vector<DataSpending> spent;  // of data sets with a charge or a budget
  std::optional<NamedText> next;
};

// At most kMaxBlockLines, and fewer than the screen is high; each narrower than the screen. What there is no
// room for is counted.
[[nodiscard]] std::vector<BlockLine> LayOutBlock(const BlockContent& content, const Screen& screen);

// "digits: example ε ≤ 2.311 of 3, δ 1e-5", with what other sweeps of the results root spent. Rounded up.
[[nodiscard]] NamedText FormatSpending(const DataSpending& spent);
// "next, in ~37 s: dpdfd-working-digits-s1 ends".
[[nodiscard]] NamedText FormatNextEvent(double seconds, std::string name, const std::string& what);

}  // namespace retort::orchestrator
