#include "worker/load_report.h"

namespace retort::worker {
namespace {

std::string PhaseOf(const std::string& doing, std::int64_t done, std::int64_t of, double seconds) {
  if (done > 0) return doing + " " + std::to_string(done) + " of " + std::to_string(of) + " pictures";
  const auto tenths = static_cast<std::int64_t>(seconds * 10);
  return "waiting for another process that is " + doing + " " + std::to_string(of) + " pictures, " +
         std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace

Status LoadReport::Tell(const std::string& doing, std::int64_t done, std::int64_t of) {
  const Clock::time_point now = Clock::now();
  if (std::chrono::duration<double>(now - told_).count() < least_seconds_) return {};
  told_ = now;
  if (host_.StopRequested()) {
    failure_ = Failure{FailureKind::stopped, "Stopped while its data was loaded."};
    return Cancelled(failure_->detail);
  }
  const double seconds = std::chrono::duration<double>(now - began_).count();
  const Status told = host_.Report(cluster::Progress{0, 0, PhaseOf(doing, done, of, seconds), {}});
  if (!told.ok()) failure_ = FailureOf(told, FailureKind::agent_lost);
  return told;
}

}  // namespace retort::worker
