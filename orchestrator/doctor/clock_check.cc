#include "orchestrator/doctor/clock_check.h"

#include <fmt/format.h>
#include <sys/timex.h>

#include "cluster/allocation_end.h"
#include "orchestrator/cli/number_text.h"
#include "orchestrator/system_clock.h"

namespace retort::orchestrator::doctor {
namespace {

constexpr double kLongAgo = 1'735'689'600;  // 2025-01-01: no such program existed before
constexpr double kGrace = 25;               // of `run`, where --grace says nothing else

}  // namespace

ClockFacts LookAtClock(const std::vector<std::string>& environment) {
  ClockFacts facts;
  const Now first = ReadClocks();
  facts.unix_seconds = first.unix_seconds;
  timex kernel{};
  const int state = ::adjtimex(&kernel);
  if (state >= 0) {
    facts.synchronised = state != TIME_ERROR && (kernel.status & STA_UNSYNC) == 0;
    facts.estimated_error = static_cast<double>(kernel.esterror) * 1e-6;
  }
  facts.monotonic_step = ReadClocks().monotonic - first.monotonic;
  const Result<std::optional<cluster::AllocationEnd>> end = cluster::FindAllocationEnd(environment);
  if (!end.ok()) {
    facts.end_trouble = end.status().message();
  } else if (end->has_value()) {
    facts.seconds_left = (*end)->unix_seconds - facts.unix_seconds;
    facts.named_by = (*end)->named_by;
  }
  return facts;
}

Finding JudgeClock(const ClockFacts& facts) {
  const std::string remedy = "sudo timedatectl set-ntp true, or start chronyd";
  if (facts.monotonic_step < 0)
    return {"clock", Level::problem, "the monotonic clock runs backwards: no deadline can be kept",
            "restart the host; report its kernel"};
  if (facts.unix_seconds < kLongAgo)
    return {"clock", Level::warning, "the date lies before 2025: times in results would be wrong", remedy};
  if (!facts.synchronised) return {"clock", Level::ok, "runs; the kernel does not say whether NTP keeps it"};
  if (!*facts.synchronised)
    return {"clock", Level::note, "the kernel says that nothing synchronises it: hosts of one run may differ",
            remedy};
  return {"clock", Level::ok, fmt::format("kept by NTP, within {:.0f} ms", facts.estimated_error * 1e3)};
}

std::optional<Finding> JudgeAllocation(const ClockFacts& facts) {
  if (!facts.end_trouble.empty())
    return Finding{"allocation", Level::problem, facts.end_trouble,
                   "unset RETORT_END_TIME, or set it to Unix seconds"};
  if (!facts.seconds_left) return std::nullopt;
  if (*facts.seconds_left <= 0)
    return Finding{"allocation", Level::problem, "it has ended (" + facts.named_by + ")",
                   "run in a new allocation"};
  if (*facts.seconds_left <= kGrace + cluster::kClosingSeconds)
    return Finding{"allocation", Level::problem,
                   fmt::format("it ends in {} ({}): too little to start anything",
                               cli::DurationText(*facts.seconds_left), facts.named_by),
                   "run in a new allocation"};
  return Finding{"allocation", Level::ok,
                 fmt::format("it ends in {} ({}); a run saves and stops before",
                             cli::DurationText(*facts.seconds_left), facts.named_by)};
}

}  // namespace retort::orchestrator::doctor
