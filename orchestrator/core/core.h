// The state of the orchestrator. Core::Apply changes the durable part by one event of the journal; reactor.h decides
// which events happen. No I/O, no clock.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "experiments/privacy/privacy_event.h"
#include "monitoring/metrics.h"
#include "orchestrator/core/cost_model.h"
#include "orchestrator/core/events.h"
#include "orchestrator/core/fleet.h"
#include "orchestrator/core/inventory.h"
#include "orchestrator/core/packing.h"
#include "orchestrator/core/privacy_charges.h"
#include "orchestrator/core/quota.h"
#include "orchestrator/core/trial.h"
#include "orchestrator/process/now.h"

namespace retort::orchestrator {

struct Settings {
  std::string results;          // absolute path of the results folder
  std::string provenance_json;  // of this run, for rows
  int world_size = 1;
  std::string root = {};  // MarkKey::Name of the key of the results root; empty where it is not known
  // The trials were drawn by a private selection: nothing of them is published, and none is tried again, since another
  // attempt has other noise.
  bool hidden = false;
};

// Since this orchestrator started.
// Of attempts that succeeded on one host, as far as their devices say it.
struct DeviceUsage {
  std::optional<double> joules;
  double busy_seconds = 0, watched_seconds = 0;  // with a kernel; in all
};

struct Counters {
  std::uint64_t received = 0;  // messages
  std::uint64_t stale =
      0;  // messages that were dropped: of an attempt or generation that is over, out of place, or a repetition
  std::uint64_t steps = 0;                        // trial steps that workers reported
  std::uint64_t leases = 0;                       // attempts begun
  std::map<std::string, std::uint64_t> releases;  // draws of noise granted, by data set
  std::uint64_t samples = 0;                      // rows that those draws annotate
  std::uint64_t hellos = 0;                       // workers that came up
  std::map<FailureKind, std::uint64_t> failures;
  std::map<std::string, DeviceUsage> device_usage;        // by host
  std::map<FailureKind, std::uint64_t> retries;           // failed attempts whose trial was queued again
  std::uint64_t checkpoints = 0;                          // committed
  std::uint64_t checkpoint_bytes = 0;                     // of their tensors
  std::uint64_t journal_records = 0, ledger_records = 0;  // appended
  monitoring::Histogram step_seconds{monitoring::FindFamily(monitoring::Metric::step_duration_seconds).bounds};
  monitoring::Histogram checkpoint_seconds{
      monitoring::FindFamily(monitoring::Metric::checkpoint_duration_seconds).bounds};
};

struct StopRequest {
  std::string cause;
  double kill_at = 0;  // monotonic: attempts that still run then are given up
};

// A request to cancel trials of which some still save their state.
struct OpenCancel {
  std::string request;
  std::vector<TrialId> saving;
  std::vector<TrialId> changed;  // so far
  std::string text;              // why the others were not cancelled
};

class Core {
 public:
  explicit Core(Settings settings) : settings_(std::move(settings)) {}

  // Applies the event to the durable state, with what follows from it: the students of a teacher that ended become
  // queued or parent-failed. Error: damage, for an event that is illegal here; the state is then unspecified.
  [[nodiscard]] Status Apply(const JournalEvent& event);
  // Applies a row_written event of the journal whose row is left packed.
  [[nodiscard]] Status Restore(TrialId trial, StoredRow row);

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] const std::string& sweep() const { return sweep_; }
  [[nodiscard]] const std::string& resolved_toml() const { return resolved_toml_; }
  [[nodiscard]] int format_version() const { return format_version_; }  // of the newest SweepOpened
  [[nodiscard]] bool opened() const { return !sweep_.empty(); }
  [[nodiscard]] const Trial* Find(TrialId id) const;
  [[nodiscard]] const Trial& Get(TrialId id) const;  // must be known
  // Planned trials, in plan order.
  [[nodiscard]] const std::vector<std::size_t>& plan() const { return plan_; }
  [[nodiscard]] const Trial& At(std::size_t index) const { return trials_[index]; }
  [[nodiscard]] std::size_t known() const { return trials_.size(); }  // planned or not
  [[nodiscard]] std::size_t CountFinal() const;                       // of planned trials
  // Of planned trials.
  [[nodiscard]] std::size_t CountIn(TrialState state) const { return counts_[static_cast<std::size_t>(state)]; }
  [[nodiscard]] bool AllFinal() const;
  // Queued planned trials: by priority (higher first), then plan order. Some may wait for a retry.
  struct ReadyKey {
    int negative_priority = 0;
    std::size_t position = 0;
    std::size_t index = 0;
    constexpr auto operator<=>(const ReadyKey&) const = default;
  };
  [[nodiscard]] const std::set<ReadyKey>& ready() const { return ready_; }
  // Of ready(): those that may wait for a retry, (retry_at, index); and how many have been started before.
  [[nodiscard]] const std::set<std::pair<double, std::size_t>>& retries() const { return retries_; }
  [[nodiscard]] std::size_t ready_begun() const { return ready_begun_; }
  // Planned trials that have ended and have no row yet: (position, index).
  [[nodiscard]] const std::set<std::pair<std::size_t, std::size_t>>& missing_rows() const { return missing_rows_; }
  // EncodeTrialSpec of the trial, kept until its row is written.
  [[nodiscard]] const std::string& SpecText(TrialId id);
  // Larger than any generation before it. A repaired journal may have lost some that the ledger still knows.
  [[nodiscard]] Generation NextGeneration() const { return {std::max(generation_, charges.last_generation()) + 1}; }
  [[nodiscard]] AttemptId NextAttempt(const Trial& trial) const {
    return {trial.spec.id, std::max(trial.attempts, charges.FindLastAttempt(trial.spec.id)) + 1};
  }
  // What the runs of this folder have used of the quota so far.
  [[nodiscard]] const Usage& usage() const { return usage_; }
  // Devices of the newest run, from the journal.
  [[nodiscard]] const Inventory& inventory() const { return inventory_; }
  // Unix seconds of the newest event; 0 = there is none.
  [[nodiscard]] double newest_event() const { return newest_event_; }
  // Number of reservations that the ledger held when it was last noted.
  [[nodiscard]] std::uint64_t ledger_noted() const { return ledger_noted_; }
  // Of the newest run.
  [[nodiscard]] const std::vector<SlotDrained>& drained() const { return drained_; }
  [[nodiscard]] const std::vector<PackingMeasured>& packed() const { return packed_; }  // of the newest run
  // Name of the results root in which the folder was first run; empty where it was not noted.
  [[nodiscard]] const std::string& noted_root() const { return noted_root_; }
  [[nodiscard]] const std::string& run_provenance() const { return run_provenance_; }  // of the newest run
  [[nodiscard]] double last_end() const { return last_end_; }          // unix seconds; 0 = no trial ended yet
  [[nodiscard]] double last_success() const { return last_success_; }  // the same of those that succeeded

  // Error: refused, naming the broken invariant and the trial.
  [[nodiscard]] Status CheckInvariants() const;

  Fleet fleet;
  Packing packing;
  PrivacyCharges charges;
  // By unpacked data digest: what other sweeps of the results root have charged, where a budget counts it.
  std::map<std::string, std::vector<privacy::PrivacyEvent>> other_spending;
  // By unpacked data digest: the budgets that other sweeps of the root set.
  std::map<std::string, std::vector<OtherBudget>> other_budgets;
  std::string ledger_lost;  // why `charges` is incomplete; empty when it is complete
  // Trials of which an audit refutes a claim, or whose audits cannot be read, with the reason: their charges have no
  // bound.
  std::map<TrialId, std::string> audit_voids;
  // Returns the reason for one trial; empty where audits leave its charges a bound.
  [[nodiscard]] std::string FindAuditVoid(TrialId trial) const {
    const auto found = audit_voids.find(trial);
    return found == audit_voids.end() ? "" : found->second;
  }
  // Of the results root, for display: what each of its other sweeps had charged when this run began, by unpacked data
  // digest; the folder, empty where it was not read; and why its content is unknown.
  std::map<std::string, std::vector<std::vector<privacy::PrivacyEvent>>> other_charges;
  std::string root, root_trouble;
  Counters counters;
  Quota quota;                      // of the plan
  CostModel costs;                  // of what has run on machines like these
  std::optional<double> work_ends;  // monotonic: then it saves and stops; nothing = no limit
  std::optional<StopRequest> stop;
  bool may_lease = true;                 // false: not all agents have had their time to register
  bool more_may_come = false;            // a search may suggest further trials (search_rounds.h)
  bool fills_slots = false;              // that search does so when a slot is free, and not when all have ended
  bool exhausted = false;                // and has none for one before another trial ends or is reopened
  std::string search_trouble;            // why it suggested nothing while trials ran; tells the run that it ends then
  bool quota_spent = false;              // the stop is the quota's: running again would not help
  std::optional<double> last_tick;       // monotonic
  double silence_due = 0;                // monotonic: no agent or attempt can have been silent for too long before this
  std::optional<double> dead_end_since;  // monotonic: nothing that is queued can start (admission.h)
  bool ended = false;                    // Shutdown has been sent
  std::vector<OpenCancel> cancels;       // oldest first

 private:
  Status On(const SweepOpened& event);
  Status On(const TrialPlanned& event);
  Status On(const PlanAdopted& event);
  Status On(const RunStarted& event);
  Status On(const AttemptLeased& event);
  Status On(const AttemptStarted& event);
  Status On(const CheckpointNoted& event);
  Status On(const ProgressNoted& event);
  Status On(const AttemptEnded& event);
  Status On(const RowWritten& event);
  Status On(const TrialCancelled& event);
  Status On(const TrialReopened& event);
  static Status On(const SweepInterrupted&) { return {}; }
  Status On(const SlotDrained& event);
  Status On(const PackingMeasured& event);
  Status On(const SlotRestored& event);
  static Status On(const AgentNoted&) { return {}; }
  Status On(const LedgerNoted& event);
  Status On(const DataNoted& event);
  Status On(const RootNoted& event);

  [[nodiscard]] Result<std::size_t> FindIndex(TrialId id) const;
  [[nodiscard]] Result<std::size_t> FindIndex(AttemptId id) const;  // its newest attempt, active
  Status Move(std::size_t index, TrialEvent event);
  // Moves a waiting trial on when its teacher has ended; and all students of a trial.
  Status UpdateFromParent(std::size_t index);
  Status UpdateChildren(std::size_t index);
  Status Reopen(std::size_t index);
  void AddToIndices(const Trial& trial, std::size_t index);  // into the derived indices
  void RemoveFromIndices(const Trial& trial, std::size_t index);
  [[nodiscard]] Status CheckTrial(std::size_t index) const;

  Settings settings_;
  std::string sweep_, resolved_toml_;
  int format_version_ = kResultsFormatVersion;
  std::deque<Trial> trials_;
  std::unordered_map<TrialId, std::size_t> by_id_;
  std::vector<std::size_t> plan_;
  std::array<std::size_t, 9> counts_{};  // by TrialState
  std::set<ReadyKey> ready_;
  std::set<std::pair<double, std::size_t>> retries_;
  std::size_t ready_begun_ = 0;
  std::set<std::pair<std::size_t, std::size_t>> missing_rows_;
  Usage usage_;
  Inventory inventory_;
  double newest_event_ = 0;
  std::vector<SlotDrained> drained_;
  std::vector<PackingMeasured> packed_;
  std::string run_provenance_;
  std::uint64_t generation_ = 0;
  double last_end_ = 0, last_success_ = 0;
  std::uint64_t ledger_noted_ = 0;
  std::string noted_root_;
};

}  // namespace retort::orchestrator
