#include "worker/run/trial_runner.h"

#include <ATen/Parallel.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "experiments/methods/methods.h"
#include "experiments/methods/spec_codec.h"
#include "experiments/privacy/claim.h"
#include "experiments/privacy/claims.h"
#include "storage/formats/tensor_blob.h"
#include "storage/results/attempt_file.h"
#include "storage/results/checkpoint_store.h"
#include "worker/data/dataset.h"
#include "worker/gang/collective_decorators.h"
#include "worker/gang/row_share.h"
#include "worker/methods/method.h"
#include "worker/methods/release_replay.h"
#include "worker/methods/stop_rule.h"
#include "worker/models/training_scopes.h"
#include "worker/release/mechanism.h"
#include "worker/release/validation_count.h"
#include "worker/run/attempt_cost.h"
#include "worker/run/checkpoint_stamp.h"
#include "worker/run/failure.h"
#include "worker/run/finished_attempt.h"
#include "worker/run/guarded_host.h"
#include "worker/run/ledger_view.h"
#include "worker/run/provenance.h"
#include "worker/run/trial_inputs.h"
#include "worker/run/trial_metrics.h"
#include "worker/sleep/sleep_trial.h"
#include "worker/sleep/trial_host.h"
#include "worker/tensors/tensor_codec.h"
#include "worker/tensors/train_state.h"

namespace retort::worker {
namespace {

using Clock = std::chrono::steady_clock;
using MaybeFailure = std::optional<Failure>;

constexpr std::chrono::seconds kBlameDelay{2};

double SecondsSince(Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); }

// `status` as a failure of a stage, or nothing.
MaybeFailure Check(const Status& status, FailureKind otherwise) {
  if (status.ok()) return std::nullopt;
  return MakeFailure(status, otherwise);
}

class TrialRun {
 public:
  TrialRun(const TrialOrder& order, TrialHost& host, storage::Env& env, const GangJoiner& join,
           const DeviceOpener& open)
      : order_(order), host_(host), env_(env), join_(join), open_(open) {}

  cluster::Ended Run() {
    cluster::Ended ended;
    MaybeFailure failure = CatchTorch([&] { return Stages(); });
    if (failure && gang_ != nullptr && !gang_->status().ok()) failure = GangBroken();
    // How a trial ends depends on what was released, and so does why it failed.
    if (const Status durable = host_.AwaitAnswers(); !durable.ok()) failure = MakeReleaseFailure(durable);
    if (failure) {
      ended.failure = failure->kind;
      ended.detail = failure->detail;
      return ended;
    }
    ended.succeeded = true;
    if (!Leads()) return ended;
    if (finished_) return *finished_;
    ended.metrics = outcome_.metrics;
    ended.timings = Timings();
    ended.parameters_digest = ComputeDigest(outcome_.parameters);
    ended.file = FormatAttemptFilePath(order_.start.attempt_directory);
    return ended;
  }

 private:
  MaybeFailure Stages() {
    if (MaybeFailure failure = Prepare()) return failure;
    if (MaybeFailure failure = TakeOverFinished()) return failure;
    if (finished_) return std::nullopt;
    if (MaybeFailure failure = JoinGang()) return failure;
    if (Leads()) {
      if (MaybeFailure failure = OpenStore()) return failure;
    }
    if (MaybeFailure failure = BuildMethod()) return failure;
    if (MaybeFailure failure = Resume()) return failure;
    if (MaybeFailure failure = Advance()) return failure;
    if (const Status measured = MeasureDevices(order_.start.device, inputs_.meter.get(), *gang_, device_use_);
        !measured.ok())
      return MakeFailure(measured, FailureKind::gang_broken);
    if (Leads()) {
      if (MaybeFailure failure = Finish()) return failure;
    }
    if (HasPrivateScore(spec_)) {
      if (MaybeFailure failure = DrawScore()) return failure;
    }
    return Leads() ? Publish() : std::nullopt;
  }

  [[nodiscard]] bool Leads() const { return order_.start.gang_rank == 0; }

  MaybeFailure JoinGang() {
    Result<std::unique_ptr<Collective>> gang = join_(order_.start, Generation{order_.generation}, host_);
    if (!gang.ok()) return MakeFailure(gang.status(), FailureKind::gang_broken);
    gang_ = std::make_unique<WatchedCollective>(std::move(gang).value());
    return std::nullopt;
  }

  // A dead member's agent or gang rank 0 knows the cause and has a moment to report it: the agent then ends this worker
  // before it reports a broken gang.
  Failure GangBroken() {
    const auto until = Clock::now() + kBlameDelay;
    while (Clock::now() < until && !host_.StopRequested()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    // Gang rank 0, which was asked as well, is gone because it has saved; its answer counts.
    if (!Leads() && host_.StopRequested()) return {FailureKind::stopped, "stopped with its gang"};
    return {FailureKind::gang_broken, gang_->status().message()};
  }

  MaybeFailure Prepare() {
    if (MaybeFailure failure = LoadTrialInputs(order_, env_, open_, inputs_, &host_)) return failure;
    at::set_num_threads(spec_.threads);
    tf32_.emplace(spec_.precision, inputs_.data.device);
    return std::nullopt;
  }

  // An earlier attempt may have published its file and died before it reported its end.
  MaybeFailure TakeOverFinished() {
    auto finished = FindFinishedAttempt(env_, order_, spec_, inputs_.teacher_digest);
    if (!finished.ok()) return MakeFailure(finished.status(), FailureKind::disk);
    finished_ = std::move(finished).value();
    if (!finished_ || !Leads()) return std::nullopt;
    if (MaybeFailure failure = OpenStore()) return failure;
    const Status counted = CountFinishedAttempt(env_, order_, spec_, inputs_.teacher_claims, host_, *finished_);
    return Check(counted.ok() ? store_->RemoveCheckpoints() : counted, FailureKind::disk);
  }

  MaybeFailure OpenStore() {
    auto store = storage::CheckpointStore::Open(env_, order_.start.trial_directory, order_.attempt.number,
                                                static_cast<std::size_t>(spec_.execution.checkpoint_keep));
    if (!store.ok()) return MakeFailure(store.status(), FailureKind::disk);
    store_ = std::move(store).value();
    host_.Guard(*store_);
    ledger_ = std::make_unique<LedgerView>(host_, *store_, order_.attempt, order_.generation, spec_.data->digest);
    return std::nullopt;
  }

  // The agent waits longer for the first step, in a gang for the slowest member, since frozen layers are fitted first.
  MaybeFailure BuildMethod() {
    if (MaybeFailure failure = Tell(std::string(cluster::kPreparingPhase))) return failure;
    const bool alone = gang_->size() == 1;
    if (inputs_.graphs != nullptr && (alone || gang_->CanBeRecorded()))
      graphs_ = std::make_unique<StepGraphs>(*inputs_.graphs, inputs_.data.device, alone ? nullptr : gang_.get());
    tape_ = std::make_unique<ReleaseReplay>(store_.get(), *gang_, inputs_.data.device);
    Result<std::unique_ptr<Method>> method =
        MakeMethod({spec_, inputs_.data, inputs_.teacher ? &*inputs_.teacher : nullptr, *tape_, *gang_, inputs_.noise,
                    &env_, graphs_.get()});
    if (!method.ok()) return MakeFailure(method.status(), FailureKind::data);
    method_ = std::move(method).value();
    method_->Register(state_);
    if (Leads()) ledger_->Record(method_->Facts(), FindVoids(inputs_));
    return std::nullopt;
  }

  MaybeFailure Tell(const std::string& phase) {
    return Check(host_.Report(cluster::Progress{0, 0, phase, {}}), FailureKind::agent_lost);
  }

  // Gang rank 0 restores; the others take over its state.
  MaybeFailure Resume() {
    if (Leads()) {
      if (MaybeFailure failure = Restore()) return failure;
    }
    const Result<at::Tensor> step = BroadcastFromRoot(at::full({1}, next_, at::kLong), *gang_);
    if (!step.ok()) return MakeFailure(step.status(), FailureKind::gang_broken);
    next_ = step->item<std::int64_t>();
    if (MaybeFailure failure = Check(state_.BroadcastFromRoot(*gang_), FailureKind::gang_broken)) return failure;
    if (MaybeFailure failure = Check(tape_->ShareReplays(), FailureKind::gang_broken)) return failure;
    return Tell("starting");
  }

  // The newest checkpoint and the releases made after it; or a first checkpoint, so that the folder stands
  // alone whenever the attempt ends.
  MaybeFailure Restore() {
    Result<std::optional<storage::Checkpoint>> latest = store_->Latest();
    if (!latest.ok()) return MakeFailure(latest.status(), FailureKind::disk);
    if (latest->has_value()) {
      const storage::Checkpoint& checkpoint = **latest;
      if (const Status status = CheckStamp(checkpoint.attributes, spec_, order_.start.gang_size); !status.ok())
        return Failure{FailureKind::configuration, status.message()};
      if (MaybeFailure failure = Check(state_.Load(checkpoint.tensors), FailureKind::disk)) return failure;
      if (MaybeFailure failure = Check(ledger_->Load(checkpoint.attributes), FailureKind::disk)) return failure;
      trained_on_ = DescribeTrainedOn(checkpoint.attributes, order_.start.device);
      next_ = committed_step_ = checkpoint.step;
    }
    Result<std::vector<storage::TranscriptRecord>> transcript = store_->Transcript();
    if (!transcript.ok()) return MakeFailure(transcript.status(), FailureKind::disk);
    for (const storage::TranscriptRecord& record : *transcript) {
      const Result<bool> grant = ledger_->Absorb(record);
      if (!grant.ok()) return MakeFailure(grant.status(), FailureKind::disk);
      if (*grant) continue;
      if (MaybeFailure failure = Check(tape_->Insert(record), FailureKind::disk)) return failure;
    }
    ledger_->CountLedgerCharges(order_.start.charged);
    // A part of the private labels is charged by itself, and so is a release where two mechanisms share the plan, so
    // that no block of one reserves what the other is to draw.
    const bool alone = Releases(FindKind(spec_), ReleaseKind::labels) || spec_.release.threshold_noise > 0;
    const std::int64_t block = alone ? 1 : spec_.execution.reserve_block;
    book_ = std::make_unique<release::ChargeBook>(ledger_.get(), block, ledger_->DrawsLeft(spec_));
    tape_->UseChargeBook(*book_);
    if (const Status charged = ledger_->ChargeMissingDraws(order_.start.charged, host_); !charged.ok())
      return StepFailed(charged);
    return latest->has_value() ? std::nullopt : Commit();
  }

  MaybeFailure Advance() {
    resumed_at_ = next_;
    training_ = Clock::now();
    for (; next_ < method_->steps(); ++next_) {
      if (Leads()) {
        if (const std::optional<cluster::Stop> stop = host_.StopRequested()) return Stopped(*stop);
        ledger_->BeginStep(next_);
      }
      Series series;
      const Clock::time_point began = Clock::now();
      const Status done = method_->Step(next_, series);
      if (!done.ok()) return StepFailed(done);
      series.emplace_back("step_seconds", SecondsSince(began));
      if (MaybeFailure failure = Record(series)) return failure;
      if (next_ + 1 < method_->steps() && IsStopCheck(spec_, next_ + 1)) {
        const Result<bool> stop = AgreeToStop(series);
        if (!stop.ok()) return MakeFailure(stop.status(), FailureKind::internal);
        if (*stop) return StopByRule();
      }
      if (!Leads() || !CommitDue() || next_ + 1 == method_->steps()) continue;
      ++next_;
      MaybeFailure failure = Commit();
      --next_;
      if (failure) return failure;
    }
    training_seconds_ = SecondsSince(training_);
    return Leads() ? Settle() : std::nullopt;
  }

  // After step `next_`.
  bool CommitDue() const {
    if (spec_.execution.checkpoint_steps > 0 && next_ + 1 - committed_step_ >= spec_.execution.checkpoint_steps)
      return true;
    return SecondsSince(committed_) >= spec_.execution.checkpoint_seconds;
  }

  // Gang rank 0 measures; all stop together. What the others do next tells what it found.
  Result<bool> AgreeToStop(const Series& series) {
    bool stop = false;
    if (Leads()) {
      RETORT_ASSIGN_OR_RETURN(stop, ShouldStop(spec_, series, *method_));
      RETORT_RETURN_IF_ERROR(host_.AwaitAnswers());
    }
    RETORT_ASSIGN_OR_RETURN(const at::Tensor agreed, BroadcastFromRoot(at::full({1}, stop ? 1 : 0, at::kLong), *gang_));
    return agreed.item<std::int64_t>() != 0;
  }

  // The claims stay those of all steps, since the step it stopped at depends on what was released: what the plan
  // has left is charged as if it had been drawn.
  MaybeFailure StopByRule() {
    stopped_at_ = ++next_;
    training_seconds_ = SecondsSince(training_);
    if (!Leads()) return std::nullopt;
    if (MaybeFailure failure = Settle()) return failure;
    const Status charged = ledger_->ChargeRemainingDraws(ledger_->DrawsLeft(spec_));
    return charged.ok() ? std::nullopt : StepFailed(charged);
  }

  MaybeFailure StepFailed(const Status& status) {
    if (Leads() && !ledger_->refusal().empty()) return Failure{FailureKind::budget_refused, ledger_->refusal()};
    if (status.code() == StatusCode::cancelled) {
      if (const std::optional<cluster::Stop> stop = host_.StopRequested()) return Stopped(*stop);
      return Failure{FailureKind::agent_lost, status.message()};
    }
    if (status.code() == StatusCode::environment) return MakeReleaseFailure(status);
    return MakeFailure(status, status.code() == StatusCode::damage ? FailureKind::disk : FailureKind::internal);
  }

  // Between steps: recorded with the step before, unless a checkpoint covers that.
  MaybeFailure Settle() {
    ledger_->BeginStep(std::max(next_ - 1, committed_step_));
    return Check(book_->SettleAll(), FailureKind::agent_lost);
  }

  MaybeFailure Stopped(const cluster::Stop& stop) {
    if (MaybeFailure failure = Settle()) return failure;
    if (stop.save) {
      if (MaybeFailure failure = Commit()) return failure;
    }
    const std::string where = std::to_string(next_) + " of " + std::to_string(method_->steps());
    const char* state = stop.save ? "; the state is saved." : "; the state was not saved.";
    return Failure{FailureKind::stopped, "Stopped before step " + where + state};
  }

  // A value that is not finite ends the attempt.
  MaybeFailure CheckFinite(const Series& series) const {
    for (const auto& [name, value] : series) {
      if (std::isfinite(value)) continue;
      return Failure{FailureKind::not_finite, "'" + name + "' is not finite after step " + std::to_string(next_) + "."};
    }
    return std::nullopt;
  }

  // Appends to the curves and reports to the agent. Gang rank 0 alone, which knows what is durable, says anything that
  // depends on released answers.
  MaybeFailure Record(const Series& series) {
    if (Leads()) {
      if (MaybeFailure failure = CheckFinite(series)) return failure;
      store_->AppendSeries(next_, series);
    }
    const bool last = next_ + 1 == method_->steps();
    if (!last && next_ != resumed_at_ && SecondsSince(reported_) < ReportSeconds(spec_)) return std::nullopt;
    reported_ = Clock::now();
    const Series said = Leads() ? series : Series();
    return Check(host_.Report(cluster::Progress{next_ + 1, method_->steps(), method_->phase(next_), said}),
                 FailureKind::agent_lost);
  }

  // State after `next_` completed steps.
  MaybeFailure Commit() {
    storage::Checkpoint checkpoint{next_, state_.Save(), {}};
    if (!AreAllFinite(checkpoint.tensors)) {
      return Failure{FailureKind::not_finite, "A parameter is not finite after " + std::to_string(next_) + " steps."};
    }
    ledger_->Save(checkpoint.attributes);
    StampCheckpoint(checkpoint.attributes, spec_, order_.start.gang_size);
    StampTrainedOn(checkpoint.attributes, trained_on_);
    const Clock::time_point began = Clock::now();
    const Result<std::string> digest = store_->Commit(checkpoint);
    if (!digest.ok()) return MakeFailure(digest.status(), FailureKind::disk);
    committed_ = Clock::now();
    committed_step_ = next_;
    const std::int64_t bytes = storage::ComputeByteSize(checkpoint.tensors);
    return Check(host_.Report({next_, *digest, SecondsSince(began), bytes}), FailureKind::agent_lost);
  }

  MaybeFailure AddMetrics() {
    if (spec_.stop.metric != StopMetric::none) {
      outcome_.metrics.emplace_back("stop.step", static_cast<double>(stopped_at_ > 0 ? stopped_at_ : method_->steps()));
    }
    const Result<Series> own = ComputeTrialMetrics(spec_, inputs_.data, outcome_);
    if (!own.ok()) return MakeFailure(own.status(), FailureKind::internal);
    outcome_.metrics.insert(outcome_.metrics.end(), own->begin(), own->end());
    const Result<Series> score = MeasureScore(spec_, inputs_.data, outcome_);
    if (!score.ok()) return MakeFailure(score.status(), FailureKind::internal);
    outcome_.metrics.insert(outcome_.metrics.end(), score->begin(), score->end());
    return std::nullopt;
  }

  MaybeFailure Finish() {
    Result<Outcome> outcome = method_->Finish();
    if (!outcome.ok()) return MakeFailure(outcome.status(), FailureKind::internal);
    outcome_ = std::move(outcome).value();
    return std::nullopt;
  }

  // The score on private examples: charged before it is drawn, and drawn once, whichever attempt asks. Its release
  // comes after those of every step. Of a gang, rank 0 counts and draws.
  MaybeFailure DrawScore() {
    const std::int64_t place = method_->steps();
    if (Leads()) {
      ledger_->BeginStep(place);
      const auto facts = SelectFacts({{privacy::kFactValidationApart, inputs_.data.validation_apart}});
      ledger_->Record(facts, FindVoids(inputs_));
    }
    std::optional<release::ChargeBook> book;
    if (Leads()) book.emplace(ledger_.get(), 1, 1);
    const Result<at::Tensor> score = tape_->Obtain(place, [&](release::ChargeBook*) -> Result<at::Tensor> {
      if (!book) return at::full({1}, 0, at::kLong);
      RETORT_ASSIGN_OR_RETURN(auto mechanism, release::ValidationScore::Create(spec_, release::MakeNoiseKey(spec_)));
      RETORT_ASSIGN_OR_RETURN(release::ValidationCount count, CountValidation(spec_, inputs_.data, outcome_));
      RETORT_ASSIGN_OR_RETURN(release::Charge charge, book->Take(mechanism.Describe(), 1));
      return mechanism.Release(std::move(count), std::move(charge));
    });
    if (!score.ok()) return StepFailed(score.status());
    if (!Leads()) return std::nullopt;
    if (const Status settled = book->SettleAll(); !settled.ok()) return StepFailed(settled);
    const Series noisy = MakeScoreSeries(spec_, score->item<std::int64_t>());
    outcome_.metrics.insert(outcome_.metrics.end(), noisy.begin(), noisy.end());
    return std::nullopt;
  }

  MaybeFailure Publish() {
    if (MaybeFailure failure = AddMetrics()) return failure;
    if (!AreAllFinite(outcome_.parameters)) {
      return Failure{FailureKind::not_finite, "A final parameter is not finite."};
    }
    if (MaybeFailure failure = Check(store_->FlushSeries(), FailureKind::disk)) return failure;
    auto curves = store_->Series();
    if (!curves.ok()) return MakeFailure(curves.status(), FailureKind::disk);
    storage::AttemptFile file;
    file.trial = order_.attempt.trial.Hex();
    file.sweep = order_.start.sweep;
    file.spec_json = order_.start.spec;
    file.provenance_json = FormatProvenanceJson(order_.build, spec_, order_.start.device, trained_on_, Timings(),
                                                graphs_ ? graphs_->Uses() : std::vector<RegionUse>());
    file.attempt = order_.attempt.number;
    file.teacher_digest = inputs_.teacher_digest;
    file.metrics = outcome_.metrics;
    file.timings = Timings();
    file.curves = std::move(curves).value();
    file.samples = outcome_.samples;
    file.parameters = outcome_.parameters;
    file.evaluation = outcome_.evaluation;
    file.ledger = ledger_->entries();
    file.claims = privacy::ComputeClaims({&spec_, inputs_.teacher_claims}, ledger_->Charged());
    const Status written = storage::WriteAttemptFile(env_, order_.start.attempt_directory + "/attempt.h5", file);
    if (!written.ok()) return MakeFailure(written, FailureKind::disk);
    return Check(store_->RemoveCheckpoints(), FailureKind::disk);
  }

  Series Timings() const {
    const std::int64_t last = stopped_at_ > 0 ? stopped_at_ : method_->steps();
    const auto steps = static_cast<double>(std::max<std::int64_t>(1, last - resumed_at_));
    return MakeTimings({SecondsSince(began_), training_seconds_, training_seconds_ / steps, device_use_});
  }

  const TrialOrder& order_;
  GuardedHost host_;
  storage::Env& env_;
  const GangJoiner& join_;
  const DeviceOpener& open_;
  std::unique_ptr<WatchedCollective> gang_;
  TrialInputs inputs_;
  const TrialSpec& spec_ = inputs_.spec;
  std::optional<Tf32Scope> tf32_;
  std::optional<cluster::Ended> finished_;  // what an earlier attempt left
  std::unique_ptr<storage::CheckpointStore> store_;
  std::unique_ptr<LedgerView> ledger_;
  std::unique_ptr<release::ChargeBook> book_;
  std::unique_ptr<ReleaseReplay> tape_;
  std::unique_ptr<StepGraphs> graphs_;  // null: nothing is recorded
  std::unique_ptr<Method> method_;
  TrainState state_;
  std::string trained_on_ = DescribeTrainedOn({}, order_.start.device);
  Outcome outcome_;
  std::int64_t stopped_at_ = 0;             // steps completed when the stop rule ended it; 0 = it did not
  std::int64_t next_ = 0, resumed_at_ = 0;  // steps completed; those completed by earlier attempts
  std::int64_t committed_step_ = 0;         // steps completed at the last commit
  Clock::time_point began_ = Clock::now(), training_ = began_, committed_ = began_, reported_ = began_;
  double training_seconds_ = 0;
  DeviceUse device_use_;
};

}  // namespace

cluster::Ended RunTrial(const TrialOrder& order, TrialHost& host, storage::Env& env, const GangJoiner& join,
                        const DeviceOpener& open) {
  if (IsSleep(order.start)) return RunSleepTrial(order, host, env);
  return TrialRun(order, host, env, join, open).Run();
}

}  // namespace retort::worker
