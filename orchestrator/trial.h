// One trial as the orchestrator knows it. Durable: rebuilt by replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/spec/failure_kind.h"
#include "experiments/spec/ids.h"
#include "experiments/spec/trial_spec.h"
#include "orchestrator/events.h"
#include "orchestrator/pace.h"
#include "orchestrator/stored_row.h"
#include "orchestrator/trial_state.h"

namespace retort::orchestrator {

struct Trial {
  TrialSpec spec;
  std::shared_ptr<const std::string> spec_text;  // EncodeTrialSpec(spec), from a lease until the row; else null
  std::size_t spec_hash = 0;  // std::hash of its stored text: tells whether it was edited
  TrialState state = TrialState::queued;
  bool planned = false;                 // part of the sweep as it is now
  std::size_t position = 0;             // in the plan
  std::uint32_t attempts = 0;           // number of the newest attempt; only grows
  std::string folder;                   // below the results folder; fixed by the first lease, since an edited
                                        // sweep may show the trial under another name; empty before
  std::map<FailureKind, int> failures;  // ended attempts by kind, since the trial was last reopened
  FailureKind failure = FailureKind::none;  // of the newest ended attempt
  std::string detail;
  double retry_at = 0;                     // unix seconds; 0 = at once
  std::int64_t step = 0, total_steps = 0;  // newest journaled progress; of one that runs no more, what it saved
  std::int64_t saved_step = 0;             // of the newest checkpoint
  std::string phase;
  Pace pace;  // of the newest attempt
  std::pair<int, int> place;                   // (world rank, slot) of the newest attempt's gang rank 0
  std::vector<std::size_t> children;  // indices of the trials that name this one as their teacher
  std::optional<AttemptEnded> ended;  // the last attempt, until the row holds what it says
  StoredRow row;
};

// Folder of a trial that is leased for the first time, below the results folder: "trials/<name>-<id>".
[[nodiscard]] inline std::string TrialDirectory(const TrialSpec& spec) {
  return "trials/" + spec.name + "-" + spec.id.Hex();
}

}  // namespace retort::orchestrator
