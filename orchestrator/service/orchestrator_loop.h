// The loop of world rank 0: orchestrator and agent in one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/channel.h"
#include "cluster/waiting.h"
#include "experiments/base/status.h"
#include "orchestrator/agent/agent.h"
#include "orchestrator/core/outbox.h"
#include "orchestrator/journal/cost_cache.h"
#include "orchestrator/journal/recovery.h"
#include "orchestrator/journal/request_inbox.h"
#include "orchestrator/process/stop_signals.h"
#include "orchestrator/process/system_clock.h"
#include "orchestrator/reactor/search_rounds.h"
#include "orchestrator/results/surroundings.h"
#include "orchestrator/screen/progress_view.h"
#include "orchestrator/service/publication.h"
#include "orchestrator/service/stall_watch.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

struct LoopLimits {
  double grace_seconds = 25;
  double time_limit_seconds = 0;  // 0 = none
  StallRule stall = {};
};

class OrchestratorLoop {
 public:
  // `channel` reaches the other ranks; null when there are none. Everything but `agent` is borrowed.
  OrchestratorLoop(Recovered& recovered, StopSignals& signals, cluster::Channel* channel, Publication& publication,
                   ProgressView& view, std::unique_ptr<Agent> agent, RunFacts facts, LoopLimits limits,
                   CostRecorder& costs, RequestInbox requests, AuditWatch audits, FolderWatch folder);

  // `plan`: asked for the next round of a search whenever all trials have ended.
  void SearchBy(PlanSearch plan);

  // Starts with what OpenSweep put into `outbox`; returns when the sweep is over or interrupted. Value:
  // whether a second signal ended it at once (workers are gone, nothing more was saved). Error:
  // environment, when journal or ledger cannot be written or the folder was moved; workers are gone, what was durable
  // stays.
  [[nodiscard]] Result<bool> Run(Outbox outbox);
  [[nodiscard]] RunFacts facts() const;

 private:
  // Does everything that is due; true when the loop is over.
  [[nodiscard]] Result<bool> Turn();
  [[nodiscard]] Status Receive(Now now);
  void HandleSignals(Now now);
  void ReceiveFromLocalAgent(Now now);
  // Nothing is leased before all ranks are there, or had kRegistrationSeconds to come: only then it is known
  // whether every trial can ever be placed.
  [[nodiscard]] Status CheckDevices(Now now);
  // Takes note of audits that were stored meanwhile.
  void CheckAudits(Now now);
  // Takes the requests of users, and answers them.
  void HandleRequests(Now now);
  void SendAnswers(Now now);
  [[nodiscard]] Status Suggest(Now now);
  // Ledger, then journal, then messages. Messages to this rank wait in `for_agent_`.
  [[nodiscard]] Status Commit(Now now);
  [[nodiscard]] Status SendMessages();
  void DeliverToAgent(Now now);
  void Wait(Now now);

  Recovered& recovered_;
  Core& core_;
  StopSignals& signals_;
  cluster::Channel* channel_;
  Publication& publication_;
  ProgressView& view_;
  std::unique_ptr<Agent> agent_;
  RunFacts facts_;
  LoopLimits limits_;
  CostRecorder& costs_;
  RequestInbox requests_;
  AuditWatch audits_;
  FolderWatch folder_;
  StallWatch stall_;
  PlanSearch plan_search_;
  std::string told_trouble_;  // of the search
  Outbox outbox_;
  std::vector<cluster::Envelope> for_agent_;
  cluster::IdleWait idle_;
  RunClock clock_;
  std::uint64_t sequence_ = 0;
  std::uint64_t malformed_ = 0;
  bool devices_checked_ = false;
  double lease_from_ = 0;         // monotonic; at the latest, whoever is there by then
  bool more_to_receive_ = false;  // the last turn left messages in the channel
};

}  // namespace retort::orchestrator
