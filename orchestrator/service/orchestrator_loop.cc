#include "orchestrator/service/orchestrator_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/base/number_text.h"
#include "orchestrator/journal/recovery.h"
#include "orchestrator/process/system_clock.h"
#include "orchestrator/reactor/admission.h"
#include "orchestrator/reactor/amendment.h"
#include "orchestrator/reactor/reactor.h"
#include "orchestrator/reactor/scheduler.h"

namespace retort::orchestrator {
namespace {

using Milliseconds = std::chrono::milliseconds;

// Time for all ranks to register, from the start of rank 0's loop.
constexpr double kRegistrationSeconds = 60;
// Messages of all agents in one turn, before workers, signals and the disk are served.
constexpr int kMaxMessagesPerTurn = 4096;

// MPI has no descriptor to wait on and is polled; alone, only workers, signals and deadlines matter.
cluster::IdleWait MakeIdleWait(const cluster::Channel* channel) {
  if (channel == nullptr) return cluster::IdleWait(Milliseconds(1000), Milliseconds(1000));
  return cluster::IdleWait(Milliseconds(1), Milliseconds(20));
}

// The logs end with the last commit.
Status Interrupted(const Status& cause) {
  return {cause.code(),
          cause.message() + " The run has ended, its workers with it; everything recorded before is kept."};
}

}  // namespace

OrchestratorLoop::OrchestratorLoop(Recovered& recovered, StopSignals& signals, cluster::Channel* channel,
                                   Publication& publication, ProgressView& view, std::unique_ptr<Agent> agent,
                                   RunFacts facts, LoopLimits limits, CostRecorder& costs, RequestInbox requests,
                                   AuditWatch audits, FolderWatch folder)
    : recovered_(recovered),
      core_(recovered.core),
      signals_(signals),
      channel_(channel),
      publication_(publication),
      view_(view),
      agent_(std::move(agent)),
      facts_(std::move(facts)),
      limits_(std::move(limits)),
      costs_(costs),
      requests_(std::move(requests)),
      audits_(audits),
      folder_(std::move(folder)),
      stall_(std::exchange(limits_.stall, {})),
      idle_(MakeIdleWait(channel)) {}

Result<bool> OrchestratorLoop::Run(Outbox outbox) {
  outbox_ = std::move(outbox);
  core_.may_lease = false;
  lease_from_ = clock_.Read().monotonic + kRegistrationSeconds;
  for (;;) {
    Result<bool> over = Turn();
    if (!over.ok() || *over || signals_.at_once()) {
      agent_->KillAll();
      const Now now = clock_.Read();
      if (const std::string killed = stall_.End(now.monotonic); !killed.empty()) view_.PrintLine(killed, now, true);
      view_.Finish();
      if (!over.ok()) return Interrupted(over.status());
      return signals_.at_once();
    }
    Wait(clock_.Read());
  }
}

void OrchestratorLoop::SearchBy(PlanSearch plan) {
  plan_search_ = std::move(plan);
  core_.more_may_come = true;
}

Status OrchestratorLoop::Suggest(Now now) {
  if (!plan_search_) return {};
  RETORT_ASSIGN_OR_RETURN(const std::size_t added, ContinueSearch(core_, plan_search_, now, outbox_));
  if (added > 0 && !core_.fills_slots)
    view_.PrintLine(fmt::format("search: {} have ended, {} more suggested from their scores",
                                FormatTrialCount(static_cast<std::int64_t>(core_.plan().size() - added)), added),
                    now);
  if (core_.search_trouble != told_trouble_) {
    told_trouble_ = core_.search_trouble;
    view_.PrintLine("search: it ends when what runs has ended, since nothing more can be planned: " + told_trouble_,
                    now, true);
  }
  return {};
}

Result<bool> OrchestratorLoop::Turn() {
  const Now now = clock_.Read();
  OnWake(core_, now);
  HandleSignals(now);
  RETORT_RETURN_IF_ERROR(folder_.Look(now.monotonic));
  RETORT_RETURN_IF_ERROR(Receive(now));
  agent_->Poll(now.monotonic);
  ReceiveFromLocalAgent(now);
  RETORT_RETURN_IF_ERROR(CheckDevices(now));
  CheckAudits(now);
  HandleRequests(now);
  const bool stopping = core_.stop.has_value();
  OnTick(core_, now, outbox_);
  RETORT_RETURN_IF_ERROR(Suggest(now));
  if (core_.stop && !stopping) view_.PrintLine(core_.stop->cause, now, true);
  RETORT_RETURN_IF_ERROR(Commit(now));
  DeliverToAgent(now);
  if (const std::string complaint = publication_.Tick(core_, recovered_.ledger->entries(), facts(), now);
      !complaint.empty())
    view_.PrintLine(complaint, now, true);
  if (const std::string stalled = stall_.Look(core_, now.monotonic); !stalled.empty())
    view_.PrintLine(stalled, now, true);
  if (core_.may_lease) view_.Refresh(core_, now);
  return core_.ended && agent_->shut_down();
}

void OrchestratorLoop::HandleSignals(Now now) {
  signals_.Read(now.monotonic);
  std::string cause;
  if (signals_.stop()) cause = signals_.name();
  const double ran = now.monotonic - facts_.started.monotonic;
  if (limits_.time_limit_seconds > 0 && ran >= limits_.time_limit_seconds) cause = "the time limit";
  if (core_.stop || core_.ended) return;
  if (cause.empty()) {
    cause = FindQuotaStop(core_, now);
    core_.quota_spent = !cause.empty();
  }
  if (cause.empty() && core_.may_lease) cause = FindTimeStop(core_, now);
  if (cause.empty()) return;
  OnStopRequested(core_, cause, limits_.grace_seconds, now, outbox_);
  view_.PrintLine(fmt::format("{}: saving and stopping within {:.0f} s; a second signal ends at once", cause,
                              limits_.grace_seconds),
                  now, true);
}

Status OrchestratorLoop::Receive(Now now) {
  more_to_receive_ = false;
  if (channel_ == nullptr) return {};
  for (int received_now = 0; received_now < kMaxMessagesPerTurn; ++received_now) {
    Result<std::optional<std::pair<WorldRank, cluster::Envelope>>> received = channel_->Receive();
    if (received.ok() && !received->has_value()) return {};
    if (received.ok()) {
      OnMessage(core_, (*received)->first, (*received)->second, now, outbox_);
      idle_.Reset();
    } else if (received.status().code() == StatusCode::refused) {
      ++malformed_;
    } else {
      return received.status();
    }
  }
  more_to_receive_ = true;
  return {};
}

void OrchestratorLoop::ReceiveFromLocalAgent(Now now) {
  for (const cluster::Envelope& envelope : agent_->TakeOutgoing())
    OnMessage(core_, WorldRank{0}, envelope, now, outbox_);
}

Status OrchestratorLoop::CheckDevices(Now now) {
  const int there = core_.fleet.CountLiveAgents(), expected = core_.settings().world_size;
  if (!devices_checked_ && there >= expected) {
    devices_checked_ = core_.may_lease = true;
    return CheckPlaceable(core_);
  }
  if (!core_.may_lease && now.monotonic >= lease_from_) {
    core_.may_lease = true;
    view_.PrintLine(fmt::format("{} of {} ranks have come up; starting without the others", there, expected), now,
                    true);
    if (const Status all_fit = CheckPlaceable(core_); !all_fit.ok())
      view_.PrintLine("without them " + all_fit.message(), now, true);
  }
  return {};
}

Status OrchestratorLoop::Commit(Now now) {
  if (outbox_.empty()) return {};
  idle_.Reset();
  RETORT_RETURN_IF_ERROR(CommitOutbox(recovered_, outbox_));
  core_.counters.journal_records += outbox_.journal.size();
  core_.counters.ledger_records += outbox_.ledger.size();
  for (const JournalEvent& event : outbox_.journal)
    if (std::holds_alternative<RowWritten>(event.event) || std::holds_alternative<TrialReopened>(event.event))
      publication_.RowsChanged();
  if (const std::string complaint = costs_.Events(core_, outbox_.journal, now); !complaint.empty())
    view_.PrintLine(complaint, now, true);
  view_.Events(core_, outbox_.journal, now);
  RETORT_RETURN_IF_ERROR(SendMessages());
  SendAnswers(now);
  outbox_ = {};
  return {};
}

void OrchestratorLoop::CheckAudits(Now now) {
  if (!audits_.Look(core_, now.monotonic)) return;
  const std::size_t count = core_.audit_voids.size();
  view_.PrintLine(fmt::format("audits refute claims of {} {}, or cannot be read: what they spent has no bound", count,
                              count == 1 ? "trial" : "trials"),
                  now, true);
}

// Requests that come after the end are left to the next run.
void OrchestratorLoop::HandleRequests(Now now) {
  if (core_.ended) return;
  for (const ReceivedRequest& received : requests_.Look(now)) {
    if (received.request.ok())
      OnAmendRequest(core_, received.name, *received.request, limits_.grace_seconds, now, outbox_);
    else
      outbox_.answers.push_back({received.name, {AnswerKind::refused, received.request.status().message(), {}}});
  }
}

void OrchestratorLoop::SendAnswers(Now now) {
  for (const AddressedAnswer& answer : outbox_.answers) {
    if (answer.answer.kind == AnswerKind::refused)
      view_.PrintLine("a request was refused: " + answer.answer.text, now, true);
    if (const Status given = requests_.Answer(answer); !given.ok())
      view_.PrintLine("a request cannot be answered: " + given.message(), now, true);
  }
}

Status OrchestratorLoop::SendMessages() {
  for (Outgoing& message : outbox_.messages) {
    message.envelope.sequence = ++sequence_;
    if (message.to == WorldRank{0})
      for_agent_.push_back(std::move(message.envelope));
    else if (channel_ != nullptr)
      RETORT_RETURN_IF_ERROR(channel_->Send(message.to, message.envelope));
  }
  return {};
}

void OrchestratorLoop::DeliverToAgent(Now now) {
  for (const cluster::Envelope& envelope : std::exchange(for_agent_, {})) agent_->OnMessage(envelope, now.monotonic);
}

RunFacts OrchestratorLoop::facts() const {
  RunFacts facts = facts_;
  facts.journal_bytes = recovered_.journal.bytes();
  facts.ledger_bytes = recovered_.ledger->bytes();
  facts.malformed = malformed_ + agent_->malformed();
  return facts;
}

void OrchestratorLoop::Wait(Now now) {
  if (agent_->has_outgoing() || more_to_receive_) return;
  double until = std::min({agent_->NextDeadline(), FindNextDeadline(core_, now), publication_.NextDeadline()});
  until = std::min(until, core_.may_lease ? view_.NextRefresh() : lease_from_);
  if (limits_.time_limit_seconds > 0) until = std::min(until, facts_.started.monotonic + limits_.time_limit_seconds);
  std::vector<int> fds = agent_->ReadableFds();
  fds.push_back(signals_.fd());
  const double seconds = std::clamp(until - now.monotonic, 0.0, 1.0);
  // Rounded up: a wait that ends just before its deadline would be repeated at once.
  idle_.Wait(fds, Milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000))));
}

}  // namespace retort::orchestrator
