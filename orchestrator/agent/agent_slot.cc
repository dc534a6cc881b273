#include "orchestrator/agent/agent_slot.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace retort::orchestrator {
namespace {

constexpr double kEndGraceSeconds = 1;  // from end of file on the socket to SIGKILL
constexpr double kLookAgainSeconds = 0.002;
// A process that outlives SIGKILL by so many seconds waits for a disk or a device, perhaps for hours.
constexpr double kStuckSeconds = 1;
constexpr double kLookRarelySeconds = 1;
// Messages of one worker before the other slots have their turn.
constexpr int kMaxMessagesPerPoll = 256;
// Messages of a process that has ended: more than its socket holds.
constexpr int kMaxLastMessages = 1 << 16;

cluster::SpawnBackoff::TimePoint ToTimePoint(double seconds) {
  return cluster::SpawnBackoff::TimePoint(
      std::chrono::duration_cast<cluster::SpawnBackoff::TimePoint::duration>(std::chrono::duration<double>(seconds)));
}

double ToSeconds(cluster::SpawnBackoff::TimePoint point) {
  return std::chrono::duration<double>(point.time_since_epoch()).count();
}

bool IsForOrchestrator(const cluster::Message& message) {
  return std::holds_alternative<cluster::Progress>(message) || std::holds_alternative<cluster::Reserve>(message) ||
         std::holds_alternative<cluster::Settle>(message) || std::holds_alternative<cluster::GangAddress>(message) ||
         std::holds_alternative<cluster::CheckpointCommitted>(message);
}

}  // namespace

bool AgentSlot::IsCurrent(AttemptId attempt, Generation generation) const {
  return assignment_ && assignment_->attempt == attempt && assignment_->generation == generation;
}

void AgentSlot::Lease(AttemptId attempt, Generation generation, const cluster::Start& start, double deadline_seconds,
                      double now) {
  if (IsCurrent(attempt, generation)) return;  // said twice
  Forget();
  assignment_ =
      Assignment{attempt, generation, start, false, StepWatch(now, deadline_seconds), std::nullopt, std::nullopt};
  Poll(now);
}

void AgentSlot::ForwardToWorker(const cluster::Envelope& envelope, double now) {
  if (!IsCurrent(envelope.attempt, envelope.generation)) return;
  if (const auto* stop = std::get_if<cluster::Stop>(&envelope.message)) {
    if (stop->save)
      Drain(true, stop->deadline_seconds, now);
    else
      Forget();
    return;
  }
  const bool addressed = std::holds_alternative<cluster::GangReady>(envelope.message) ? !Leads() : Leads();
  if (!addressed) return;
  if (!assignment_->sent) {
    assignment_->early = envelope;  // its worker is on its way, or the one before it is still going
    return;
  }
  if (worker_ && !killed_ && !worker_->Send(envelope).ok()) closed_ = true;
}

void AgentSlot::Drain(bool save, double deadline_seconds, double now) {
  if (!assignment_) return;
  if (!assignment_->sent) {
    Report(FailureKind::stopped, "stopped before its worker was up");
    return;
  }
  if (killed_ || assignment_->kill_at) return;
  assignment_->kill_at = now + deadline_seconds;
  const cluster::Envelope envelope{assignment_->attempt, assignment_->generation, 0,
                                   cluster::Stop{save, deadline_seconds}};
  if (!worker_->Send(envelope).ok()) closed_ = true;
}

void AgentSlot::Poll(double now) {
  if (worker_) {
    Receive(now, kMaxMessagesPerPoll);
    ReapWorker(now);
  }
  CheckDeadlines(now);
  if (assignment_ && !worker_) Spawn(now);
  if (assignment_ && worker_ && hello_received_ && !closed_ && !killed_ && !assignment_->sent) SendStart(now);
}

void AgentSlot::ReapWorker(double now) {
  if (std::optional<WorkerEnd> end = worker_->Reap()) {
    Receive(now, kMaxLastMessages);
    OnWorkerEnd(*end, now);
    return;
  }
  if (!closed_ && !killed_) return;
  // A process without its socket is of no use.
  if (end_due_ == 0) end_due_ = now + kEndGraceSeconds;
  next_reap_check_ = now + (now >= end_due_ + kStuckSeconds ? kLookRarelySeconds : kLookAgainSeconds);
  if (now >= end_due_) worker_->Kill();
}

void AgentSlot::Spawn(double now) {
  if (backoff_.GaveUp()) {
    Report(FailureKind::spawn, "no worker of this slot stays alive");
    return;
  }
  if (!backoff_.MaySpawn(ToTimePoint(now))) return;
  backoff_.Spawned(ToTimePoint(now));
  Result<std::unique_ptr<WorkerPort>> worker = spawn_(slot_, assignment_->start);
  if (!worker.ok()) {
    backoff_.Ended(ToTimePoint(now));
    Report(FailureKind::spawn, worker.status().message());
    return;
  }
  ++spawns_;
  worker_ = std::move(*worker);
  assignment_->watch.Advanced(now);
}

void AgentSlot::SendStart(double now) {
  const cluster::Envelope envelope{assignment_->attempt, assignment_->generation, 0, assignment_->start};
  Status sent = worker_->Send(envelope);
  if (sent.ok() && assignment_->early) sent = worker_->Send(*assignment_->early);
  assignment_->sent = true;
  assignment_->watch.Advanced(now);
  if (sent.ok())
    backoff_.MarkHealthy();
  else
    closed_ = true;
}

void AgentSlot::Receive(double now, int most) {
  for (; worker_ && !closed_ && most > 0; --most) {
    Result<std::optional<cluster::Envelope>> received = worker_->Receive();
    if (received.ok() && !received->has_value()) return;
    if (received.ok()) {
      if (!killed_) FromWorker(**received, now);
    } else if (received.status().code() == StatusCode::refused) {
      ++malformed_;
      if (!killed_) KillAndReport(FailureKind::bad_message, received.status().message());
    } else {
      closed_ = true;
    }
  }
}

void AgentSlot::FromWorker(const cluster::Envelope& envelope, double now) {
  if (std::holds_alternative<cluster::Hello>(envelope.message)) {
    hello_received_ = true;
    outgoing_.push_back(envelope);
    return;
  }
  if (!IsCurrent(envelope.attempt, envelope.generation) || !assignment_->sent) return;  // of an attempt that is over
  if (const auto* ended = std::get_if<cluster::Ended>(&envelope.message)) {
    OnEnded(envelope, *ended);
    return;
  }
  if (!IsForOrchestrator(envelope.message)) {
    ++malformed_;
    KillAndReport(FailureKind::bad_message, "the worker sent a message that only an orchestrator sends");
    return;
  }
  if (const auto* progress = std::get_if<cluster::Progress>(&envelope.message))
    assignment_->watch.Progressed(now, progress->step, progress->phase);
  else
    assignment_->watch.Advanced(now);
  if (Leads()) outgoing_.push_back(envelope);
}

void AgentSlot::OnEnded(const cluster::Envelope& envelope, const cluster::Ended& ended) {
  // Gang rank 0 reports how the attempt ended; other members report only failures of their own.
  if (Leads() || (!ended.succeeded && ended.failure != FailureKind::stopped)) outgoing_.push_back(envelope);
  assignment_.reset();
  // What made an attempt fail may live on in the process: a poisoned device context, exhausted memory.
  if (!ended.succeeded && ended.failure != FailureKind::stopped) KillAndReport(FailureKind::none, "");
}

void AgentSlot::OnWorkerEnd(const WorkerEnd& end, double now) {
  const std::optional<WorkerEnd> verdict = std::exchange(kill_cause_, std::nullopt);
  const bool killed_by_agent = std::exchange(killed_, false);
  worker_.reset();
  hello_received_ = closed_ = false;
  end_due_ = 0;
  // A process that this agent killed does not count as a failed start.
  if (!killed_by_agent) backoff_.Ended(ToTimePoint(now));
  if (verdict)
    Report(verdict->failure, verdict->text);
  else if (assignment_ && !killed_by_agent)
    Report(!assignment_->sent && end.by_itself ? FailureKind::spawn : end.failure, end.text);
}

void AgentSlot::CheckDeadlines(double now) {
  if (!assignment_ || !worker_ || closed_ || killed_) return;
  if (assignment_->kill_at && now >= *assignment_->kill_at)
    KillAndReport(FailureKind::stopped, "it did not save and stop before the deadline");
  else if (now >= assignment_->watch.expires_at())
    KillAndReport(FailureKind::worker_hang,
                  assignment_->sent
                      ? fmt::format("no step progress for {:.3g} s (deadline)", assignment_->watch.allowed())
                      : fmt::format("its worker did not say Hello within {:.3g} s", assignment_->watch.allowed()));
}

void AgentSlot::KillAndReport(FailureKind failure, const std::string& detail) {
  if (!worker_) return;
  killed_ = true;
  if (failure != FailureKind::none) kill_cause_ = WorkerEnd{failure, detail};
  worker_->Kill();
}

void AgentSlot::Forget() {
  kill_cause_.reset();
  const bool sent = assignment_ && assignment_->sent;
  assignment_.reset();
  if (sent) KillAndReport(FailureKind::none, "");
}

void AgentSlot::Report(FailureKind failure, const std::string& detail) {
  if (!assignment_) return;
  outgoing_.push_back({assignment_->attempt, assignment_->generation, 0, cluster::WorkerLost{failure, detail}});
  assignment_.reset();
}

void AgentSlot::Kill() {
  assignment_.reset();
  kill_cause_.reset();
  worker_.reset();
  hello_received_ = closed_ = killed_ = false;
  end_due_ = 0;
}

void AgentSlot::IgnoreGap(double seconds) {
  if (assignment_) assignment_->watch.IgnoreGap(seconds);
}

double AgentSlot::NextDeadline() const {
  if (worker_ && (closed_ || killed_)) return next_reap_check_;
  if (!assignment_) return std::numeric_limits<double>::infinity();
  if (!worker_) return ToSeconds(backoff_.not_before());
  const double silent = assignment_->watch.expires_at();
  return assignment_->kill_at ? std::min(silent, *assignment_->kill_at) : silent;
}

}  // namespace retort::orchestrator
