#include "orchestrator/screen/progress_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <string>
#include <utility>

#include "experiments/base/number_text.h"
#include "experiments/base/printable.h"
#include "orchestrator/reactor/admission.h"
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
  const std::string line = MakeOneLine(text);
  Put(TimeOfDay(now) + " " + (paint ? color + line + "\033[0m" : line) + "\n");
}

namespace {

constexpr std::size_t kMaxNamed = 3;  // of one kind of problem
constexpr double kMuchOfBudget = 0.9;
constexpr double kMinFreeBytes = 1e9;
// At most so many attempts get their end from the cost model, which takes time for each.
constexpr std::size_t kMaxPriced = 64;

std::string FindCause(const Trial& trial) {
  std::string cause(GetFailureName(trial.failure));
  if (!trial.detail.empty()) cause += ": " + trial.detail;
  return cause;
}

void AddFailures(const Core& core, const LiveFacts& facts, std::vector<NamedText>& problems) {
  std::size_t named = 0;
  for (const TrialId id : facts.failed) {
    const Trial* trial = core.Find(id);
    if (trial == nullptr || !trial->planned || trial->state != TrialState::failed) continue;
    if (named++ == kMaxNamed) break;
    problems.push_back({"failed: ", trial->spec.name, ": " + FindCause(*trial)});
  }
  const std::size_t failed = core.CountIn(TrialState::failed);
  named = std::min(named, kMaxNamed);
  if (failed > named)
    problems.push_back({fmt::format("{} more failed; retort status names them", failed - named), "", ""});
}

void AddLostAgents(const Core& core, Now now, std::vector<NamedText>& problems) {
  for (const auto& [rank, agent] : core.fleet.agents())
    if (agent.lost)
      problems.push_back({fmt::format("lost: rank {} on ", rank.value), agent.registration.host,
                          ", not heard for " + FormatRoughDuration(now.monotonic - agent.last_heard)});
}

void AddDrained(const Core& core, std::vector<NamedText>& problems) {
  for (const SlotDrained& slot : core.drained())
    problems.push_back({fmt::format("drained: slot {} of rank {} on ", slot.slot, slot.rank), slot.host,
                        fmt::format(", where {} trials failed", slot.trials.size())});
}

void AddDisk(const LiveFacts& facts, std::vector<NamedText>& problems) {
  if (!facts.free_bytes) return;
  const auto free = static_cast<double>(*facts.free_bytes);
  const double needed = facts.left && facts.left->disk_bytes ? static_cast<double>(*facts.left->disk_bytes) : 0;
  if (free >= std::max(needed, kMinFreeBytes)) return;
  std::string text = fmt::format("disk low: {:.2g} GB free", free / 1e9);
  if (needed > free) text += fmt::format(", the rest needs about {:.2g} GB", needed / 1e9);
  problems.push_back({text, "", ""});
}

void AddBudgets(const LiveFacts& facts, std::vector<NamedText>& problems) {
  for (const DataSpending& spent : facts.spent)
    if (spent.budget && spent.root_epsilon > kMuchOfBudget * spent.budget->epsilon) {
      NamedText problem = FormatSpending(spent);
      problem.before = spent.root_epsilon < spent.budget->epsilon ? "budget nearly spent: " : "budget spent: ";
      problems.push_back(std::move(problem));
    }
}

void AddRetries(const Core& core, Now now, std::vector<NamedText>& problems) {
  std::size_t named = 0;
  for (const auto& [at, index] : core.retries()) {
    const Trial& trial = core.At(index);
    if (trial.failure == FailureKind::none || trial.failure == FailureKind::stopped) continue;
    if (named++ == kMaxNamed) return;
    const double wait = at - now.unix_seconds;
    problems.push_back({"again" + (wait > 0 ? " in " + FormatRoughDuration(wait) : "") + ": ", trial.spec.name,
                        ": " + FindCause(trial)});
  }
}

// Returns why the first queued trial does not start though a slot is free.
void AddWaiting(const Core& core, Now now, std::vector<NamedText>& problems) {
  if (core.stop || core.ready().empty() || !core.fleet.HasFreeSeat()) return;
  const Trial& first = core.At(core.ready().begin()->index);
  std::string why = RefuseByQuota(core, first.spec.id, now);
  if (why.empty()) why = RefuseByTime(core, first, now);
  const int seats = core.fleet.CountLiveSlots();
  if (why.empty() && first.spec.devices > seats)
    why = fmt::format("it needs {} devices, and {} {} left", first.spec.devices, seats, seats == 1 ? "is" : "are");
  if (!why.empty()) problems.push_back({"waiting: ", first.spec.name, ": " + why});
}

std::vector<NamedText> ListProblems(const Core& core, const LiveFacts& facts, Now now) {
  std::vector<NamedText> problems;
  if (core.stop)
    problems.push_back({fmt::format("stopping: {}; at most {} more", core.stop->cause,
                                    FormatRoughDuration(core.stop->kill_at - now.monotonic)),
                        "", ""});
  AddFailures(core, facts, problems);
  AddLostAgents(core, now, problems);
  AddDrained(core, problems);
  AddDisk(facts, problems);
  AddBudgets(facts, problems);
  AddRetries(core, now, problems);
  AddWaiting(core, now, problems);
  return problems;
}

std::vector<const ActiveAttempt*> ByPlace(const Core& core) {
  std::vector<const ActiveAttempt*> attempts;
  for (const auto& [trial, attempt] : core.fleet.active()) attempts.push_back(&attempt);
  std::sort(attempts.begin(), attempts.end(),
            [](const ActiveAttempt* a, const ActiveAttempt* b) { return a->seats.front() < b->seats.front(); });
  return attempts;
}

double FindRate(const LiveFacts& facts, TrialId trial) {
  const auto rate = facts.steps_per_second.find(trial);
  return rate == facts.steps_per_second.end() ? 0 : rate->second;
}

std::vector<RunningTrial> ListRunning(const Core& core, const LiveFacts& facts) {
  std::vector<RunningTrial> running;
  for (const ActiveAttempt* attempt : ByPlace(core)) {
    // More are counted, and not shown.
    const bool shown = running.size() < kMaxBlockLines;
    RunningTrial one;
    if (shown) one.name = core.Get(attempt->id.trial).spec.name;
    if (shown) one.phase = attempt->started ? attempt->phase : "starting";
    one.step = attempt->step;
    one.total_steps = attempt->total_steps;
    one.steps_per_second = shown ? FindRate(facts, attempt->id.trial) : 0;
    running.push_back(std::move(one));
  }
  return running;
}

std::optional<double> EstimateLeft(const Core& core, const LiveFacts& facts, const ActiveAttempt& attempt, Now now) {
  if (const double rate = FindRate(facts, attempt.id.trial); rate > 0 && attempt.total_steps > 0) {
    const double ahead = static_cast<double>(std::max<std::int64_t>(0, attempt.total_steps - attempt.step)) / rate;
    return std::max(0.0, ahead - (now.monotonic - attempt.stepped_at));
  }
  if (core.fleet.active().size() > kMaxPriced) return std::nullopt;
  const Trial& trial = core.Get(attempt.id.trial);
  const Trial* teacher = trial.spec.parent ? core.Find(*trial.spec.parent) : nullptr;
  PendingTrial pending;
  pending.spec = &trial.spec;
  pending.teacher = teacher == nullptr ? nullptr : &teacher->spec;
  pending.running = true;
  pending.done = ComputeFractionDone(attempt.step, attempt.total_steps);
  return EstimateSecondsLeft(core.costs, pending);
}

std::optional<NamedText> FindNext(const Core& core, const LiveFacts& facts, Now now) {
  double soonest = std::numeric_limits<double>::infinity();
  std::optional<NamedText> next;
  const auto offer = [&](double seconds, const std::string& name, const char* what) {
    if (seconds >= soonest) return;
    soonest = seconds;
    next = FormatNextEvent(seconds, name, what);
  };
  for (const auto& [trial, attempt] : core.fleet.active())
    if (const std::optional<double> left = EstimateLeft(core, facts, attempt, now))
      offer(*left, core.Get(trial).spec.name, "ends");
  if (core.stop) return next;
  if (const auto retry = core.retries().upper_bound({now.unix_seconds, ~std::size_t{0}}); retry != core.retries().end())
    offer(retry->first - now.unix_seconds, core.At(retry->second).spec.name, "is tried again");
  if (core.work_ends) offer(std::max(0.0, *core.work_ends - now.monotonic), "the run", "saves and stops");
  return next;
}

}  // namespace

BlockContent MakeBlockContent(const Core& core, const LiveFacts& facts, Now now) {
  BlockContent content;
  content.problems = ListProblems(core, facts, now);
  content.running = ListRunning(core, facts);
  Tally& tally = content.tally;
  tally.trials = core.plan().size();
  tally.done = CountEnded(core);
  tally.failed = core.CountIn(TrialState::failed);
  tally.not_run = core.CountIn(TrialState::parent_failed);
  tally.cancelled = core.CountIn(TrialState::cancelled);
  tally.running = core.CountIn(TrialState::running) + core.CountIn(TrialState::leased);
  tally.queued = core.CountIn(TrialState::queued);
  tally.waiting = core.CountIn(TrialState::waiting);
  content.stopping = core.stop.has_value();
  if (facts.left) content.left = facts.left->seconds;
  content.trials_per_hour = facts.trials_per_hour;
  content.spent = facts.spent;
  content.next = FindNext(core, facts, now);
  return content;
}

std::vector<BlockLine> RenderLiveBlock(const Core& core, const LiveFacts& facts, Now now, const Screen& screen) {
  return LayOutBlock(MakeBlockContent(core, facts, now), screen);
}

}  // namespace retort::orchestrator
