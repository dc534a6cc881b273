// Decides when an attempt has made no progress for too long. The agent uses one to kill a silent worker; the
// orchestrator uses a slower one for the case that the agent is silent as well. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "cluster/messages.h"

namespace retort::orchestrator {

inline constexpr double kHeartbeatSeconds = 5;          // between two of an agent
inline constexpr double kAgentWatchMarginSeconds = 60;  // so that the watch of the agent comes first
inline constexpr double kSilenceFloorSeconds = 120;
inline constexpr double kStartSeconds = 10;         // at least, for a worker to start and make its first step
inline constexpr double kPreparationSeconds = 900;  // at least, in cluster::kPreparingPhase
inline constexpr double kSilenceFactor = 20;        // times the slowest advance seen

class StepWatch {
 public:
  StepWatch() = default;
  // `deadline_seconds` of the spec: allowed time between two advances, at least kStartSeconds before the
  // first step; 0 = kSilenceFactor times the slowest one measured, at least kSilenceFloorSeconds, and
  // kPreparationSeconds while it prepares.
  // `margin_seconds` is added to either.
  StepWatch(double now, double deadline_seconds, double margin_seconds = 0)
      : deadline_(deadline_seconds), margin_(margin_seconds), last_(now) {}

  // A step or phase other than the last one is an advance.
  void Progressed(double now, std::int64_t step, const std::string& phase) {
    if (step == step_ && phase == phase_) return;
    const bool prepared = phase_ == cluster::kPreparingPhase;
    step_ = step;
    phase_ = phase;
    if (prepared)
      Prepared(now);
    else
      Advanced(now);
  }
  // Any other sign that work goes on: a reservation, a checkpoint.
  void Advanced(double now) {
    if (now - last_ > slowest_) slowest_ = now - last_;
    last_ = now;
  }
  // Leaves out `seconds` in which this process did not run, because it was stopped or the machine slept.
  void IgnoreGap(double seconds) { last_ += seconds; }

  [[nodiscard]] double allowed() const {
    if (deadline_ > 0) return (step_ < 1 && deadline_ < kStartSeconds ? kStartSeconds : deadline_) + margin_;
    const double measured = kSilenceFactor * slowest_;
    const double least = phase_ == cluster::kPreparingPhase ? kPreparationSeconds : kSilenceFloorSeconds;
    return (measured > least ? measured : least) + margin_;
  }
  [[nodiscard]] double allowed_without_margin() const { return allowed() - margin_; }
  [[nodiscard]] double last() const { return last_; }  // monotonic; of the last advance
  [[nodiscard]] double expires_at() const { return last_ + allowed(); }

 private:
  // A step may take as long as the preparation took, up to kSilenceFloorSeconds.
  void Prepared(double now) {
    const double took = now - last_ < kSilenceFloorSeconds ? now - last_ : kSilenceFloorSeconds;
    if (took > slowest_) slowest_ = took;
    last_ = now;
  }

  double deadline_ = 0;
  double margin_ = 0;
  double last_ = 0;
  double slowest_ = 0;
  std::int64_t step_ = -1;
  std::string phase_;
};

}  // namespace retort::orchestrator
