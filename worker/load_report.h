// Tells the trial's host how far loading its data is, so that its agent does not take it for silent.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "experiments/spec/status.h"
#include "worker/failure.h"
#include "worker/trial_host.h"

namespace retort::worker {

class LoadReport {
 public:
  // `least_seconds` between two reports, from ReportSeconds. `host` outlives this.
  LoadReport(TrialHost& host, double least_seconds) : host_(host), least_seconds_(least_seconds) {}

  // A LoadProgress. Reports step 0 of 0 and a phase that is another one each time, also while another process works.
  // Not ok once a stop was asked for or the agent is gone.
  [[nodiscard]] Status Tell(const std::string& doing, std::int64_t done, std::int64_t of);
  // Of what Tell said that was not ok.
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }

 private:
  using Clock = std::chrono::steady_clock;
  TrialHost& host_;
  const double least_seconds_;
  const Clock::time_point began_ = Clock::now();
  Clock::time_point told_ = began_;
  std::optional<Failure> failure_;
};

}  // namespace retort::worker
