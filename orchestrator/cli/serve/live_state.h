// What the live page says of a sweep as it stands now. Pure: the same status and curves give the same bytes.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "orchestrator/results/sweep_status.h"
#include "storage/log/attempt_logs.h"

namespace retort::orchestrator::cli {

// A part of the page that is replaced as a whole.
struct LivePart {
  std::string key;   // letters, digits and hyphens; no two parts have the same
  std::string html;  // well-formed by itself
  bool operator==(const LivePart&) const = default;
};

struct LiveState {
  std::vector<LivePart> parts;     // in the order of the page
  nlohmann::ordered_json summary;  // {"sweep","running","finished","trials","counts","problems","next"}
  std::string status;              // as `retort status --json` prints it
};

struct LiveLimits {
  std::size_t problems = 40;
  std::size_t running = 40;  // trials with a line
  std::size_t drawn = 12;    // of them, with curves
  std::size_t curves = 4;    // of one trial
};

// The curves of a running trial so far; empty where there are none yet.
using CurveSource = std::function<storage::Curves(const TrialView&)>;

// `clock`: unix seconds of this machine.
[[nodiscard]] LiveState MakeLiveState(const SweepStatus& status, const CurveSource& curves, double clock,
                                      const LiveLimits& limits = {});
// Of a folder that cannot be read at the moment, for this reason.
[[nodiscard]] LiveState MakeUnreadableState(const std::string& directory, const std::string& why);

// The problems of `status`, and what only a look at the time shows: a run that is silent, trials that make no step,
// requests that nobody answers. Worst first.
[[nodiscard]] std::vector<Problem> ListLiveProblems(const SweepStatus& status, double clock);

}  // namespace retort::orchestrator::cli
