// One trial as the orchestrator knows it, and the state machine of trials. Durable: rebuilt by replaying the journal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/base/failure_kind.h"
#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "orchestrator/core/events.h"
#include "storage/log/delta_text.h"
#include "storage/results/result_file.h"

namespace retort::orchestrator {

// Append only: the numbers stand in journals.
enum class TrialState : std::uint8_t {
  waiting = 1,  // for its teacher or its data
  queued = 2,
  leased = 3,
  running = 4,
  succeeded = 5,
  failed = 6,
  parent_failed = 7,
  cancelled = 8,  // by the user
};

enum class TrialEvent : std::uint8_t {
  parent_succeeded,
  parent_ended_badly,
  lease,
  started,
  progress,
  attempt_succeeded,
  attempt_failed_retry,
  attempt_failed_for_good,
  cancel,
  reopen,
};

// Returns the state after `event`, or nothing where the event is illegal.
[[nodiscard]] std::optional<TrialState> FindNextState(TrialState state, TrialEvent event);
[[nodiscard]] std::string_view GetStateName(TrialState state);  // "waiting", ..., "parent-failed"
[[nodiscard]] bool IsFinal(TrialState state);

// The row of a trial: composed in this run, or packed as the journal stores it. Rows stay packed until they are read,
// because a sweep of a hundred thousand rows is opened far more often than its rows are read. Copies share the row. Not
// thread-safe.
class StoredRow {
 public:
  StoredRow() = default;  // no row
  explicit StoredRow(storage::ResultRow row) : row_(std::make_shared<const storage::ResultRow>(std::move(row))) {}
  // `stored` comes from `texts`->Take and expands to EncodeRow's JSON.
  StoredRow(TrialId trial, std::shared_ptr<const storage::DeltaTextTable> texts, std::string_view stored)
      : trial_(trial), texts_(std::move(texts)), stored_(stored) {}

  [[nodiscard]] bool has_value() const { return row_ != nullptr || texts_ != nullptr; }
  [[nodiscard]] explicit operator bool() const { return has_value(); }
  void reset() { *this = {}; }

  // A packed row is unpacked and not kept. Error: damage, for a packed row that is none, or of another trial
  // or another `state` than its trial has. There must be a row.
  [[nodiscard]] Result<storage::ResultRow> Read(std::string_view state) const;
  // Unpacked at the first use and kept. A row that cannot be read has no field but its trial and, in
  // `detail`, the reason.
  [[nodiscard]] const storage::ResultRow& operator*() const;
  [[nodiscard]] const storage::ResultRow* operator->() const { return &**this; }

 private:
  TrialId trial_;
  std::shared_ptr<const storage::DeltaTextTable> texts_;
  std::string stored_;
  [[nodiscard]] Result<storage::ResultRow> Unpack() const;
  mutable std::shared_ptr<const storage::ResultRow> row_;
};

// Speed of an attempt, from its journaled progress.
class Pace {
 public:
  // `step` steps are complete at `at` (unix seconds).
  void Note(std::int64_t step, double at) {
    if (first_at_ == 0 || step < first_step_ || at < at_) {  // anew also where the clock was put back
      first_step_ = step;
      first_at_ = at;
    }
    step_ = step;
    at_ = at;
  }
  // 0 = not known yet.
  [[nodiscard]] double SecondsPerStep() const {
    return step_ > first_step_ && at_ > first_at_ ? (at_ - first_at_) / static_cast<double>(step_ - first_step_) : 0;
  }
  // Of the newest note; 0 = there is none.
  [[nodiscard]] double noted_at() const { return at_; }

 private:
  std::int64_t first_step_ = 0, step_ = 0;
  double first_at_ = 0, at_ = 0;
};

struct Trial {
  TrialSpec spec;
  std::shared_ptr<const std::string> spec_text;  // EncodeTrialSpec(spec), from a lease until the row; else null
  std::size_t spec_hash = 0;                     // std::hash of its stored text: tells whether it was edited
  TrialState state = TrialState::queued;
  bool planned = false;                     // part of the sweep as it is now
  std::size_t position = 0;                 // in the plan
  std::uint32_t attempts = 0;               // number of the newest attempt; only grows
  std::string folder;                       // below the results folder; fixed by the first lease, since an edited
                                            // sweep may show the trial under another name; empty before
  std::map<FailureKind, int> failures;      // ended attempts by kind, since the trial was last reopened
  FailureKind failure = FailureKind::none;  // of the newest ended attempt
  std::string detail;
  double retry_at = 0;                     // unix seconds; 0 = at once
  std::int64_t step = 0, total_steps = 0;  // newest journaled progress; where none runs, what the last one saved
  std::int64_t saved_step = 0;             // of the newest checkpoint
  std::string phase;
  Pace pace;                          // of the newest attempt
  std::pair<int, int> place;          // (world rank, slot) of the newest attempt's gang rank 0
  std::vector<std::size_t> children;  // indices of the trials that name this one as their teacher
  std::optional<AttemptEnded> ended;  // the last attempt, until the row holds what it says
  StoredRow row;
};

// Folder of a trial that is leased for the first time, below the results folder: "trials/<name>-<id>".
[[nodiscard]] inline std::string GetTrialDirectory(const TrialSpec& spec) {
  return "trials/" + spec.name + "-" + spec.id.Hex();
}

}  // namespace retort::orchestrator
