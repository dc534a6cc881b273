#include "orchestrator/service/service.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "cluster/host.h"
#include "orchestrator/core/packing.h"
#include "orchestrator/journal/cost_cache.h"
#include "orchestrator/journal/folder_lock.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/journal/recovery.h"
#include "orchestrator/process/environment.h"
#include "orchestrator/process/open_files.h"
#include "orchestrator/process/system_clock.h"
#include "orchestrator/process/terminal.h"
#include "orchestrator/reactor/amendment.h"
#include "orchestrator/reactor/reactor.h"
#include "orchestrator/reactor/scheduler.h"
#include "orchestrator/results/audit_store.h"
#include "orchestrator/results/cost_history.h"
#include "orchestrator/results/results_root.h"
#include "orchestrator/results/shared_examples.h"
#include "orchestrator/results/surroundings.h"
#include "orchestrator/screen/progress_text.h"
#include "orchestrator/service/agent_rank.h"
#include "orchestrator/service/amend_results.h"
#include "orchestrator/service/orchestrator_loop.h"
#include "orchestrator/service/run_metrics.h"
#include "orchestrator/service/run_options.h"
#include "storage/datasets/mark_store.h"
#include "storage/files/file_modes.h"
#include "storage/files/path_status.h"
#include "storage/results/result_file.h"

namespace retort::orchestrator {
namespace {

constexpr std::string_view kServeNothing = "none";  // --metrics-listen
constexpr double kDecodeNoteSeconds = 20;           // between words about images that are decoded

ProgressView MakeView(const RunOptions& options) {
  ProgressOptions view;
  view.quiet = options.quiet;
  view.live = CanRedraw(options.environment, STDERR_FILENO);
  view.color = options.color;
  view.env = &storage::PosixEnv();
  Screen screen;
  screen.utf8 = IsUtf8Locale(options.environment);
  view.screen = [screen]() -> std::optional<Screen> {
    if (!IsInForeground(STDERR_FILENO)) return std::nullopt;
    return MeasureScreen(screen, STDERR_FILENO);
  };
  return ProgressView(std::move(view), [hidden = options.hidden](std::string_view text) {
    if (hidden) return;
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  });
}

// Returns null where no metrics are served. `workers`: at most so many run at once; connections leave the files that
// they need.
Result<std::unique_ptr<monitoring::Exporter>> StartExporter(const RunOptions& options, int workers, Now started) {
  if (options.hidden || options.metrics_listen == kServeNothing) return std::unique_ptr<monitoring::Exporter>();
  monitoring::ListenAddress listen;
  if (!options.metrics_listen.empty()) {
    RETORT_ASSIGN_OR_RETURN(listen, monitoring::ParseListenAddress(options.metrics_listen));
  }
  monitoring::Protection protection;
  if (!options.metrics_auth.empty()) {
    RETORT_ASSIGN_OR_RETURN(protection.credentials, monitoring::ReadCredentials(options.metrics_auth));
  }
  if (!options.metrics_tls.empty()) {
    RETORT_ASSIGN_OR_RETURN(protection.certificate, monitoring::ReadCertificate(options.metrics_tls));
  }
  // Start time and process id identify the run.
  const std::string run = fmt::format("{:x}-{:x}", static_cast<std::uint64_t>(started.unix_seconds * 1e6), ::getpid());
  monitoring::ConnectionLimits limits;
  limits.connections =
      ComputeMaxConnections(GetHardOpenFileLimit(), static_cast<std::uint64_t>(workers), limits.connections);
  limits.user_of = cluster::FindPeerUser;
  return monitoring::Exporter::Start(listen, protection, run, limits);
}

RunFacts MakeRunFacts(const RunOptions& options, Now started) {
  RunFacts facts;
  facts.version = options.version;
  for (const auto& [name, value] : options.build_facts)
    if (name == "commit") facts.commit = value;
  facts.started = started;
  return facts;
}

// Opens the results folder, compares the plan with the journal, and runs what is left.
class SweepRun {
 public:
  SweepRun(const SweepPlan& plan, const RunOptions& options, StopSignals& signals, cluster::Channel* channel)
      : plan_(plan),
        options_(options),
        signals_(signals),
        channel_(channel),
        env_(storage::PosixEnv()),
        started_(ReadClocks()),
        view_(MakeView(options)),
        examples_(env_, FindResultsRoot(FindAbsolutePath(options.results)), MakeDigestOptions()) {}

  // Returns the exit code.
  Result<int> Run() {
    const std::string results = FindAbsolutePath(options_.results);
    RETORT_ASSIGN_OR_RETURN(const bool begun, storage::PathExists(env_, results));
    if (!begun) {  // what fails here leaves no folder behind
      RETORT_RETURN_IF_ERROR(Prepare());
      Result<SharedExamples> shared = examples_.Look(plan_);
      if (!shared.ok()) shared = WithoutMarks(shared.status(), results);
      if (!shared.ok()) return shared.status();
      RETORT_RETURN_IF_ERROR(ReadRootTerms(env_, results, plan_, *shared).status());
      if (channel_ == nullptr) RETORT_RETURN_IF_ERROR(CheckPlaceable(plan_, agent_->devices()));
    }
    RETORT_ASSIGN_OR_RETURN(lock_, LockFolder(env_, results));
    RETORT_RETURN_IF_ERROR(ShareResultsFolder(results));
    RETORT_ASSIGN_OR_RETURN(SharedExamples shared, MarkExamples(results));
    Settings settings;
    settings.root = shared.root();
    settings.results = results;
    settings.world_size = channel_ == nullptr ? 1 : channel_->size();
    settings.hidden = options_.hidden;
    const double limit = options_.time_limit_seconds;
    settings.provenance_json =
        FormatProvenanceJson(options_, settings.world_size, limit > 0 ? started_.unix_seconds + limit : 0);
    Result<Recovered> opened = RecoverResults(env_, settings);
    if (!opened.ok()) {
      (void)RepublishLostSpending(env_, results);  // what is wrong is told by the error
      return opened.status();
    }
    Recovered recovered = *std::move(opened);
    RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> left, ApplyPendingRequests(env_, recovered, started_));
    for (const std::string& sentence : left) view_.PrintLine(sentence, started_);
    Outbox outbox;
    RETORT_RETURN_IF_ERROR(Open(recovered.core, outbox));
    RETORT_RETURN_IF_ERROR(NoteLostTrials(env_, recovered.core));
    RETORT_RETURN_IF_ERROR(RetryDiskFailures(recovered.core, outbox));
    if (outbox.empty() && recovered.core.AllFinal()) {
      ReadSurroundings(env_, recovered.core);
      return FinishWithoutRun(recovered);
    }
    // Marks the examples of earlier plans of this folder; data without marks counts for every data set.
    (void)examples_.Complete(recovered.core.charges.unpacked(), ListDataSpecs(recovered.core), shared).ok();
    shared.NoteUnmarked(recovered.core.charges.unpacked(), ListDataSpecs(recovered.core));
    RETORT_RETURN_IF_ERROR(CheckOtherSweeps(results, recovered, shared, outbox));
    return Work(recovered, std::move(outbox));
  }

 private:
  // Opens the sweep, a search with what it has suggested so far.
  Status Open(Core& core, Outbox& outbox) {
    if (!options_.plan_search) return OpenSweep(core, plan_, started_, outbox);
    RETORT_ASSIGN_OR_RETURN(const SearchHistory history, CollectHistory(core));
    RETORT_ASSIGN_OR_RETURN(const SweepPlan plan, options_.plan_search(history));
    return OpenSweep(core, plan, started_, outbox);
  }

  // Finds the worker program and opens the metrics address, once.
  Status Prepare() {
    if (prepared_) return {};
    RETORT_ASSIGN_OR_RETURN(agent_, MakeAgent(options_, WorldRank{0}));
    RETORT_ASSIGN_OR_RETURN(exporter_, StartExporter(options_, agent_->devices() * kMaxTrialsPerSlot, started_));
    if (exporter_ != nullptr && exporter_->anywhere()) {
      RETORT_ASSIGN_OR_RETURN(host_, cluster::FindHostAddress(options_.environment));
    }
    prepared_ = true;
    return {};
  }

  // Opens the folder to others where that is asked for; else files of earlier runs keep their modes.
  Status ShareResultsFolder(const std::string& results) {
    if (options_.shared_umask) {
      // Whoever may read the results may read what audits refuted.
      const std::string refuted = GetRefutationsFolder(FindResultsRoot(results));
      if (storage::MayExist(env_, refuted))
        RETORT_RETURN_IF_ERROR(storage::ShareFolder(refuted, *options_.shared_umask));
      return storage::ShareFolder(results, *options_.shared_umask);
    }
    if (storage::IsReadableByOthers(GetJournalPath(results)))
      view_.PrintLine("others can read what is in " + results +
                          " already, and not what is written from now on: chmod -R go= closes it, --share opens all",
                      started_);
    return {};
  }

  // Reads what the other sweeps of the results root charge and cap. Sweeps that begin at the same time note in their
  // journals what they draw on before they look at the others, so that no two draw that must not both draw. Where marks
  // are kept they do so one after the other, so that the first one may go on.
  Status CheckOtherSweeps(const std::string& results, Recovered& recovered, SharedExamples& shared, Outbox& outbox) {
    std::unique_ptr<storage::FileLock> opening;
    if (examples_kept_) {
      RETORT_ASSIGN_OR_RETURN(opening, storage::LockOpening(env_, FindResultsRoot(results)));
    }
    RETORT_RETURN_IF_ERROR(CommitJournal(recovered, outbox));
    RETORT_ASSIGN_OR_RETURN(RootTerms terms, ReadRootTerms(env_, results, plan_, shared));
    RETORT_RETURN_IF_ERROR(CheckResultsRoot(recovered.core, shared, terms));
    if (const std::string& lost = recovered.core.ledger_lost; !lost.empty()) {
      if (HasBudget() || !terms.budgets.empty()) return EnvironmentError(lost);
      view_.PrintLine(lost, started_, true);
    }
    ShareCommonCharges(shared, recovered.core);
    ReadSurroundings(env_, recovered.core);
    recovered.core.other_spending = std::move(terms.charged);
    recovered.core.other_budgets = std::move(terms.budgets);
    return {};
  }

  [[nodiscard]] bool HasBudget() const {
    return std::any_of(plan_.data.begin(), plan_.data.end(), [](const auto& data) { return data->budget.has_value(); });
  }

  // REQUIRES: the folder's lock is held.
  Result<SharedExamples> MarkExamples(const std::string& results) {
    Result<SharedExamples> kept = examples_.Keep(plan_);
    examples_kept_ = kept.ok() && !plan_.data.empty();
    if (kept.ok()) return MarkExamplesOfOtherSweeps(results, *std::move(kept));
    RETORT_ASSIGN_OR_RETURN(SharedExamples known, WithoutMarks(kept.status(), results));
    view_.PrintLine("budgets will count this sweep for every data set, since its examples cannot be made known: " +
                        kept.status().message(),
                    started_, true);
    return known;
  }

  // Without a budget a sweep may draw on examples that cannot be marked; they count for every data set from then on.
  Result<SharedExamples> WithoutMarks(const Status& why, const std::string& results) const {
    if (HasBudget() || why.code() != StatusCode::environment) return why;
    Result<storage::RootMarks> marks = storage::ReadMarks(env_, FindResultsRoot(results));
    return marks.ok() ? SharedExamples(*std::move(marks)) : SharedExamples();
  }

  // Adds marks for data of the other sweeps of the root that have none yet, as far as the files are still there.
  Result<SharedExamples> MarkExamplesOfOtherSweeps(const std::string& results, SharedExamples shared) {
    RETORT_ASSIGN_OR_RETURN(const OtherFolders beside, ListOtherFolders(env_, results));
    for (const std::string& folder : beside.sweeps) {
      const Result<ResultsView> view = ReadJournaled(env_, folder);
      if (view.ok()) RETORT_RETURN_IF_ERROR(examples_.Complete(view->unpacked, view->data, shared));
    }
    return shared;
  }

  // Refuses a results folder that was copied or moved to another results root, where a budget holds: the sweeps of its
  // first root would not see what it charges.
  Status CheckResultsRoot(const Core& core, const SharedExamples& shared, const RootTerms& terms) {
    if (shared.root().empty() || !IsInForeignRoot(core.noted_root(), shared)) return {};
    const std::string strange = DescribeForeignRoot(core.settings().results);
    if (HasBudget() || !terms.budgets.empty()) return EnvironmentError(strange);
    view_.PrintLine(strange, started_, true);
    return {};
  }

  void ShareCommonCharges(const SharedExamples& shared, Core& core) {
    std::vector<std::string> digests = core.charges.Digests();
    for (const auto& data : plan_.data) digests.push_back(FindUnpackedDigest(core.charges.unpacked(), data->digest));
    ShareCharges(shared, digests, core.charges);
  }

  // Images are decoded once for each data set; progress is shown.
  storage::DigestOptions MakeDigestOptions() {
    storage::DigestOptions options;
    options.cache = storage::FindDigestCache();
    options.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 16U));
    options.progress = [this, next = started_.monotonic + kDecodeNoteSeconds](std::int64_t done,
                                                                              std::int64_t of) mutable {
      const Now now = ReadClocks();
      signals_.Read(now.monotonic);
      if (signals_.stop())
        return Status(StatusCode::cancelled, "stopped by " + signals_.name() + " before anything ran");
      if (now.monotonic < next) return Status();
      next = now.monotonic + kDecodeNoteSeconds;
      view_.PrintLine(fmt::format("reading private examples: {} of {} pictures", done, of), now);
      return Status();
    };
    return options;
  }

  // Retries trials that a full or broken disk had ended.
  Status RetryDiskFailures(Core& core, Outbox& outbox) {
    if (options_.hidden) return {};
    RETORT_ASSIGN_OR_RETURN(const std::vector<TrialId> again,
                            Amend(core, Amendment::retry, ListFailedByDisk(core), started_, outbox));
    if (!again.empty())
      view_.PrintLine(fmt::format("trying again what a full or broken disk had ended: {} trial{}", again.size(),
                                  again.size() == 1 ? "" : "s"),
                      started_);
    return {};
  }

  // Whether trials ask for what CPUs do not have.
  [[nodiscard]] bool MeetsNoTf32() const {
    const auto asks = [](const TrialSpec& spec) { return spec.precision == Precision::tf32; };
    return std::ranges::any_of(plan_.trials, asks) &&
           cluster::DiscoverHost(options_.environment, options_.device_directory).cuda_devices == 0;
  }

  // Whether results.h5 is missing or damaged, so that it must be written anew.
  static bool IsResultFileMissing(const Core& core) {
    for (std::size_t index = 0; index < core.known(); ++index)
      if (core.At(index).row) return !storage::CheckResultFile(core.settings().results).ok();
    return false;
  }

  Result<int> FinishWithoutRun(const Recovered& recovered) {
    const int code = ChooseSweepExitCode(recovered.core);
    // A run that was killed after its last row and before its exit code left this to do; its targets.json still lists
    // it.
    Publication publication(env_, nullptr);
    const std::string& results = recovered.core.settings().results;
    RETORT_ASSIGN_OR_RETURN(const bool said, storage::PathExists(env_, GetExitCodePath(results)));
    if (!said || IsResultFileMissing(recovered.core)) publication.RowsChanged();
    RETORT_RETURN_IF_ERROR(PublishTargets(env_, recovered.core.settings().results, ""));
    RETORT_RETURN_IF_ERROR(
        publication.Finish(recovered.core, recovered.ledger->entries(), MakeRunFacts(options_, started_), started_));
    RETORT_RETURN_IF_ERROR(PublishExitCode(env_, recovered.core.settings().results, code));
    const double nothing = ReadClocks().monotonic - started_.monotonic;
    view_.PrintLine("nothing to do: every trial of this sweep has ended", started_);
    for (const std::string& line : FormatSweepSummary(recovered.core, nothing)) view_.PrintLine(line, started_);
    return code;
  }

  Result<int> Work(Recovered& recovered, Outbox outbox) {
    RETORT_RETURN_IF_ERROR(Prepare());
    RETORT_RETURN_IF_ERROR(PublishOpening(env_, recovered.core));
    const std::string& results = recovered.core.settings().results;
    const bool served = exporter_ != nullptr;
    RETORT_RETURN_IF_ERROR(PublishTargets(env_, results, served ? exporter_->Targets(plan_.name, host_) : ""));
    view_.PrintLine(fmt::format("sweep {}: {} trial{}, metrics {}", plan_.name, plan_.trials.size(),
                                plan_.trials.size() == 1 ? "" : "s",
                                served ? "at " + exporter_->url(host_) : "in " + results + "/metrics.prom"),
                    started_);
    if (!options_.device_notice.empty()) view_.PrintLine(options_.device_notice, started_, true);
    if (MeetsNoTf32())
      view_.PrintLine("precision = \"tf32\" is computed as float32: this run has no GPU that it can use", started_);
    CostCache known = OpenCostCache(env_, options_.environment);
    // What trials take that share a GPU is of no use later, and what hidden ones take is nobody's business.
    if (options_.oversubscribe_gpu > 1 || options_.hidden) known.path.clear();
    CostRecorder costs(env_, std::move(known), cluster::ReadHostIdentity());
    if (!costs.warning().empty()) view_.PrintLine(costs.warning(), started_, true);
    SetKnownCosts(recovered.core, costs);
    Publication publication(env_, exporter_.get());
    if (IsResultFileMissing(recovered.core)) publication.RowsChanged();
    OrchestratorLoop loop(recovered, signals_, channel_, publication, view_, std::move(agent_),
                          MakeRunFacts(options_, started_),
                          {options_.grace_seconds, options_.time_limit_seconds, MakeStallRule()}, costs,
                          RequestInbox(env_, results), AuditWatch(env_), FolderWatch(env_, results));
    if (options_.plan_search) loop.SearchBy(options_.plan_search);
    const Result<bool> ended = loop.Run(std::move(outbox));
    // Without a target, Prometheus does not report a run that ended as one that died.
    const Status silent = PublishTargets(env_, results, "");
    RETORT_ASSIGN_OR_RETURN(const bool at_once, ended);
    RETORT_RETURN_IF_ERROR(silent);
    if (const std::string complaint = costs.Finish(); !complaint.empty())
      view_.PrintLine(complaint, ReadClocks(), true);
    if (at_once) {
      view_.PrintLine(FormatEndedAtOnce(recovered.core), ReadClocks(), true);
      return 130;
    }
    return Close(recovered, publication, loop.facts());
  }

  // None of hidden trials, of which nothing is told.
  [[nodiscard]] StallRule MakeStallRule() const {
    if (options_.hidden) return {};
    return {options_.on_stall, options_.stall_seconds, options_.environment};
  }

  // Sets the costs known from this folder and from earlier sweeps, and when the run has to end.
  void SetKnownCosts(Core& core, const CostRecorder& costs) {
    core.costs = costs.known();
    if (options_.time_limit_seconds <= 0) return;
    core.costs.Merge(ComputeCosts(core, FindMachineKind(options_.environment)));
    core.work_ends = started_.monotonic + options_.time_limit_seconds;
  }

  Result<int> Close(Recovered& recovered, Publication& publication, const RunFacts& facts) {
    ReadSurroundings(env_, recovered.core);  // others may have spent since
    const Now now = ReadClocks();
    const int code = ChooseSweepExitCode(recovered.core);
    publication.RowsChanged();
    RETORT_RETURN_IF_ERROR(publication.Finish(recovered.core, recovered.ledger->entries(), facts, now));
    RETORT_RETURN_IF_ERROR(PublishExitCode(env_, recovered.core.settings().results, code));
    for (const std::string& line : FormatSweepSummary(recovered.core, now.monotonic - started_.monotonic))
      view_.PrintLine(line, now);
    return code;
  }

  const SweepPlan& plan_;
  const RunOptions& options_;
  StopSignals& signals_;
  cluster::Channel* channel_;
  storage::Env& env_;
  Now started_;
  ProgressView view_;
  RootExamples examples_;
  std::unique_ptr<storage::FileLock> lock_;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<monitoring::Exporter> exporter_;
  std::string host_ = "127.0.0.1";  // by which others reach an exporter that listens on every address
  bool prepared_ = false;
  bool examples_kept_ = false;
};

}  // namespace

Result<int> RunSweep(const SweepPlan& plan, const RunOptions& asked) {
  RaiseOpenFileLimit();
  const RunOptions options = RestrictToUsableDevices(asked);
  RETORT_ASSIGN_OR_RETURN(StopSignals signals, StopSignals::Open());
  RETORT_ASSIGN_OR_RETURN(MpiRun mpi, MpiRun::Open(options));
  const Result<int> code = SweepRun(plan, options, signals, mpi.channel()).Run();
  mpi.Close(code.ok() ? *code : GetExitCode(code.status().code()));
  return code;
}

int EndRun(const RunOptions& options, int exit_code) {
  const cluster::LaunchEnvironment launch = cluster::ReadLaunchEnvironment(options.environment);
  if (!cluster::MayJoinWorld(launch)) return exit_code;
  WriteLauncherExitCode(launch, exit_code);
  Result<MpiRun> world = MpiRun::Open(options);
  if (world.ok()) world->Close(exit_code);
  // RunSweep has opened and closed the world already: no rank waits any more.
  if (world.ok() || world.status().code() == StatusCode::refused) return 0;
  if (exit_code != 0) return exit_code;
  std::fprintf(stderr, "%s\n", world.status().message().c_str());
  WriteLauncherExitCode(launch, GetExitCode(world.status().code()));
  return GetExitCode(world.status().code());
}

}  // namespace retort::orchestrator
