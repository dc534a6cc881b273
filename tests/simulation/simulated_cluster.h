// A whole cluster in one thread: the real core, reactor, journal and ledger; agents and workers that only
// pretend; a network and a clock that the test owns. Everything follows from the seed.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cluster/messages.h"
#include "experiments/sweep/sweep_plan.h"
#include "orchestrator/core/outbox.h"
#include "orchestrator/journal/recovery.h"
#include "orchestrator/reactor/search_rounds.h"
#include "tests/simulation/world_checks.h"
#include "tests/testing/fault_injection_env.h"

namespace retort::testing {

// Chances per opportunity, in [0, 1].
struct FaultRates {
  double worker_crash = 0;  // of a busy worker, each step
  double worker_hang = 0;
  double worker_failure = 0;  // an honest Ended{failure}
  double agent_death = 0;     // each step; comes back later and registers anew
  double agent_loss = 0;      // of one but the first, when it dies: it never comes back
  double drop = 0;            // a message from an agent
  double duplicate = 0;
  double stale = 0;    // an old message is said again, each step
  double delay = 0;    // a message arrives out of turn
  double request = 0;  // the user cancels or retries some trial, each step
  double freeze = 0;   // of an agent, each step: it falls silent for up to a minute while its workers work on
};

// Ways in which an orchestrator could be wrong, done to what the real one decided. Each must be noticed.
enum class Mutant {
  none,
  grants_unasked_ledger,   // answers a reservation that it never wrote down
  settles_too_little,      // writes down fewer draws than were made
  leases_twice,            // a trial to a second slot as well
  never_stops,             // leaves the workers of an attempt that is over alone
  splits_gangs,            // sends a member of a gang to another slot
  accepts_stale_messages,  // takes what an old attempt says for the word of the newest
  forgets_a_trial,         // that failed, when it is queued again
  leaves_devices_idle,     // at some ticks
};

class SimulatedCluster {
 public:
  SimulatedCluster(std::uint64_t seed, int agents, int slots, FaultRates storm, Mutant mutant = Mutant::none);

  // Opens journal and ledger (what is in them is kept) and plans the sweep: a new orchestrator. Whatever
  // ran under its predecessor is gone. Error: of the orchestrator.
  [[nodiscard]] Status StartOrchestrator(const SweepPlan& plan);
  // The same of a sweep whose search reads scores: `plan` gives every round.
  [[nodiscard]] Status StartSearch(const orchestrator::PlanSearch& plan);
  // One step of everything: time passes, workers work, messages arrive, the orchestrator acts. Error: of
  // the disk, a broken invariant, or what no cluster may show (see world_checks.h).
  [[nodiscard]] Status Step();
  // Steps until the orchestrator has sent Shutdown. Error: as Step; refused after `most` steps.
  [[nodiscard]] Status RunToEnd(int most);

  void StopFaults() { storm_ = {}; }
  [[nodiscard]] orchestrator::Core& core() { return recovered_->core; }
  [[nodiscard]] FaultInjectionEnv& disk() { return disk_; }
  [[nodiscard]] orchestrator::Now now() const { return {time_, 1.7e9 + time_}; }
  // row_digest by trial, of trials that succeeded.
  [[nodiscard]] std::map<std::string, std::string> Digests();
  // Steps that a gang made, and attempts it gave up because a member was gone.
  [[nodiscard]] std::uint64_t gang_steps() const { return gang_steps_; }
  [[nodiscard]] std::uint64_t broken_gangs() const { return broken_gangs_; }
  // Requests of the user, and final answers to them.
  [[nodiscard]] int requests() const { return requests_; }
  [[nodiscard]] int final_answers() const { return final_answers_; }
  [[nodiscard]] std::uint64_t frozen_agents() const { return frozen_agents_; }
  static constexpr const char* kResults = "results";

 private:
  struct Worker {
    AttemptId attempt;
    Generation generation;
    std::vector<std::pair<int, int>> members;  // (rank, slot) in gang-rank order
    int gang_rank = 0;
    std::int64_t step = 0, steps = 0;
    bool waiting = false;  // for Reserved, or for the gang to form
    bool hung = false;
    std::uint64_t requests = 0;
  };
  struct Agent {
    bool alive = true;
    double back_at = 0;
    double heartbeat_at = 0;
    double frozen_until = 0;               // neither hears nor speaks; its workers go on
    std::deque<std::string> kept;          // what it will say when it thaws
    std::deque<cluster::Envelope> orders;  // what it will hear then
    std::vector<std::optional<Worker>> slots;
  };

  [[nodiscard]] bool Happens(double chance);
  [[nodiscard]] bool IsFrozen(const Agent& agent) const { return time_ < agent.frozen_until; }
  void Enqueue(int rank, std::string bytes);
  void Thaw(int rank);
  void Lease(int rank, const cluster::Envelope& envelope, const cluster::Lease& lease);
  void OnReserved(std::optional<Worker>& slot, int rank, const cluster::Reserved& reserved);
  // The mutant's part; nothing without one.
  void CorruptHeard(int& rank, cluster::Envelope& envelope);
  void CorruptOutbox(orchestrator::Outbox& outbox);
  void LeaseTwice(orchestrator::Outbox& outbox);
  void CorruptTick();
  void CheckWorkers();
  [[nodiscard]] Status Recover();
  [[nodiscard]] Status Open(const SweepPlan& plan);
  void Register(int rank);
  void Say(int rank, cluster::Message message, const Worker* worker = nullptr);
  // Whether every member of the worker's attempt is at its place.
  [[nodiscard]] bool GangIsWhole(const Worker& worker) const;
  void Work(int rank, std::optional<Worker>& slot);
  void Finish(int rank, std::optional<Worker>& slot);
  void Obey(int rank, const cluster::Envelope& envelope);
  void Misfortune();
  void AskForSomething(orchestrator::Outbox& outbox);
  // The worker of a member was told to save and stop.
  void Save(int rank, std::optional<Worker>& slot);
  [[nodiscard]] Status Deliver();
  [[nodiscard]] Status Commit(orchestrator::Outbox& outbox);

  std::mt19937_64 random_;
  FaultRates storm_;
  double time_ = 1000;
  int slots_;
  std::vector<Agent> agents_;
  std::deque<std::pair<int, std::string>> to_orchestrator_;  // (rank, encoded envelope)
  std::vector<std::pair<int, std::string>> said_;            // everything, for repetition
  FaultInjectionEnv disk_;
  std::optional<orchestrator::Recovered> recovered_;
  orchestrator::PlanSearch plan_search_;  // of a search
  int requests_ = 0, final_answers_ = 0;
  Mutant mutant_;
  WorldChecks checks_;
  std::uint64_t gang_steps_ = 0, broken_gangs_ = 0, frozen_agents_ = 0;
};

}  // namespace retort::testing
