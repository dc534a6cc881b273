// What world rank 0 costs: all that a turn of OrchestratorLoop does but for the agent of this rank: signals'
// rules (quota, time), core, reactor, journal, ledger, codecs, learned costs, progress, publication of
// metrics and rows, deadlines. Agents and workers answer at once, from this process; their work is not
// counted.
//   orchestrator_load_bench trials [TRIALS] [SLOTS]      a durable trial that does nothing, start to row
//   orchestrator_load_bench reports [WORKERS] [SECONDS]  workers that report once a second
// Exit 3: the limit was missed.
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "cluster/messages.h"
#include "orchestrator/journal/cost_cache.h"
#include "orchestrator/journal/recovery.h"
#include "orchestrator/process/system_clock.h"
#include "orchestrator/reactor/admission.h"
#include "orchestrator/reactor/reactor.h"
#include "orchestrator/screen/progress_view.h"
#include "orchestrator/service/publication.h"
#include "tests/testing/trial_builder.h"

namespace retort::orchestrator {
namespace {

constexpr double kMostMillisecondsATrial = 0.05;
constexpr double kMostCoreShare = 0.5;
constexpr double kMostMebibytes = 500;
constexpr int kSlotsOfAnAgent = 8;

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double PeakMebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Adds up what passes while it is there.
class Meter {
 public:
  class Running {
   public:
    explicit Running(Meter& meter) : meter_(meter), cpu_(CpuSeconds()), wall_(WallSeconds()) {}
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() {
      meter_.cpu += CpuSeconds() - cpu_;
      meter_.wall += WallSeconds() - wall_;
    }

   private:
    Meter& meter_;
    double cpu_, wall_;
  };
  double cpu = 0, wall = 0;
};

struct Said {
  int rank;
  std::string bytes;  // an encoded envelope
};

[[noreturn]] void Fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

class Load {
 public:
  // `quota`: of the sweep. `own_clock`: time passes only by Advance.
  Load(const std::string& folder, std::int64_t trials, int agents, int slots, const Quota& quota, bool own_clock)
      : own_clock_(own_clock) {
    facts_.started = now();
    Settings settings{.results = folder, .provenance_json = "{}"};
    settings.world_size = agents;
    Result<Recovered> recovered = RecoverResults(storage::PosixEnv(), settings);
    if (!recovered.ok()) Fail(recovered.status());
    recovered_.emplace(std::move(*recovered));
    std::vector<TrialSpec> specs;
    for (std::int64_t i = 0; i < trials; ++i)
      specs.push_back(testing::TrialBuilder(static_cast<std::uint64_t>(i)).Teacher("t" + std::to_string(i)).Build());
    Outbox outbox;
    SweepPlan plan = testing::MakePlan(std::move(specs));
    plan.quota = quota;
    if (const Status opened = OpenSweep(core(), plan, now(), outbox); !opened.ok()) Fail(opened);
    core().work_ends = now().monotonic + 1e6;
    Commit(outbox);
    for (int rank = 0; rank < agents; ++rank) {
      cluster::Register message;
      message.host = "node" + std::to_string(rank);
      message.slots = slots;
      message.devices.assign(static_cast<std::size_t>(slots), "cpu");
      Say(rank, {{}, {}, 0, message});
    }
  }

  Core& core() { return recovered_->core; }
  void Advance(double seconds) { time_ += seconds; }
  void Say(int rank, const cluster::Envelope& envelope) { said_.push_back({rank, cluster::Encode(envelope)}); }

  // The orchestrator's part, in the order of OrchestratorLoop::Turn.
  void Turn(Meter& meter) {
    std::vector<Said> said = std::exchange(said_, {});
    sent_.clear();
    const Meter::Running running(meter);
    Outbox outbox;
    if (!FindQuotaStop(core(), now()).empty() || !FindTimeStop(core(), now()).empty())
      Fail(Refused("it wants to stop"));
    for (const Said& one : said) {
      Result<cluster::Envelope> envelope = cluster::Decode(one.bytes);
      if (!envelope.ok()) Fail(envelope.status());
      OnMessage(core(), WorldRank{one.rank}, *envelope, now(), outbox);
    }
    OnTick(core(), now(), outbox);
    Commit(outbox);
    for (Outgoing& message : outbox.messages) {
      bytes_sent_ += cluster::Encode(message.envelope).size();
      sent_.push_back(std::move(message));
    }
    facts_.journal_bytes = recovered_->journal.bytes();
    facts_.ledger_bytes = recovered_->ledger->bytes();
    if (const std::string said_so = publication_.Tick(core(), recovered_->ledger->entries(), facts_, now());
        !said_so.empty())
      Fail(Refused(said_so));
    view_.Refresh(core(), now());
    next_ = std::min({FindNextDeadline(core(), now()), publication_.NextDeadline(), view_.NextRefresh()});
  }
  [[nodiscard]] const std::vector<Outgoing>& sent() const { return sent_; }

 private:
  [[nodiscard]] Now now() const { return own_clock_ ? Now{time_, 1.7e9 + time_} : ReadClocks(); }
  void Commit(Outbox& outbox) {
    if (const Status committed = CommitOutbox(*recovered_, outbox); !committed.ok()) Fail(committed);
    for (const JournalEvent& event : outbox.journal)
      if (std::holds_alternative<RowWritten>(event.event)) publication_.RowsChanged();
    if (const std::string said_so = costs_.Events(core(), outbox.journal, now()); !said_so.empty())
      Fail(Refused(said_so));
    view_.Events(core(), outbox.journal, now());
  }

  bool own_clock_;
  double time_ = 1000;
  double next_ = 0;
  std::size_t shown_ = 0;
  RunFacts facts_;
  Publication publication_{storage::PosixEnv(), nullptr};
  CostRecorder costs_{storage::PosixEnv(), {}, "node0"};
  ProgressView view_{{}, [this](std::string_view text) { shown_ += text.size(); }};
  std::optional<Recovered> recovered_;
  std::vector<Said> said_;
  std::vector<Outgoing> sent_;
  std::size_t bytes_sent_ = 0;
};

cluster::Ended Success(TrialId trial) {
  cluster::Ended ended;
  ended.succeeded = true;
  ended.metrics = {{"test.accuracy", 0.5}};
  ended.timings = {{"seconds", 0.1}};
  ended.parameters_digest = std::string(64, 'a');
  ended.file = "trials/x-" + trial.Hex() + "/attempt-1/attempt.h5";
  return ended;
}

int Trials(const std::string& folder, std::int64_t trials, int slots) {
  const int agents = std::max(1, slots / kSlotsOfAnAgent);
  // Some slots stay free all the time, so that each turn looks for trials that the quota keeps back.
  const Quota quota{.wall_seconds = 1e6, .concurrency = slots, .device_hours = 1e6};
  Load load(folder, trials, agents, slots / agents + 1, quota, false);
  Meter meter;
  for (int turns = 0; !load.core().ended; ++turns) {
    load.Turn(meter);
    const std::vector<Outgoing> sent = load.sent();
    for (const Outgoing& message : sent) {
      if (!std::holds_alternative<cluster::Lease>(message.envelope.message)) continue;
      const AttemptId attempt = message.envelope.attempt;
      load.Say(message.to.value, {attempt, message.envelope.generation, 0, Success(attempt.trial)});
    }
    if (turns > 10 * trials) Fail(Refused("the sweep does not end"));
  }
  const auto count = static_cast<double>(trials);
  const double cpu = 1e3 * meter.cpu / count, wall = 1e3 * meter.wall / count;
  std::printf("{\"trials\":%lld,\"slots\":%d,\"cpu_ms_a_trial\":%.4f,\"wall_ms_a_trial\":%.4f,\"peak_mib\":%.1f}\n",
              static_cast<long long>(trials), slots, cpu, wall, PeakMebibytes());
  return cpu <= kMostMillisecondsATrial ? 0 : 3;
}

int Reports(const std::string& folder, int workers, int seconds) {
  Load load(folder, workers, workers / kSlotsOfAnAgent, kSlotsOfAnAgent, {}, true);
  Meter opening, meter;
  load.Turn(opening);
  struct Worker {
    int rank;
    AttemptId attempt;
    Generation generation;
  };
  std::vector<Worker> running;
  for (const Outgoing& message : load.sent())
    if (std::holds_alternative<cluster::Lease>(message.envelope.message))
      running.push_back({message.to.value, message.envelope.attempt, message.envelope.generation});
  if (running.size() != static_cast<std::size_t>(workers)) Fail(Refused("not every worker was leased"));
  constexpr int kTurnsASecond = 20;  // messages come spread over the second
  for (int turn = 0; turn < seconds * kTurnsASecond; ++turn) {
    for (std::size_t i = static_cast<std::size_t>(turn % kTurnsASecond); i < running.size(); i += kTurnsASecond) {
      const Worker& worker = running[i];
      const cluster::Progress progress{turn, 100'000, "train", {{"train.loss", 0.1}, {"step_seconds", 0.2}}};
      load.Say(worker.rank, {worker.attempt, worker.generation, 0, progress});
    }
    if (turn % (5 * kTurnsASecond) == 0)
      for (int rank = 0; rank < workers / kSlotsOfAnAgent; ++rank) load.Say(rank, {{}, {}, 0, cluster::Heartbeat{1}});
    load.Turn(meter);
    load.Advance(1.0 / kTurnsASecond);
  }
  const double share = meter.cpu / seconds, peak = PeakMebibytes();
  std::printf("{\"workers\":%d,\"seconds\":%d,\"core_share\":%.3f,\"peak_mib\":%.1f}\n", workers, seconds, share, peak);
  return share < kMostCoreShare && peak < kMostMebibytes ? 0 : 3;
}

}  // namespace
}  // namespace retort::orchestrator

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const auto number = [&](int at, long fallback) { return argc > at ? std::atol(argv[at]) : fallback; };
  const std::string folder =
      std::filesystem::temp_directory_path() / ("retort-load-bench-" + std::to_string(std::time(nullptr)));
  std::filesystem::create_directories(folder);
  int code = 2;
  if (what == "trials") code = retort::orchestrator::Trials(folder, number(2, 10'000), static_cast<int>(number(3, 64)));
  if (what == "reports")
    code = retort::orchestrator::Reports(folder, static_cast<int>(number(2, 8192)), static_cast<int>(number(3, 20)));
  std::filesystem::remove_all(folder);
  if (code == 2) std::fprintf(stderr, "usage: orchestrator_load_bench trials|reports [N] [M]\n");
  return code;
}
