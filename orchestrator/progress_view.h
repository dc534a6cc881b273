// Progress on stderr: one line that is rewritten on a terminal, else a timestamped line when something
// changed, at most one a minute. What ended or failed is said at once in either.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/core.h"
#include "orchestrator/events.h"
#include "orchestrator/live_estimate.h"

namespace retort::orchestrator {

inline constexpr double kLiveRefreshSeconds = 0.25;
inline constexpr double kPlainLineSeconds = 60;

struct ProgressOptions {
  bool quiet = false;  // warnings and the last word only
  bool live = false;   // a terminal
  bool color = false;
  std::size_t width = 0;  // of the terminal; 0 = unknown
};

class ProgressView {
 public:
  using Sink = std::function<void(std::string_view)>;  // takes bytes as they are
  ProgressView(ProgressOptions options, Sink sink) : options_(options), sink_(std::move(sink)) {}

  // After events were journaled.
  void Events(const Core& core, const std::vector<JournalEvent>& events, Now now);
  void Refresh(const Core& core, Now now);
  // A line by itself; shown though quiet when `warning`.
  void Say(const std::string& text, Now now, bool warning = false);
  // Ends the live line.
  void Finish();
  // Monotonic time at which Refresh has something to do; infinity when never.
  [[nodiscard]] double NextRefresh() const;

 private:
  void Write(const std::string& text, Now now, const char* color);
  void EraseLive();
  ProgressOptions options_;
  Sink sink_;
  LiveEstimate estimate_;
  std::string shown_;  // last progress line
  bool live_shown_ = false;
  double next_ = 0;
};

}  // namespace retort::orchestrator
