// The loop of every world rank but 0: an agent that takes its orders from rank 0.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "cluster/idle_wait.h"
#include "cluster/launch_environment.h"
#include "orchestrator/agent.h"
#include "orchestrator/environment.h"
#include "orchestrator/local_agent.h"
#include "orchestrator/mpi_run.h"
#include "orchestrator/open_files.h"
#include "orchestrator/service.h"
#include "orchestrator/stop_signals.h"
#include "orchestrator/system_clock.h"

namespace retort::orchestrator {
namespace {

using Milliseconds = std::chrono::milliseconds;

class AgentLoop {
 public:
  AgentLoop(Agent& agent, cluster::Channel& channel, StopSignals& signals, double grace_seconds)
      : agent_(agent), channel_(channel), signals_(signals), grace_seconds_(grace_seconds) {}

  // Until Shutdown, or a second signal. Error: environment, when MPI fails.
  Status Run() {
    while (!agent_.shut_down() && !signals_.at_once()) {
      const double now = ReadClocks().monotonic;
      RETORT_RETURN_IF_ERROR(Receive(now));
      TakeSignals(now);
      agent_.Poll(now);
      RETORT_RETURN_IF_ERROR(SendOutgoing());
      if (!agent_.shut_down()) Wait(now);
    }
    agent_.KillAll();
    return {};
  }

 private:
  Status Receive(double now) {
    for (;;) {
      Result<std::optional<std::pair<WorldRank, cluster::Envelope>>> received = channel_.Receive();
      if (received.ok() && !received->has_value()) return {};
      if (received.ok()) {
        agent_.OnMessage((*received)->second, now);
        idle_.Reset();
      } else if (received.status().code() != StatusCode::refused) {
        return received.status();
      }
    }
  }

  // The whole sweep stops, not this rank alone: the orchestrator decides.
  void TakeSignals(double now) {
    signals_.Read(now);
    if (!signals_.stop() || told_) return;
    told_ = true;
    drain_ = true;
  }

  Status SendOutgoing() {
    for (const cluster::Envelope& envelope : agent_.TakeOutgoing())
      RETORT_RETURN_IF_ERROR(channel_.Send(WorldRank{0}, envelope));
    if (!drain_) return {};
    drain_ = false;
    return channel_.Send(WorldRank{0}, {{}, {}, 0, cluster::Drain{true, grace_seconds_}});
  }

  void Wait(double now) {
    std::vector<int> fds = agent_.ReadableFds();
    fds.push_back(signals_.fd());
    const double seconds = std::clamp(agent_.NextDeadline() - now, 0.0, 1.0);
    idle_.Wait(fds, Milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000))));
  }

  Agent& agent_;
  cluster::Channel& channel_;
  StopSignals& signals_;
  double grace_seconds_;
  cluster::IdleWait idle_{Milliseconds(1), Milliseconds(20)};
  bool told_ = false;
  bool drain_ = false;
};

}  // namespace

Result<int> RunAgentRank(const RunOptions& asked) {
  RaiseOpenFiles();
  const RunOptions options = OnUsableDevices(asked);
  RETORT_ASSIGN_OR_RETURN(StopSignals signals, StopSignals::Open());
  RETORT_ASSIGN_OR_RETURN(MpiRun mpi, MpiRun::Open(options));
  if (mpi.channel() == nullptr)
    return EnvironmentError("an agent without an orchestrator: it was not started by mpirun");
  // World rank 0 says it for its own host.
  if (!options.device_notice.empty() && cluster::ReadLaunchEnvironment(options.environment).local_rank == 0)
    std::fprintf(stderr, "%s: %s\n", HostName().c_str(), options.device_notice.c_str());
  Result<std::unique_ptr<Agent>> agent = MakeAgent(options, mpi.channel()->rank());
  Status status = agent.status();
  if (agent.ok()) status = AgentLoop(**agent, *mpi.channel(), signals, options.grace_seconds).Run();
  mpi.Close(signals.at_once() ? 130 : 0);
  if (!status.ok()) return status;
  return 0;
}

}  // namespace retort::orchestrator
