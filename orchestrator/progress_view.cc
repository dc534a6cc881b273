#include "orchestrator/progress_view.h"

#include <fmt/format.h>

#include <ctime>
#include <limits>

#include "orchestrator/progress_text.h"

namespace retort::orchestrator {
namespace {

constexpr const char* kRed = "\033[31m";
constexpr const char* kGreen = "\033[32m";

std::string TimeOfDay(Now now) {
  const auto seconds = static_cast<std::time_t>(now.unix_seconds);
  std::tm local{};
  localtime_r(&seconds, &local);
  return fmt::format("{:02}:{:02}:{:02}", local.tm_hour, local.tm_min, local.tm_sec);
}

bool IsTrouble(const Event& event) {
  const auto* ended = std::get_if<AttemptEnded>(&event);
  const auto* row = std::get_if<RowWritten>(&event);
  const bool bad_row = row != nullptr && row->row.state != "succeeded" && row->row.state != "cancelled";
  return (ended != nullptr && !ended->succeeded) || bad_row ||
         std::holds_alternative<SlotDrained>(event) || std::holds_alternative<SlotRestored>(event);
}

}  // namespace

void ProgressView::Events(const Core& core, const std::vector<JournalEvent>& events, Now now) {
  for (const JournalEvent& event : events) {
    const std::string line = EventLine(core, event.event);
    const bool trouble = IsTrouble(event.event);
    if (!line.empty() && (trouble || !options_.quiet)) Write(line, now, trouble ? kRed : kGreen);
  }
}

void ProgressView::Refresh(const Core& core, Now now) {
  if (options_.quiet || now.monotonic < next_) return;
  const std::string line = ProgressLine(core, options_.live ? options_.width : 0, estimate_.Of(core, now));
  next_ = now.monotonic + (options_.live ? kLiveRefreshSeconds : kPlainLineSeconds);
  if (line == shown_) return;
  shown_ = line;
  if (!options_.live) {
    Write(line, now, nullptr);
    return;
  }
  sink_("\r\033[K" + line);
  live_shown_ = true;
}

void ProgressView::Say(const std::string& text, Now now, bool warning) {
  if (!options_.quiet || warning) Write(text, now, warning ? kRed : nullptr);
}

double ProgressView::NextRefresh() const {
  return options_.quiet ? std::numeric_limits<double>::infinity() : next_;
}

void ProgressView::Finish() { EraseLive(); }

void ProgressView::EraseLive() {
  if (!live_shown_) return;
  sink_("\r\033[K");
  live_shown_ = false;
  shown_.clear();
  next_ = 0;
}

void ProgressView::Write(const std::string& text, Now now, const char* color) {
  EraseLive();
  const bool paint = options_.color && color != nullptr;
  sink_(TimeOfDay(now) + " " + (paint ? color + text + "\033[0m" : text) + "\n");
}

}  // namespace retort::orchestrator
