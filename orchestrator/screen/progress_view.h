// Progress on stderr: a block of lines that is redrawn in place on a terminal (RenderLiveBlock), else a timestamped
// line when something changed, at most one a minute. What ended or failed is said at once in either, above the
// block; with a trial that failed for good, the last lines that its workers wrote.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/agent/worker_log_tail.h"
#include "orchestrator/core/core.h"
#include "orchestrator/core/events.h"
#include "orchestrator/process/terminal.h"
#include "orchestrator/screen/live_facts.h"
#include "orchestrator/screen/live_layout.h"
#include "orchestrator/screen/screen_block.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

inline constexpr double kLiveRefreshSeconds = 0.25;
inline constexpr double kPlainLineSeconds = 60;
// After a gap of so many seconds between two refreshes another program may have written to the screen.
inline constexpr double kAwaySeconds = 5;

struct ProgressOptions {
  bool quiet = false;  // warnings and the summary only
  bool live = false;   // a terminal that can be redrawn
  bool color = false;
  // Returns the terminal's size now; nothing while another job has the terminal. Empty: the defaults of Screen.
  std::function<std::optional<Screen>()> screen = {};
  storage::Env* env = nullptr;  // for the free space; null: not shown
};

class ProgressView {
 public:
  using Sink = std::function<void(std::string_view)>;  // takes bytes as they are
  ProgressView(ProgressOptions options, Sink sink);

  // After events were journaled, and before messages that rely on them are sent.
  void Events(const Core& core, const std::vector<JournalEvent>& events, Now now);
  void Refresh(const Core& core, Now now);
  // Writes a line of its own; a warning even if `quiet`.
  void PrintLine(const std::string& text, Now now, bool warning = false);
  // Removes the block.
  void Finish();
  // Monotonic time at which Refresh has something to do; infinity when never.
  [[nodiscard]] double NextRefresh() const;

 private:
  void Write(const std::string& text, Now now, const char* color);
  void WriteFailure(const Core& core, AttemptEnded ended, Now now);
  void Put(const std::string& lines);  // above the block
  void PlainLine(const Core& core, Now now);
  [[nodiscard]] std::optional<Screen> ScreenNow() const;
  ProgressOptions options_;
  Sink sink_;
  LiveWatch watch_;
  AttemptLogs logs_;
  ScreenBlock block_;
  std::string shown_;                                 // last progress line
  double next_ = 0, next_plain_ = 0, refreshed_ = 0;  // monotonic
};

// The block of lines that a terminal shows while a sweep runs. Pure.

// Returns the content of the block: failures with their causes, retries, drained slots, lost agents, budgets and disk
// that run short; what runs, by rank and slot; what ends next. Its cost does not grow with the number of trials.
[[nodiscard]] BlockContent MakeBlockContent(const Core& core, const LiveFacts& facts, Now now);
// Lays the content out as lines (live_layout.h).
[[nodiscard]] std::vector<BlockLine> RenderLiveBlock(const Core& core, const LiveFacts& facts, Now now,
                                                     const Screen& screen);

}  // namespace retort::orchestrator
