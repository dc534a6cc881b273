// Trials that share a device, through the real core and reactor: workers whose speed depends on how many
// they are, on a clock that the test owns.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "experiments/methods/canonical_encoding.h"
#include "experiments/methods/spec_codec.h"
#include "orchestrator/reactor/reactor.h"
#include "orchestrator/screen/progress_text.h"
#include "tests/testing/trial_builder.h"

namespace retort::orchestrator {
namespace {

constexpr double kTick = 0.1;  // seconds; a worker reports as often
constexpr double kStartup = 0.5;

class Machines {
 public:
  // `speed(n)`: steps per second in sum of n trials on one host.
  Machines(int hosts, int slots, std::function<double(int)> speed)
      : slots_(slots), speed_(std::move(speed)), core_(SettingsFor(hosts)) {
    for (int rank = 0; rank < hosts; ++rank) Register(rank);
  }

  void Run(const SweepPlan& plan, double most = 1e5) {
    const Status opened = OpenSweep(core_, plan, now(), outbox_);
    ASSERT_TRUE(opened.ok()) << opened.message();
    while (!core_.ended && time_ < most) {
      time_ += kTick;
      Work();
      OnTick(core_, now(), outbox_);
      const Status legal = core_.CheckInvariants();
      ASSERT_TRUE(legal.ok()) << legal.message();
      Obey();
    }
    ASSERT_TRUE(core_.AllFinal());
  }
  double crash = 0;                      // chance of each worker, each tick
  double agent_death = 0;                // of each agent, each tick
  int out_of_memory_beyond = 1'000'000;  // trials at once on a host
  std::uint64_t seed = 1;

  [[nodiscard]] double seconds() const { return time_; }
  [[nodiscard]] const Core& core() const { return core_; }
  [[nodiscard]] int widest() const { return widest_; }
  [[nodiscard]] int shared_gangs() const { return shared_gangs_; }
  [[nodiscard]] const std::map<FailureKind, std::uint64_t>& failures() const { return core_.counters.failures; }

 private:
  struct Worker {
    AttemptId attempt;
    Generation generation;
    int rank = 0;
    int slot = 0;
    bool leads = true;
    bool gang = false;
    double begins_at = 0;
    double done = 0, steps = 0;
  };
  static Settings SettingsFor(int hosts) {
    Settings settings;
    settings.results = "/results";
    settings.provenance_json = "{}";
    settings.world_size = hosts;
    return settings;
  }
  [[nodiscard]] Now now() const { return {time_, 1.7e9 + time_}; }

  void Register(int rank) {
    cluster::Register message{"node" + std::to_string(rank),
                              slots_,
                              std::vector<std::string>(static_cast<std::size_t>(slots_), "cpu"),
                              "",
                              "",
                              kMaxTrialsPerSlot,
                              ""};
    OnMessage(core_, WorldRank{rank}, {{}, {}, 0, message}, now(), outbox_);
  }
  void Say(const Worker& worker, cluster::Message message) {
    OnMessage(core_, WorldRank{worker.rank}, {worker.attempt, worker.generation, 0, std::move(message)}, now(),
              outbox_);
  }
  bool Happens(double chance) { return chance > 0 && std::uniform_real_distribution<double>(0, 1)(random_) < chance; }

  void Work() {
    random_.seed(seed + static_cast<std::uint64_t>(time_ * 10));
    std::map<int, int> on;
    std::set<int> gangs;
    for (const Worker& worker : workers_) {
      ++on[worker.rank];
      if (worker.gang) gangs.insert(worker.rank);
    }
    for (const auto& [rank, count] : on) {
      widest_ = std::max(widest_, count);
      if (gangs.contains(rank) && count > slots_) ++shared_gangs_;
    }
    for (int rank = 0; rank < core_.settings().world_size; ++rank) {
      if (Happens(agent_death)) {
        std::erase_if(workers_, [rank](const Worker& worker) { return worker.rank == rank; });
        Register(rank);
      }
      OnMessage(core_, WorldRank{rank}, {{}, {}, 0, cluster::Heartbeat{}}, now(), outbox_);
    }
    std::vector<Worker> before = std::exchange(workers_, {});
    for (Worker& worker : before)
      if (Lives(worker, on[worker.rank])) workers_.push_back(worker);
  }
  bool Lives(Worker& worker, int company) {
    if (time_ < worker.begins_at || !worker.leads) return IsCurrent(worker);
    if (Happens(crash)) {
      Say(worker, cluster::WorkerLost{FailureKind::worker_killed, "it was killed"});
      return false;
    }
    if (company > out_of_memory_beyond && worker.slot >= slots_) {
      cluster::Ended ended;
      ended.failure = FailureKind::out_of_memory;
      Say(worker, ended);
      return false;
    }
    worker.done += kTick * speed_(company) / company;
    Say(worker, cluster::Progress{
                    static_cast<std::int64_t>(worker.done), static_cast<std::int64_t>(worker.steps), "train", {}});
    if (worker.done < worker.steps) return true;
    cluster::Ended ended;
    ended.succeeded = true;
    ended.file = "trials/x/attempt.h5";
    ended.parameters_digest = "feed";
    Say(worker, ended);
    return false;
  }
  // A member of a gang goes when gang rank 0 has gone.
  [[nodiscard]] bool IsCurrent(const Worker& worker) const {
    const ActiveAttempt* attempt = core_.fleet.Find(worker.attempt.trial);
    return attempt != nullptr && attempt->generation == worker.generation;
  }
  void Obey() {
    for (const Outgoing& message : std::exchange(outbox_, {}).messages) {
      const cluster::Envelope& envelope = message.envelope;
      if (const auto* lease = std::get_if<cluster::Lease>(&envelope.message)) {
        Worker worker{envelope.attempt, envelope.generation, message.to.value, lease->slot};
        std::erase_if(workers_, [&](const Worker& old) { return old.rank == worker.rank && old.slot == worker.slot; });
        worker.leads = lease->start.gang_rank == 0;
        worker.gang = lease->start.gang_size > 1;
        worker.begins_at = time_ + kStartup;
        worker.steps = static_cast<double>(DecodeTrialSpec(lease->start.spec)->steps);
        worker.done = saved_[envelope.attempt.trial];
        workers_.push_back(worker);
      } else if (const auto* stop = std::get_if<cluster::Stop>(&envelope.message)) {
        StopOne(message.to.value, envelope, stop->save);
      }
    }
  }
  void StopOne(int rank, const cluster::Envelope& envelope, bool save) {
    const auto found = std::find_if(workers_.begin(), workers_.end(), [&](const Worker& worker) {
      return worker.rank == rank && worker.attempt == envelope.attempt && worker.generation == envelope.generation;
    });
    if (found == workers_.end()) return;
    const Worker worker = *found;
    workers_.erase(found);
    if (!save) return;
    saved_[worker.attempt.trial] = worker.done;
    cluster::Ended ended;
    ended.failure = FailureKind::stopped;
    Say(worker, ended);
  }

  int slots_;
  std::function<double(int)> speed_;
  double time_ = 1000;
  Core core_;
  Outbox outbox_;
  std::vector<Worker> workers_;
  std::map<TrialId, double> saved_;
  std::mt19937_64 random_;
  int widest_ = 0, shared_gangs_ = 0;
};

SweepPlan Small(int trials, PackMode pack, std::int64_t steps = 2000) {
  std::vector<TrialSpec> specs;
  for (int i = 0; i < trials; ++i) {
    specs.push_back(testing::TrialBuilder(static_cast<std::uint64_t>(i)).Steps(steps).Build());
    specs.back().execution.pack = pack;
  }
  return testing::MakePlan(std::move(specs));
}

double Makespan(PackMode pack, int slots, const std::function<double(int)>& speed) {
  Machines machines(1, slots, speed);
  machines.Run(Small(60, pack));
  EXPECT_EQ(machines.core().CountIn(TrialState::succeeded), 60U);
  EXPECT_TRUE(pack == PackMode::automatic || machines.widest() <= slots);
  return machines.seconds() - 1000;
}

TEST(PackingSimulation, IsNeverTwoPercentSlowerThanOneAtATime) {
  const std::vector<std::function<double(int)>> devices = {
      [](int) { return 100.0; },                           // no gain
      [](int n) { return n == 1 ? 100.0 : 70.0; },         // a loss
      [](int n) { return n == 1 ? 100.0 : 1.0; },          // thrashing
      [](int n) { return 100.0 * (1 + 0.01 * (n - 1)); },  // hardly any
      [](int n) { return 100.0 * (n <= 2 ? n : 0.2); },    // two and no more
      [](int n) { return 100.0 * std::min(n, 4); },        // four
      [](int n) { return 100.0 * n; },
  };
  for (std::size_t i = 0; i < devices.size(); ++i) {
    SCOPED_TRACE("device " + std::to_string(i));
    for (const int slots : {1, 2}) {
      const auto speed = [&](int n) { return n <= slots ? 100.0 * n : devices[i](n - slots + 1) * slots; };
      EXPECT_LE(Makespan(PackMode::automatic, slots, speed), 1.02 * Makespan(PackMode::off, slots, speed));
    }
  }
}

TEST(PackingSimulation, TrialsThatGainShareADevice) {
  const auto speed = [](int n) { return 100.0 * std::min(n, 4); };
  Machines machines(1, 1, speed);
  machines.Run(Small(60, PackMode::automatic));
  EXPECT_LT(machines.seconds() - 1000, 0.35 * 60 * 20);
  EXPECT_EQ(machines.widest(), 5);
  const std::vector<PackingMeasured>& packed = machines.core().packed();
  ASSERT_EQ(packed.size(), 4U);
  EXPECT_EQ(packed[0].width, 2);
  EXPECT_TRUE(packed[0].kept);
  EXPECT_NEAR(packed[0].rate, 200, 10);
  EXPECT_NEAR(packed[0].than_rate, 100, 5);
  EXPECT_FALSE(packed[3].kept);
  EXPECT_NE(FormatPackingMeasured(packed[0]).find(": kept"), std::string::npos);
  EXPECT_NE(FormatPackingMeasured(packed[3]).find("turned down, at most 4 from now on"), std::string::npos);
}

TEST(PackingSimulation, OutOfMemoryInCompanyIsNotHeldAgainstTheTrial) {
  Machines machines(1, 1, [](int n) { return 100.0 * n; });
  machines.out_of_memory_beyond = 2;
  machines.Run(Small(60, PackMode::automatic));
  EXPECT_EQ(machines.core().CountIn(TrialState::succeeded), 60U);
  EXPECT_EQ(machines.failures().at(FailureKind::crowded), 1U);
  EXPECT_FALSE(machines.failures().contains(FailureKind::out_of_memory));
  EXPECT_EQ(machines.widest(), 3);
  EXPECT_EQ(machines.core().packed().back().cause, "out of memory");
}

TEST(PackingSimulation, WhoDoesNotAskIsNotShared) {
  Machines machines(1, 2, [](int n) { return 100.0 * n; });
  machines.Run(Small(40, PackMode::off));
  EXPECT_EQ(machines.widest(), 2);
  EXPECT_TRUE(machines.core().packed().empty());
}

// What one takes says nothing of how long another does.
TEST(PackingSimulation, TrialsOfDifferentGeneratorsAreNotShared) {
  const std::pair<std::string, std::function<void(TrialSpec&, int)>> changes[] = {
      {"name", [](TrialSpec& spec, int i) { spec.generator.network = i % 2 == 0 ? "dafl" : "fast"; }},
      {"latent", [](TrialSpec& spec, int i) { spec.generator.latent = 10 + i % 2; }},
      {"layers", [](TrialSpec& spec, int i) {
         spec.generator.network = "mine";
         spec.generator.layers = std::make_shared<const std::string>(
             i % 2 == 0 ? "linear name=fc out=784; reshape channels=1 height=28 width=28; tanh"
                        : "linear name=fc out=784; reshape channels=1 height=28 width=28; sigmoid");
       }}};
  for (const auto& [name, change] : changes) {
    SCOPED_TRACE(name);
    std::vector<TrialSpec> specs;
    for (int i = 0; i < 2; ++i) {
      TrialSpec spec = testing::TrialBuilder(static_cast<std::uint64_t>(i)).Steps(2000).Build();
      spec.execution.pack = PackMode::automatic;
      change(spec, i);
      spec.id = ComputeTrialId(spec);
      specs.push_back(spec);
    }
    Machines machines(1, 1, [](int n) { return 100.0 * n; });
    machines.Run(testing::MakePlan(std::move(specs)));
    EXPECT_EQ(machines.core().CountIn(TrialState::succeeded), 2U);
    EXPECT_EQ(machines.widest(), 1);
  }
}

TEST(PackingSimulation, GangsAndCrashesAndSharingGoTogether) {
  constexpr std::uint64_t kTrials = 120;
  int shared = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::vector<TrialSpec> specs;
    for (std::uint64_t i = 0; i < kTrials; ++i) {
      specs.push_back(testing::TrialBuilder(i).Steps(i % 3 == 0 ? 500 : 1000).Devices(i % 29 == 28 ? 3 : 1).Build());
      specs.back().execution.pack = i % 20 == 4 ? PackMode::off : PackMode::automatic;
      specs.back().execution.priority = static_cast<int>(i % 2);
    }
    Machines machines(2, 2, [](int n) { return 100.0 * std::min(n, 5); });
    machines.seed = seed * 1'000'003;
    machines.crash = 0.001;
    machines.agent_death = 0.0005;
    machines.Run(testing::MakePlan(std::move(specs)));
    EXPECT_EQ(machines.core().CountIn(TrialState::succeeded), kTrials);
    EXPECT_EQ(machines.shared_gangs(), 0);
    EXPECT_EQ(machines.core().fleet.CountLiveSlots(), 4);
    shared += machines.widest() > 2 ? 1 : 0;
  }
  EXPECT_GT(shared, 10) << "of 30 storms";
}

}  // namespace
}  // namespace retort::orchestrator
