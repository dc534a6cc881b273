// Progress on stderr: a block of lines that is redrawn in place on a terminal (live_block.h), else a timestamped
// line when something changed, at most one a minute. What ended or failed is said at once in either, above the
// block; with a trial that failed for good, the last lines that its workers wrote.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/attempt_logs.h"
#include "orchestrator/core.h"
#include "orchestrator/events.h"
#include "orchestrator/live_facts.h"
#include "orchestrator/screen_block.h"
#include "orchestrator/terminal.h"
#include "storage/env.h"

namespace retort::orchestrator {

inline constexpr double kLiveRefreshSeconds = 0.25;
inline constexpr double kPlainLineSeconds = 60;
// Whoever was not refreshed for so long may have been stopped, and the screen used by others.
inline constexpr double kAwaySeconds = 5;

struct ProgressOptions {
  bool quiet = false;  // warnings and the last word only
  bool live = false;   // a terminal that can be redrawn
  bool color = false;
  // Of the terminal, now; nothing while it is somebody else's. Empty: as a Screen is by itself.
  std::function<std::optional<Screen>()> screen = {};
  storage::Env* env = nullptr;  // to ask for free space; null: nobody asks
};

class ProgressView {
 public:
  using Sink = std::function<void(std::string_view)>;  // takes bytes as they are
  ProgressView(ProgressOptions options, Sink sink);

  // After events were journaled, and before messages that rely on them are sent.
  void Events(const Core& core, const std::vector<JournalEvent>& events, Now now);
  void Refresh(const Core& core, Now now);
  // A line by itself; shown though quiet when `warning`.
  void Say(const std::string& text, Now now, bool warning = false);
  // Takes the block away.
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
  std::string shown_;  // last progress line
  double next_ = 0, next_plain_ = 0, refreshed_ = 0;  // monotonic
};

}  // namespace retort::orchestrator
