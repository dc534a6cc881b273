#include "worker/sleep/sleep_trial.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "experiments/base/digests.h"
#include "experiments/methods/methods.h"
#include "experiments/methods/spec_codec.h"
#include "storage/results/checkpoint_store.h"
#include "worker/sleep/trial_host.h"

namespace retort::worker {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds kLook{0.02};
constexpr const char* kPhase = "sleep";

std::string Link(const std::string& chain, std::uint64_t seed, std::int64_t step) {
  Sha256 next;
  next.Update(chain);
  next.UpdateLength(seed);
  next.UpdateLength(static_cast<std::uint64_t>(step));
  return next.FinishHex();
}

class SleepRun {
 public:
  SleepRun(const TrialOrder& order, TrialHost& host, storage::Env& env) : order_(order), host_(host), env_(env) {}

  cluster::Ended Run() {
    cluster::Ended ended;
    const Status status = Stages();
    ended.succeeded = status.ok();
    if (!status.ok()) {
      ended.failure = failure_;
      ended.detail = status.message();
      return ended;
    }
    ended.metrics = {{"sleep.steps", static_cast<double>(spec_.steps)}, {"sleep.seconds", spec_.seconds}};
    ended.timings = {
        {"seconds", Since(began_)},
        {"step_seconds", Since(began_) / static_cast<double>(std::max<std::int64_t>(1, next_ - resumed_at_))}};
    ended.parameters_digest = chain_;
    return ended;
  }

 private:
  static double Since(Clock::time_point then) { return Seconds(Clock::now() - then).count(); }

  Status Fail(FailureKind kind, Status status) {
    failure_ = kind;
    return status;
  }

  Status Stages() {
    Result<TrialSpec> spec = DecodeTrialSpec(order_.start.spec);
    if (!spec.ok()) return Fail(FailureKind::configuration, spec.status());
    spec_ = std::move(spec).value();
    if (env_.Exists(order_.start.trial_directory)) {
      if (const Status resumed = Resume(); !resumed.ok()) return Fail(FailureKind::disk, resumed);
    }
    resumed_at_ = next_;
    RETORT_RETURN_IF_ERROR(Advance());
    if (store_ == nullptr) return {};
    const Status removed = store_->RemoveCheckpoints();
    return removed.ok() ? removed : Fail(FailureKind::disk, removed);
  }

  Status OpenStore() {
    if (store_ != nullptr) return {};
    RETORT_ASSIGN_OR_RETURN(store_,
                            storage::CheckpointStore::Open(env_, order_.start.trial_directory, order_.attempt.number));
    return {};
  }

  Status Resume() {
    RETORT_RETURN_IF_ERROR(OpenStore());
    RETORT_ASSIGN_OR_RETURN(const std::optional<storage::Checkpoint> latest, store_->Latest());
    if (!latest) return {};
    const auto chain = latest->attributes.find("chain");
    if (chain == latest->attributes.end()) return DamageError("The checkpoint is not one of a sleeping trial.");
    next_ = latest->step;
    chain_ = chain->second;
    return {};
  }

  Status Advance() {
    const Seconds step(spec_.seconds / static_cast<double>(spec_.steps));
    for (; next_ < spec_.steps; ++next_) {
      const auto until =
          began_ + std::chrono::duration_cast<Clock::duration>(step * static_cast<double>(next_ + 1 - resumed_at_));
      RETORT_RETURN_IF_ERROR(SleepUntil(until));
      chain_ = Link(chain_, spec_.seed, next_);
      RETORT_RETURN_IF_ERROR(Report());
      if (Since(committed_) < spec_.execution.checkpoint_seconds || next_ + 1 == spec_.steps) continue;
      RETORT_RETURN_IF_ERROR(Commit(next_ + 1));
    }
    return {};
  }

  Status SleepUntil(Clock::time_point until) {
    for (;;) {
      if (const std::optional<cluster::Stop> stop = host_.StopRequested()) return Stopped(*stop);
      const Seconds left = until - Clock::now();
      if (left.count() <= 0) return {};
      std::this_thread::sleep_for(std::min(left, kLook));
    }
  }

  Status Stopped(const cluster::Stop& stop) {
    if (stop.save) RETORT_RETURN_IF_ERROR(Commit(next_));
    return Fail(FailureKind::stopped,
                Cancelled("Stopped before step " + std::to_string(next_) + " of " + std::to_string(spec_.steps) +
                          (stop.save ? "; the state is saved." : "; the state was not saved.")));
  }

  Status Report() {
    // The attempt's end reports the same, and a report just before it would cost the journal a record.
    if (next_ + 1 == spec_.steps || (next_ != resumed_at_ && Since(reported_) < ReportSeconds(spec_))) return {};
    reported_ = Clock::now();
    const Status said = host_.Report(cluster::Progress{next_ + 1, spec_.steps, kPhase, {}});
    return said.ok() ? said : Fail(FailureKind::agent_lost, said);
  }

  Status Commit(std::int64_t steps) {
    const Status opened = OpenStore();
    if (!opened.ok()) return Fail(FailureKind::disk, opened);
    storage::Checkpoint checkpoint{steps, {}, {{"chain", chain_}}};
    const Clock::time_point began = Clock::now();
    const Result<std::string> digest = store_->Commit(checkpoint);
    if (!digest.ok()) return Fail(FailureKind::disk, digest.status());
    committed_ = Clock::now();
    const double seconds = std::chrono::duration<double>(committed_ - began).count();
    const Status said = host_.Report(cluster::CheckpointCommitted{steps, *digest, seconds, 0});
    return said.ok() ? said : Fail(FailureKind::agent_lost, said);
  }

  const TrialOrder& order_;
  TrialHost& host_;
  storage::Env& env_;
  TrialSpec spec_;
  std::unique_ptr<storage::CheckpointStore> store_;  // opened when there is something to load or to save
  std::string chain_;
  std::int64_t next_ = 0, resumed_at_ = 0;  // steps completed; those completed by earlier attempts
  Clock::time_point began_ = Clock::now(), committed_ = began_, reported_ = began_;
  FailureKind failure_ = FailureKind::internal;
};

}  // namespace

bool IsSleep(const cluster::Start& start) {
  const Result<TrialSpec> spec = DecodeTrialSpec(start.spec);
  return spec.ok() && IsSleeper(FindKind(*spec));
}

cluster::Ended RunSleepTrial(const TrialOrder& order, TrialHost& host, storage::Env& env) {
  if (order.start.gang_rank > 0) {
    cluster::Ended ended;
    ended.succeeded = true;  // gang rank 0 sleeps for all
    return ended;
  }
  return SleepRun(order, host, env).Run();
}

}  // namespace retort::worker
