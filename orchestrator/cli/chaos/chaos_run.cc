#include "orchestrator/cli/chaos/chaos_run.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "orchestrator/cli/chaos/chaos_process.h"
#include "orchestrator/core/step_watch.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/process/system_clock.h"
#include "orchestrator/results/trial_names.h"
#include "orchestrator/results/verify.h"
#include "orchestrator/service/amend_results.h"
#include "storage/log/record_log.h"
#include "storage/results/attempt_file.h"

namespace retort::orchestrator::cli {
namespace {

constexpr double kLongestUndisturbed = 86'400;  // seconds
constexpr double kLongestDeadline = 10;     // seconds; a sweep with a trial of a longer one, or of none, is not hung
constexpr double kHangSeconds = 5;          // for a worker to hang, and for it to be gone once its deadline has passed
constexpr int kHangsPerRound = 1;           // two of one trial, in different slots, fail it for good
constexpr double kLimitedSeconds = 1;       // more for a run to find its disk full
constexpr double kVictimSeconds = 0.4;      // to wait for a worker that can be disturbed
constexpr double kEndSeconds = 60;          // for processes to be gone; mpirun.sh gives a stuck mpirun up after 25
constexpr std::uint64_t kDiskLeft = 2048;   // most bytes that a full disk still takes
constexpr int kWorkerKillsPerTrial = 2;     // in one round: retries of a trial wait longer each time
constexpr std::size_t kMaxUnexplained = 8;  // failures, after which the verdict is clear

double Seconds() { return ReadClocks().monotonic; }

void Sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

bool IsWorker(const LiveProcess& process) {
  return process.name == "retort-worker" || process.name == "retort-sleeper";
}
bool IsRun(const LiveProcess& process) { return process.name == "retort"; }

Result<WitnessedDraws> ReadWitnesses(const ResultsView& view) {
  WitnessedDraws draws;
  for (const TrialView& trial : view.trials) {
    if (!trial.row || trial.row->attempt_file.empty()) continue;
    RETORT_ASSIGN_OR_RETURN(storage::AttemptFile file,
                            storage::ReadAttemptFile(view.directory + "/" + trial.row->attempt_file));
    draws[trial.spec.id] = std::move(file.ledger);
  }
  return draws;
}

// Half a record, as a crash leaves it between two writes of the kernel.
Status TearLog(storage::Env& env, const std::string& path, storage::LogKind kind, std::uint64_t pick) {
  RETORT_ASSIGN_OR_RETURN(const storage::LogContents contents, storage::ReadRecordLog(env, path, kind));
  if (contents.records.empty() || contents.torn_bytes > 0) return {};
  RETORT_ASSIGN_OR_RETURN(const std::string bytes, env.ReadFile(path));
  const std::size_t record = pick % contents.records.size();
  const std::uint64_t begin = contents.records[record].offset;
  const std::uint64_t end =
      record + 1 < contents.records.size() ? contents.records[record + 1].offset : contents.valid_bytes;
  const std::uint64_t cut = 1 + (pick >> 32U) % (end - begin - 1);
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<storage::AppendFile> file, env.OpenAppend(path));
  RETORT_RETURN_IF_ERROR(file->Append(std::string_view(bytes).substr(begin, cut)));
  return file->Sync();
}

class Chaos {
 public:
  Chaos(storage::Env& env, const ChaosOrder& order, const std::function<void(const std::string&)>& say)
      : env_(env), order_(order), say_(say), plan_(PlanDisturbances(order.seed, order.kills)) {}

  Result<ChaosReport> Run() {
    AdoptOrphans();
    const Status status = Stages();
    if (!KillDescendants(kEndSeconds) && status.ok()) return EnvironmentError("processes of the sweep do not end");
    if (!status.ok()) return status;
    return report_;
  }

 private:
  Status Stages() {
    RETORT_RETURN_IF_ERROR(Undisturbed());
    const double began = Seconds();
    while (next_ < plan_.size()) RETORT_RETURN_IF_ERROR(Round());
    report_.seconds = Seconds() - began;
    return {};
  }

  Status Undisturbed() {
    results_ = order_.directory + "/undisturbed";
    const double began = Seconds();
    RETORT_RETURN_IF_ERROR(Start(0));
    const std::optional<int> code = run_.Wait(kLongestUndisturbed);
    if (code != 0)
      return EnvironmentError(fmt::format("the undisturbed run {}: see {}",
                                          code ? fmt::format("ended with {}", *code) : "does not end", LogPath()));
    report_.undisturbed_seconds = Seconds() - began;
    RETORT_ASSIGN_OR_RETURN(undisturbed_, ReadResults(env_, results_));
    deadline_ = LongestDeadline();
    report_.pace = order_.pace > 0 ? order_.pace : std::clamp(report_.undisturbed_seconds / 10, 0.3, 0.6);
    say_(fmt::format("undisturbed: {} trials in {:.1f} s; now {} disturbances, one every {:.2f} s in the mean",
                     undisturbed_.trials.size(), report_.undisturbed_seconds, plan_.size(), report_.pace));
    return {};
  }

  // One folder, until its sweep is complete.
  Status Round() {
    results_ = fmt::format("{}/round-{}", order_.directory, ++report_.rounds);
    worker_kills_ = kills_ = hangs_ = 0;
    full_disk_ = false;
    RETORT_RETURN_IF_ERROR(Start(0));
    for (;;) {
      RETORT_ASSIGN_OR_RETURN(const bool complete, Progress());
      if (complete) break;
    }
    return JudgeRound();
  }

  // The next disturbance, or the end of the run; true when the sweep is complete.
  Result<bool> Progress() {
    const bool more = next_ < plan_.size();
    const double wait = more ? plan_[next_].wait * report_.pace + (limited_ ? kLimitedSeconds : 0) - waited_
                             : ComputeLongestDisturbedRun(report_.undisturbed_seconds);
    const double began = Seconds();
    const std::optional<int> code = run_.Wait(std::max(wait, 0.0));
    if (code) {
      waited_ += Seconds() - began;
      return Ended(*code);
    }
    waited_ = 0;
    if (!more) return EnvironmentError("the disturbed run does not end: see " + LogPath());
    const Disturbance what = plan_[next_++];
    RETORT_RETURN_IF_ERROR(IsFreeze(what.kind) ? Freeze(what) : Kill(what));
    return false;
  }

  Result<bool> Ended(int code) {
    if (!WaitForNobody(kEndSeconds)) return Outlived();
    if (code == 0) return true;
    if (limited_) ++report_.full_disk_ends;
    if (code == 2) return EnvironmentError("the run refuses its own folder: see " + LogPath());
    if (code == 1) {
      RETORT_ASSIGN_OR_RETURN(const bool hopeless, RetryFailed());
      if (hopeless) return true;
    }
    RETORT_RETURN_IF_ERROR(Start(0));
    return false;
  }

  // A disk that was full is the only thing that `retort retry` may put right unnoticed. True, and nothing done,
  // when the failures would not come to an end.
  Result<bool> RetryFailed() {
    RunOptions options = order_.options;
    options.results = results_;
    RETORT_ASSIGN_OR_RETURN(const ResultsView view, ReadResults(env_, results_));
    std::vector<std::string>& unexplained = report_.verdict.unexplained;
    for (const TrialView& trial : view.trials) {
      if (trial.state != TrialState::failed) continue;
      const std::string how = fmt::format("{} failed for good in round {} ({}: {})", FormatTrialName(trial.spec),
                                          report_.rounds, GetFailureName(trial.failure), trial.detail);
      say_(how);
      if (!ExplainsFailure(trial.failure, full_disk_, kills_)) unexplained.push_back(how);
    }
    if (unexplained.size() >= kMaxUnexplained) next_ = plan_.size();
    if (!unexplained.empty() && next_ == plan_.size()) return true;
    RETORT_ASSIGN_OR_RETURN(const std::vector<TrialId> changed,
                            AmendResults(env_, options, {Amendment::retry, {}, true}, ReadClocks()));
    if (changed.empty()) return EnvironmentError("the run ended with 1 though no trial failed: see " + LogPath());
    report_.retried += static_cast<int>(changed.size());
    return false;
  }

  Status Kill(Disturbance what) {
    if (what.kind == DisturbanceKind::kill_worker) {
      const bool enough = worker_kills_ >= kWorkerKillsPerTrial * static_cast<int>(undisturbed_.trials.size());
      if (!enough && Signal(what, IsWorker, SIGKILL)) {
        ++worker_kills_;
        ++kills_;
        Count(what.kind);
        return {};
      }
      what.kind = DisturbanceKind::kill_run;
    }
    if (!Signal(what, IsRun, SIGKILL)) {
      --next_;  // it has just ended by itself: the disturbance waits for the next run
      return {};
    }
    ++kills_;
    Count(what.kind);
    if (!run_.Wait(kEndSeconds) || !WaitForNobody(kEndSeconds)) return Outlived();
    return Restart(what);
  }

  Status Restart(const Disturbance& what) {
    const std::string journal = GetJournalPath(results_), ledger = GetLedgerPath(results_);
    std::uint64_t limit = 0;
    if (what.kind == DisturbanceKind::torn_journal && env_.Exists(journal))
      RETORT_RETURN_IF_ERROR(TearLog(env_, journal, storage::LogKind::journal, what.pick));
    if (what.kind == DisturbanceKind::torn_ledger && env_.Exists(ledger))
      RETORT_RETURN_IF_ERROR(TearLog(env_, ledger, storage::LogKind::ledger, what.pick));
    if (what.kind == DisturbanceKind::full_disk && env_.Exists(journal)) {
      RETORT_ASSIGN_OR_RETURN(const std::string bytes, env_.ReadFile(journal));
      limit = bytes.size() + what.pick % kDiskLeft;
    }
    return Start(limit);
  }

  Status Freeze(Disturbance what) {
    if (what.kind == DisturbanceKind::hang_worker && (deadline_ == 0 || hangs_ >= kHangsPerRound))
      what.kind = DisturbanceKind::freeze_worker;
    const bool run = what.kind == DisturbanceKind::freeze_run;
    const pid_t victim = Signal(what, run ? IsRun : IsWorker, SIGSTOP);
    if (victim == 0) return {};
    if (what.kind != DisturbanceKind::hang_worker) {
      Sleep(what.hold);
    } else if (EndedByItsDeadline(victim)) {
      ++hangs_;
      Count(what.kind);
      return {};
    } else {
      what.kind = DisturbanceKind::freeze_worker;  // it had no trial, or the run ended first
    }
    ::kill(victim, SIGCONT);
    Count(what.kind);
    return {};
  }

  bool EndedByItsDeadline(pid_t victim) {
    const double began = Seconds(), until = began + std::max(deadline_, kStartSeconds) + kHangSeconds;
    const auto is_victim = [victim](const LiveProcess& process) { return process.pid == victim; };
    for (std::vector<LiveProcess> live = ListDescendants(); std::any_of(live.begin(), live.end(), is_victim);
         live = ListDescendants()) {
      if (Seconds() >= until || run_.Poll()) return false;
      Sleep(0.02);
    }
    // The deadline counts from the last report, which was up to a quarter of it before the stop.
    return Seconds() >= began + deadline_ / 2 && !run_.Poll();
  }

  // Of all trials, in seconds; 0 when one has none, or one that is too long to wait for.
  [[nodiscard]] double LongestDeadline() const {
    double longest = 0;
    for (const TrialView& trial : undisturbed_.trials) {
      const double deadline = trial.spec.execution.deadline_seconds;
      if (deadline == 0 || deadline > kLongestDeadline) return 0;
      longest = std::max(longest, deadline);
    }
    return longest;
  }

  // Sends the signal to one of those that `fits`; 0 when there is none.
  pid_t Signal(const Disturbance& what, bool (*fits)(const LiveProcess&), int signal) {
    const bool hang = what.kind == DisturbanceKind::hang_worker;
    const double until = Seconds() + (hang ? kHangSeconds : kVictimSeconds);
    for (;;) {
      std::vector<LiveProcess> victims = ListDescendants();
      std::erase_if(victims, [fits](const LiveProcess& process) { return !fits(process); });
      if (!victims.empty()) {
        const pid_t victim = victims[what.pick % victims.size()].pid;
        if (::kill(victim, signal) == 0) return victim;
      }
      if (Seconds() >= until || run_.Poll()) return 0;
      Sleep(0.01);
    }
  }

  void Count(DisturbanceKind kind) { ++report_.done[static_cast<std::size_t>(kind)]; }

  Status Start(std::uint64_t largest_file) {
    limited_ = largest_file > 0;
    full_disk_ = full_disk_ || limited_;
    RETORT_RETURN_IF_ERROR(env_.CreateDirectories(results_));
    RunOrder command;
    command.words = order_.launcher;
    if (largest_file > 0 && !order_.launcher.empty()) {
      // The disk of the ranks is full, not the launcher's own. The shell counts in blocks of 512 bytes.
      const std::string limited = fmt::format("trap '' XFSZ; ulimit -f {}; exec \"$@\"", largest_file / 512);
      command.words.insert(command.words.end(), {"sh", "-c", limited, "sh"});
      largest_file = 0;
    }
    command.words.push_back(order_.program);
    command.words.insert(command.words.end(), order_.run.begin(), order_.run.end());
    command.words.insert(command.words.end(), {"--results", results_, "--quiet"});
    command.environment = order_.options.environment;
    command.log = LogPath();
    command.largest_file = largest_file;
    RETORT_ASSIGN_OR_RETURN(run_, ChaosProcess::Start(command));
    if (report_.rounds > 0) ++report_.runs;
    return {};
  }

  Status JudgeRound() {
    RETORT_ASSIGN_OR_RETURN(const ResultsView view, ReadResults(env_, results_));
    RETORT_ASSIGN_OR_RETURN(const WitnessedDraws draws, ReadWitnesses(view));
    ChaosVerdict verdict = Judge(undisturbed_, view, draws);
    for (const Damage& damage : Verify(env_, results_).damage)
      verdict.damage.push_back(fmt::format("round {}: {}: {}", report_.rounds, damage.where, damage.what));
    say_(fmt::format("round {}: {} of {} rows equal, {} of {} disturbances so far", report_.rounds, verdict.equal,
                     verdict.rows, next_, plan_.size()));
    report_.verdict.Add(verdict);
    return {};
  }

  [[nodiscard]] Status Outlived() const {
    std::string left;
    for (const LiveProcess& process : ListDescendants())
      left += fmt::format(" {} ({}, state {})", process.name, process.pid, process.state);
    return EnvironmentError(
        fmt::format("after {:.0f} s these outlive their run:{}; see {}", kEndSeconds, left, LogPath()));
  }
  [[nodiscard]] std::string LogPath() const { return order_.directory + "/chaos.log"; }

  storage::Env& env_;
  const ChaosOrder& order_;
  const std::function<void(const std::string&)>& say_;
  std::vector<Disturbance> plan_;
  std::size_t next_ = 0;
  ChaosReport report_;
  ResultsView undisturbed_;
  std::string results_;  // of the round
  ChaosProcess run_;
  double deadline_ = 0;   // of the trial that has the longest; 0 = no worker is hung
  double waited_ = 0;     // for the next disturbance, in runs that ended before it was due
  bool limited_ = false;  // run_ has a full disk before it
  // In this round:
  int worker_kills_ = 0;
  int kills_ = 0;  // those, and of runs
  int hangs_ = 0;
  bool full_disk_ = false;  // some run had it
};

}  // namespace

Result<ChaosReport> RunChaos(storage::Env& env, const ChaosOrder& order,
                             const std::function<void(const std::string&)>& say) {
  return Chaos(env, order, say).Run();
}

}  // namespace retort::orchestrator::cli
