#include "orchestrator/screen/progress_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <utility>

#include "experiments/base/printable.h"
#include "orchestrator/screen/live_block.h"
#include "orchestrator/screen/progress_text.h"

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
  return (ended != nullptr && !ended->succeeded) || bad_row || std::holds_alternative<SlotDrained>(event) ||
         std::holds_alternative<SlotRestored>(event);
}

bool FailedForGood(const AttemptEnded* ended) {
  return ended != nullptr && !ended->succeeded && ended->for_good && ended->failure != FailureKind::stopped;
}

}  // namespace

ProgressView::ProgressView(ProgressOptions options, Sink sink)
    : options_(std::move(options)), sink_(std::move(sink)), watch_(options_.env), block_(options_.color) {}

void ProgressView::Events(const Core& core, const std::vector<JournalEvent>& events, Now now) {
  watch_.Events(events);
  for (const JournalEvent& event : events) {
    if (const auto* leased = std::get_if<AttemptLeased>(&event.event)) logs_.Leased(core, leased->attempt.trial);
    const auto* ended = std::get_if<AttemptEnded>(&event.event);
    if (FailedForGood(ended)) {
      WriteFailure(core, *ended, now);
      continue;
    }
    if (ended != nullptr) static_cast<void>(logs_.Ended(ended->attempt.trial, false));
    const std::string line = FormatEventLine(core, event.event);
    const bool trouble = IsTrouble(event.event);
    if (!line.empty() && (trouble || !options_.quiet)) Write(line, now, trouble ? kRed : kGreen);
  }
}

void ProgressView::WriteFailure(const Core& core, AttemptEnded ended, Now now) {
  const std::vector<LogTail> tails = logs_.Ended(ended.attempt.trial, true);
  if (!tails.empty()) ended.detail = RemoveWorkerOutput(ended.detail);
  Write(FormatEventLine(core, ended), now, kRed);
  std::string lines;
  for (const LogTail& tail : tails) {
    lines += fmt::format("    the last lines of {}:\n", tail.path);
    for (const std::string& line : tail.lines) lines += "      " + line + "\n";
  }
  if (!lines.empty()) Put(lines);
}

void ProgressView::Refresh(const Core& core, Now now) {
  if (options_.quiet || now.monotonic < next_) return;
  if (!options_.live) {
    next_ = now.monotonic + kPlainLineSeconds;
    PlainLine(core, now);
    return;
  }
  next_ = now.monotonic + kLiveRefreshSeconds;
  const std::optional<Screen> screen = ScreenNow();
  if (!screen || now.monotonic - refreshed_ > kAwaySeconds) block_.Forget();
  refreshed_ = now.monotonic;
  if (!screen) {
    if (now.monotonic >= next_plain_) PlainLine(core, now);
    return;
  }
  const std::string bytes = block_.Redraw(RenderLiveBlock(core, watch_.Look(core, now), now, *screen), *screen);
  if (!bytes.empty()) sink_(bytes);
}

void ProgressView::PlainLine(const Core& core, Now now) {
  next_plain_ = now.monotonic + kPlainLineSeconds;
  const std::string line = FormatProgressLine(core, watch_.Look(core, now).left);
  if (line == std::exchange(shown_, line)) return;
  Write(line, now, nullptr);
}

void ProgressView::PrintLine(const std::string& text, Now now, bool warning) {
  if (!options_.quiet || warning) Write(text, now, warning ? kRed : nullptr);
}

double ProgressView::NextRefresh() const { return options_.quiet ? std::numeric_limits<double>::infinity() : next_; }

void ProgressView::Finish() {
  if (const std::optional<Screen> screen = ScreenNow())
    if (const std::string bytes = block_.Erase(*screen); !bytes.empty()) sink_(bytes);
  block_.Forget();
}

std::optional<Screen> ProgressView::ScreenNow() const {
  if (!options_.live) return std::nullopt;
  return options_.screen ? options_.screen() : Screen();
}

void ProgressView::Put(const std::string& lines) {
  const std::optional<Screen> screen = ScreenNow();
  if (!screen) block_.Forget();
  sink_(screen ? block_.Above(lines, *screen) : lines);
}

void ProgressView::Write(const std::string& text, Now now, const char* color) {
  const bool paint = options_.color && color != nullptr;
  const std::string line = OneLine(text);
  Put(TimeOfDay(now) + " " + (paint ? color + line + "\033[0m" : line) + "\n");
}

}  // namespace retort::orchestrator
