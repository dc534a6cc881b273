// The quota of a sweep against what the core knows. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "orchestrator/core.h"

namespace retort::orchestrator {

// As RefuseByQuota (quota.h); always empty for a sweep without a quota.
[[nodiscard]] std::string QuotaRefusal(const Core& core, TrialId trial, Now now, std::int64_t starting = 0,
                                       std::int64_t starting_new = 0);
// The quota over one scheduling round. Borrows the core.
class QuotaGate {
 public:
  QuotaGate(const Core& core, Now now);
  // Nothing more may start in this round, of which `starting` have been chosen: asked before each trial that
  // is looked at.
  [[nodiscard]] bool Full(std::int64_t starting) const;
  // Whether this one may start. Each queued trial is asked about once.
  [[nodiscard]] bool Admits(const Trial& trial);
  void Started(const Trial& trial);

 private:
  [[nodiscard]] bool NewOnesAreRefused() const;

  const Core& core_;
  bool limited_, spent_;
  std::int64_t started_new_ = 0;
  std::size_t begun_left_;  // queued trials that were begun and have not been asked about
};

// Why the run has to end though trials are left: wall clock or device-hours are used up, or nothing runs and
// the quota lets nothing that is queued start. Empty while it may go on.
[[nodiscard]] std::string QuotaStop(const Core& core, Now now);

}  // namespace retort::orchestrator
