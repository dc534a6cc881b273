// What no cluster may ever show, seen from the workers' side: by what they were told and what they did, and
// not by what the orchestrator believes.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiments/base/failure_kind.h"
#include "experiments/base/ids.h"
#include "experiments/base/status.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/core/core.h"
#include "orchestrator/core/outbox.h"
#include "storage/log/privacy_ledger.h"

namespace retort::testing {

// Keeps the first alarm.
class WorldChecks {
 public:
  // A new orchestrator reads the ledger anew, and is asked for `plan`.
  void Restarted(const SweepPlan& plan);
  // A worker was told that its reservation is granted.
  void Granted(AttemptId attempt, Generation generation, std::uint64_t request, const storage::PrivacyLedger& ledger);
  void Drew(TrialId trial, std::int64_t draws);
  // A worker, or its agent, said how its attempt ended; none = success.
  void SaidEnd(AttemptId attempt, FailureKind failure) { ends_.emplace(attempt, failure); }
  void GotLease(bool at_its_place);
  // A worker is at work there, and its agent has obeyed everything it was told.
  void Works(const orchestrator::Core& core, AttemptId attempt, Generation generation, orchestrator::Seat seat);
  // Call after each tick: no trial that was asked for is out of everybody's hands, and no device idle that
  // one of them could have. For sweeps without quota or time limit, whose agents are each a host of their
  // own.
  void Ticked(const orchestrator::Core& core, orchestrator::Now now);
  // Call after each commit, with what the orchestrator wanted written.
  void Committed(const orchestrator::Outbox& outbox, const storage::PrivacyLedger& ledger);

  [[nodiscard]] const Status& status() const { return alarm_; }

 private:
  void Alarm(const std::string& what);
  void CheckDraws(const storage::PrivacyLedger& ledger);
  void CheckNothingIsLost(const orchestrator::Core& core);
  void CheckNothingIsIdle(const orchestrator::Core& core, orchestrator::Now now);

  using Attempt = std::pair<AttemptId, Generation>;
  Status alarm_;
  std::vector<TrialId> asked_;
  std::map<Attempt, std::set<std::uint64_t>> granted_;  // requests
  std::map<Attempt, std::size_t> entries_;              // of the ledger
  std::size_t entries_read_ = 0;
  std::map<TrialId, std::int64_t> drawn_;
  std::set<TrialId> touched_;  // since the last commit, by draws or settlements
  std::set<std::pair<AttemptId, FailureKind>> ends_;
};

}  // namespace retort::testing
