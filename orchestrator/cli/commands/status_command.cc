#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/render/status_text.h"
#include "orchestrator/cli/render/version.h"
#include "orchestrator/process/stop_signals.h"
#include "orchestrator/process/system_clock.h"
#include "orchestrator/process/terminal.h"
#include "orchestrator/results/cost_history.h"
#include "orchestrator/results/refuted_claims.h"
#include "orchestrator/results/sweep_status.h"
#include "orchestrator/results/sweep_summary.h"
#include "orchestrator/screen/screen_block.h"

namespace retort::orchestrator::cli {
namespace {

constexpr double kRefreshSeconds = 2;
// A folder of very many trials is looked at less often: this many times as long as a look takes passes between two.
constexpr double kPauseFactor = 4;
// Looks in a row that fail before it is taken for more than a file that is being written.
constexpr int kMaxFailures = 3;
constexpr int kExitOnSignal = 130;

class StatusWatch {
 public:
  StatusWatch(const Invocation& call, bool live)
      : call_(call), cache_(OpenCosts(call)), live_(live), block_(call.console.options().color_out) {
    screen_.utf8 = IsUtf8Locale(call.environment);
  }

  // The exit code, once there is nothing more to see.
  std::optional<int> Look() {
    const double began = ReadClocks().monotonic;
    const std::optional<int> code = LookNow();
    pause_ = std::max(kRefreshSeconds, kPauseFactor * (ReadClocks().monotonic - began));
    return code;
  }
  // Until the next look.
  [[nodiscard]] int PauseMilliseconds() const { return static_cast<int>(1000 * pause_); }
  // The cursor is on a line of its own, and what a key press left there goes.
  void Leave() const { call_.console.Data("\r\x1b[K"); }

 private:
  std::optional<int> LookNow() {
    if (directory_.empty() && !Find()) return std::nullopt;
    Result<ResultsView> view = ReadPacked(call_.env, directory_);
    if (!view.ok()) return Failed(view.status());
    failures_ = 0;
    if (view->sweep.empty()) {
      Wait(directory_ + " is being made");
      return std::nullopt;
    }
    WithdrawRefuted(call_.env, *view);
    return Show(*view);
  }

  bool Find() {
    const Result<FoundResults> found = FindResults(call_.env, call_.line.global.results);
    if (!found.ok()) {
      Wait(found.status().message());
      return false;
    }
    directory_ = found->directory;
    if (found->chosen) call_.console.Message("results: " + directory_);
    return true;
  }

  // Says once what it waits for.
  void Wait(const std::string& why) {
    if (why != std::exchange(waits_for_, why)) call_.console.Message("waiting: " + why);
  }

  // What is written at this moment may look damaged; another version does not go away.
  std::optional<int> Failed(const Status& status) {
    if (status.code() != StatusCode::usage && ++failures_ < kMaxFailures) return std::nullopt;
    return call_.console.Fail(status);
  }

  std::optional<int> Show(const ResultsView& view) {
    const double clock = ReadClocks().unix_seconds;
    const RootCharges root = ReadRoot(call_.env, view);
    const SweepStatus status = ComputeStatus(view, ReadKnownCosts(cache_, &view), clock, &root);
    const std::size_t width = call_.console.options().width;
    const bool changed = status.counts != printed_;
    printed_ = status.counts;
    if (live_) screen_ = MeasureScreen(screen_, STDOUT_FILENO);
    if (status.finished && !view.running) {  // a run that has just ended still publishes its results
      const std::string text = call_.console.Fitted(FormatFinalStatusText(status, clock, width));
      call_.console.Data(live_ ? block_.Erase(screen_) + text : text);
      return 0;
    }
    if (live_)
      Redraw(status, clock);
    else if (changed)
      call_.console.Text(FormatStatusText(status, clock, width));
    return std::nullopt;
  }

  void Redraw(const SweepStatus& status, double clock) {
    const ResultsView& view = *status.view;
    const std::string title =
        fmt::format("Sweep {} in {}: {}\n", view.sweep, view.directory, view.running ? "running" : "stopped");
    if (title != std::exchange(title_, title)) call_.console.Data(block_.Above(title, screen_));
    call_.console.Data(block_.Redraw(LayOutBlock(MakeBlock(status, clock), screen_), screen_));
  }

  const Invocation& call_;
  CostCache cache_;
  bool live_;
  ScreenBlock block_;
  Screen screen_;
  std::string directory_, waits_for_, title_;
  std::vector<std::pair<std::string, int>> printed_;
  int failures_ = 0;
  double pause_ = kRefreshSeconds;
};

// Ctrl-C is read here, so that it never comes in the middle of a line.
int WatchOnTerminal(const Invocation& call) {
  Result<StopSignals> signals = StopSignals::Open();
  if (!signals.ok()) return call.console.Fail(signals.status());
  StatusWatch watch(call, true);
  while (true) {
    if (const std::optional<int> code = watch.Look()) return *code;
    pollfd signalled{signals->fd(), POLLIN, 0};
    static_cast<void>(::poll(&signalled, 1, watch.PauseMilliseconds()));
    signals->Read(ReadClocks().monotonic);
    if (!signals->stop()) continue;
    watch.Leave();
    return kExitOnSignal;
  }
}

// `retort status --watch`.
// Looks at the results every two seconds (less often where a look takes long) until the sweep has ended, and waits for
// a folder that is not there yet. On a terminal it redraws a block of lines; elsewhere it prints the status when it
// changed. Returns the exit code: 0 when the sweep has ended or nobody reads any more, 130 when a signal ended the
// watching, else that of what cannot be read.
int WatchStatus(const Invocation& call) {
  if (CanRedraw(call.environment, STDOUT_FILENO)) return WatchOnTerminal(call);
  StatusWatch watch(call, false);
  while (true) {
    if (const std::optional<int> code = watch.Look()) return *code;
    pollfd reader{STDOUT_FILENO, 0, 0};
    static_cast<void>(::poll(&reader, 1, watch.PauseMilliseconds()));
    if (reader.revents != 0) return 0;  // nobody reads any more
  }
}

void Print(const Invocation& call, const SweepStatus& status, double clock) {
  call.console.Text(call.line.global.json ? FormatStatusJson(status)
                                          : FormatStatusText(status, clock, call.console.options().width));
}

bool IsAlone(const RootCharges& root) {
  return root.sweeps.empty() && root.trouble.empty() && root.copies.empty() && root.uncounted.empty();
}

// Of a sweep whose summary is kept. False: its trials have to be read, or those of others, which have charged the same
// data.
bool PrintSummarised(const Invocation& call, const std::string& results, const std::string& sources,
                     const CostModel& costs) {
  std::optional<SweepSummary> summary = ReadSummary(call.env, results, sources, FormatVersion());
  if (!summary) return false;
  const RootCharges root =
      ReadRoot(call.env, results, summary->digests, summary->view.unpacked, {}, summary->view.noted_root);
  if (!IsAlone(root)) return false;
  for (DataSpending& spent : summary->trials.spending) spent.root = root.directory;
  const double clock = ReadClocks().unix_seconds;
  Print(call, MakeSweepStatus(summary->view, std::move(summary->trials), costs, clock), clock);
  return true;
}

}  // namespace

void AddStatus(CLI::App& app, CommandLine& line) {
  CLI::App* status = AddCommand(app, "status", "Worst problem first, counts, time left, next command");
  status->add_flag("--watch", line.watch, "Refresh every two seconds until the sweep ends");
}

int ExecuteStatus(const Invocation& call) {
  if (call.line.watch) return WatchStatus(call);
  const Result<std::string> results = LocateResults(call);
  if (!results.ok()) return call.console.Fail(results.status());
  const CostCache cache = OpenCosts(call);
  const std::optional<std::string> sources = ComputeSummarySources(call.env, *results, cache);
  if (sources && PrintSummarised(call, *results, *sources, cache.costs)) return 0;
  const Result<ResultsView> view = OpenPackedResults(call, *results);
  if (!view.ok()) return call.console.Fail(view.status());
  const RootCharges root = ReadRoot(call.env, *view);
  const double clock = ReadClocks().unix_seconds;
  const CostModel costs = ReadKnownCosts(cache, &*view);
  const TrialsStatus trials = ComputeTrialsStatus(*view, costs, clock, &root);
  Print(call, MakeSweepStatus(*view, trials, costs, clock), clock);
  // Where it cannot be written, the next one reads the journal too.
  if (sources && IsAlone(root)) (void)StoreSummary(call.env, *sources, *view, trials, FormatVersion());
  return 0;
}

}  // namespace retort::orchestrator::cli
