#include "orchestrator/service.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "cluster/host_address.h"
#include "cluster/host_identity.h"
#include "cluster/peer_user.h"
#include "orchestrator/amend_results.h"
#include "orchestrator/amendment.h"
#include "orchestrator/commit.h"
#include "orchestrator/cost_history.h"
#include "orchestrator/cost_recorder.h"
#include "orchestrator/environment.h"
#include "orchestrator/folder_lock.h"
#include "orchestrator/journal.h"
#include "orchestrator/local_agent.h"
#include "orchestrator/mpi_run.h"
#include "orchestrator/neighbours.h"
#include "orchestrator/open_files.h"
#include "orchestrator/orchestrator_loop.h"
#include "orchestrator/packing.h"
#include "orchestrator/progress_text.h"
#include "orchestrator/provenance.h"
#include "orchestrator/reactor.h"
#include "orchestrator/refutation_notes.h"
#include "orchestrator/root_examples.h"
#include "orchestrator/scheduler.h"
#include "orchestrator/spent_metrics.h"
#include "orchestrator/surroundings.h"
#include "orchestrator/system_clock.h"
#include "orchestrator/terminal.h"
#include "storage/file_modes.h"
#include "storage/mark_store.h"
#include "storage/presence.h"
#include "storage/result_file.h"

namespace retort::orchestrator {
namespace {

constexpr std::string_view kServeNothing = "none";  // --metrics-listen
constexpr double kDecodeNoteSeconds = 20;           // between words about pictures that are decoded

ProgressView MakeView(const RunOptions& options) {
  ProgressOptions view;
  view.quiet = options.quiet;
  view.live = CanRedraw(options.environment, STDERR_FILENO);
  view.color = options.color;
  view.env = &storage::PosixEnv();
  Screen screen;
  screen.utf8 = ReadsUtf8(options.environment);
  view.screen = [screen]() -> std::optional<Screen> {
    if (!InForeground(STDERR_FILENO)) return std::nullopt;
    return ResizedTo(screen, STDERR_FILENO);
  };
  return ProgressView(std::move(view), [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  });
}

// Null where none is wanted. `workers`: the most that will run at once; the files that they need are kept from whoever
// connects.
Result<std::unique_ptr<monitoring::Exporter>> StartExporter(const RunOptions& options, int workers, Now started) {
  if (options.metrics_listen == kServeNothing) return std::unique_ptr<monitoring::Exporter>();
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
  // No other run has both.
  const std::string run = fmt::format("{:x}-{:x}", static_cast<std::uint64_t>(started.unix_seconds * 1e6), ::getpid());
  monitoring::ConnectionLimits limits;
  limits.connections = ConnectionsWithin(HardOpenFiles(), static_cast<std::uint64_t>(workers), limits.connections);
  limits.user_of = cluster::PeerUser;
  return monitoring::Exporter::Start(listen, protection, run, limits);
}

RunFacts FactsOf(const RunOptions& options, Now started) {
  RunFacts facts;
  facts.version = options.version;
  for (const auto& [name, value] : options.build_facts)
    if (name == "commit") facts.commit = value;
  facts.started = started;
  return facts;
}

// What is left to do when the plan met the journal: nothing, or a run.
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
        examples_(env_, ResultsRoot(AbsoluteName(options.results)),
                  DigestOptionsOf()) {}

  // Returns the exit code.
  Result<int> Run() {
    const std::string results = AbsoluteName(options_.results);
    RETORT_ASSIGN_OR_RETURN(const bool begun, storage::IsThere(env_, results));
    if (!begun) {  // what fails here leaves no folder behind
      RETORT_RETURN_IF_ERROR(Prepare());
      Result<SharedExamples> shared = examples_.Look(plan_);
      if (!shared.ok()) shared = WithoutMarks(shared.status(), results);
      if (!shared.ok()) return shared.status();
      RETORT_RETURN_IF_ERROR(TermsElsewhere(env_, results, plan_, *shared).status());
      if (channel_ == nullptr) RETORT_RETURN_IF_ERROR(CheckPlaceable(plan_, agent_->devices()));
    }
    RETORT_ASSIGN_OR_RETURN(lock_, LockFolder(env_, results));
    RETORT_RETURN_IF_ERROR(ShareOrSay(results));
    RETORT_ASSIGN_OR_RETURN(SharedExamples shared, KeepExamples(results));
    Settings settings;
    settings.root = shared.root();
    settings.results = results;
    settings.world_size = channel_ == nullptr ? 1 : channel_->size();
    const double limit = options_.time_limit_seconds;
    settings.provenance_json =
        ProvenanceJson(options_, settings.world_size, limit > 0 ? started_.unix_seconds + limit : 0);
    Result<Recovered> opened = RecoverResults(env_, settings);
    if (!opened.ok()) {
      (void)RepublishLostSpending(env_, results);  // what is wrong is told by the error
      return opened.status();
    }
    Recovered recovered = *std::move(opened);
    RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> left,
                            ApplyLeftRequests(env_, recovered, started_));
    for (const std::string& sentence : left) view_.Say(sentence, started_);
    Outbox outbox;
    RETORT_RETURN_IF_ERROR(OpenSweep(recovered.core, plan_, started_, outbox));
    RETORT_RETURN_IF_ERROR(NoteLostTrials(env_, recovered.core));
    RETORT_RETURN_IF_ERROR(TryFullDiskAgain(recovered.core, outbox));
    if (outbox.empty() && recovered.core.AllFinal()) {
      LearnSurroundings(env_, recovered.core);
      return AlreadyDone(recovered);
    }
    // Of earlier plans here; what stays without marks counts for everybody.
    (void)examples_.Complete(recovered.core.charges.unpacked(), DataOf(recovered.core), shared).ok();
    shared.NoteUnmarked(recovered.core.charges.unpacked(), DataOf(recovered.core));
    RETORT_RETURN_IF_ERROR(LookBeside(results, recovered, shared, outbox));
    return Work(recovered, std::move(outbox));
  }

 private:
  // The worker program and the metrics address, once.
  Status Prepare() {
    if (prepared_) return {};
    RETORT_ASSIGN_OR_RETURN(agent_, MakeAgent(options_, WorldRank{0}));
    RETORT_ASSIGN_OR_RETURN(exporter_, StartExporter(options_, agent_->devices() * kMostPerSlot, started_));
    if (exporter_ != nullptr && exporter_->anywhere()) {
      RETORT_ASSIGN_OR_RETURN(host_, cluster::HostAddress(options_.environment));
    }
    prepared_ = true;
    return {};
  }

  // What an earlier run left keeps its modes unless it is to be shared.
  Status ShareOrSay(const std::string& results) {
    if (options_.shared_umask) {
      // Whoever may read the results may know what audits refuted.
      const std::string refuted = RefutationsFolder(ResultsRoot(results));
      if (storage::MayBeThere(env_, refuted))
        RETORT_RETURN_IF_ERROR(storage::ShareFolder(refuted, *options_.shared_umask));
      return storage::ShareFolder(results, *options_.shared_umask);
    }
    if (storage::OthersMayRead(JournalPath(results)))
      view_.Say("others can read what is in " + results +
                    " already, and not what is written from now on: chmod -R go= closes it, --share opens all",
                started_);
    return {};
  }

  // Of sweeps that begin at the same time, each says what it draws on before it looks at the others, so that no two draw
  // which may not; one after the other where marks are kept, so that the first may.
  Status LookBeside(const std::string& results, Recovered& recovered, SharedExamples& shared, Outbox& outbox) {
    std::unique_ptr<storage::FileLock> opening;
    if (examples_kept_) {
      RETORT_ASSIGN_OR_RETURN(opening, storage::LockOpening(env_, ResultsRoot(results)));
    }
    RETORT_RETURN_IF_ERROR(CommitJournal(recovered, outbox));
    RETORT_ASSIGN_OR_RETURN(RootTerms terms, TermsElsewhere(env_, results, plan_, shared));
    RETORT_RETURN_IF_ERROR(CheckHome(recovered.core, shared, terms));
    if (const std::string& lost = recovered.core.ledger_lost; !lost.empty()) {
      if (HasBudget() || !terms.budgets.empty()) return EnvironmentError(lost);
      view_.Say(lost, started_, true);
    }
    TellShared(shared, recovered.core);
    LearnSurroundings(env_, recovered.core);
    recovered.core.charged_elsewhere = std::move(terms.charged);
    recovered.core.other_budgets = std::move(terms.budgets);
    return {};
  }

  [[nodiscard]] bool HasBudget() const {
    return std::any_of(plan_.data.begin(), plan_.data.end(), [](const auto& data) { return data->budget.has_value(); });
  }

  // Under the folder's lock.
  Result<SharedExamples> KeepExamples(const std::string& results) {
    Result<SharedExamples> kept = examples_.Keep(plan_);
    examples_kept_ = kept.ok() && !plan_.data.empty();
    if (kept.ok()) return CompleteRoot(results, *std::move(kept));
    RETORT_ASSIGN_OR_RETURN(SharedExamples known, WithoutMarks(kept.status(), results));
    view_.Say("budgets will count this sweep for every data set, since its examples cannot be made known: " +
                  kept.status().message(),
              started_, true);
    return known;
  }

  // Whom nobody caps may draw on examples that cannot be made known: they count as anybody's from then on.
  Result<SharedExamples> WithoutMarks(const Status& why, const std::string& results) const {
    if (HasBudget() || why.code() != StatusCode::environment) return why;
    Result<storage::RootMarks> marks = storage::ReadMarks(env_, ResultsRoot(results));
    return marks.ok() ? SharedExamples(*std::move(marks)) : SharedExamples();
  }

  // Also of what was drawn on beside before there were marks, as far as the files are still there.
  Result<SharedExamples> CompleteRoot(const std::string& results, SharedExamples shared) {
    RETORT_ASSIGN_OR_RETURN(const BesideFolder beside, SweepsBeside(env_, results));
    for (const std::string& folder : beside.sweeps) {
      const Result<ResultsView> view = ReadJournaled(env_, folder);
      if (view.ok()) RETORT_RETURN_IF_ERROR(examples_.Complete(view->unpacked, view->data, shared));
    }
    return shared;
  }

  // A copy of a results folder, and one that was moved, charge where the sweeps beside their first place do not see it.
  Status CheckHome(const Core& core, const SharedExamples& shared, const RootTerms& terms) {
    if (shared.root().empty() || !IsStrange(core.noted_root(), shared)) return {};
    const std::string strange = StrangeRootText(core.settings().results);
    if (HasBudget() || !terms.budgets.empty()) return EnvironmentError(strange);
    view_.Say(strange, started_, true);
    return {};
  }

  void TellShared(const SharedExamples& shared, Core& core) {
    std::vector<std::string> digests = core.charges.Digests();
    for (const auto& data : plan_.data) digests.push_back(UnpackedOf(core.charges.unpacked(), data->digest));
    ShareCharges(shared, digests, core.charges);
  }

  // Pictures are decoded once a data set, and said so.
  storage::DigestOptions DigestOptionsOf() {
    storage::DigestOptions options;
    options.cache = storage::ProcessDigestCache();
    options.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 16U));
    options.progress = [this, next = started_.monotonic + kDecodeNoteSeconds](std::int64_t done, std::int64_t of) mutable {
      const Now now = ReadClocks();
      signals_.Read(now.monotonic);
      if (signals_.stop()) return Status(StatusCode::cancelled, "stopped by " + signals_.name() + " before anything ran");
      if (now.monotonic < next) return Status();
      next = now.monotonic + kDecodeNoteSeconds;
      view_.Say(fmt::format("reading private examples: {} of {} pictures", done, of), now);
      return Status();
    };
    return options;
  }

  // There may be room now.
  Status TryFullDiskAgain(Core& core, Outbox& outbox) {
    RETORT_ASSIGN_OR_RETURN(const std::vector<TrialId> again,
                            Amend(core, Amendment::retry, FailedByDisk(core), started_, outbox));
    if (!again.empty())
      view_.Say(fmt::format("trying again what a full or broken disk had ended: {} trial{}", again.size(),
                            again.size() == 1 ? "" : "s"),
                started_);
    return {};
  }

  // One that was deleted or is damaged is made anew.
  static bool LacksResultFile(const Core& core) {
    for (std::size_t index = 0; index < core.known(); ++index)
      if (core.At(index).row) return !storage::CheckResultFile(core.settings().results).ok();
    return false;
  }

  Result<int> AlreadyDone(const Recovered& recovered) {
    const int code = SweepExitCode(recovered.core);
    // A run that was killed between its last row and its last word left this to do; what else it left would say that
    // it lives.
    Publication publication(env_, nullptr);
    const std::string& results = recovered.core.settings().results;
    RETORT_ASSIGN_OR_RETURN(const bool said, storage::IsThere(env_, ExitCodePath(results)));
    if (!said || LacksResultFile(recovered.core)) publication.RowsChanged();
    RETORT_RETURN_IF_ERROR(PublishTargets(env_, recovered.core.settings().results, ""));
    RETORT_RETURN_IF_ERROR(
        publication.Finish(recovered.core, recovered.ledger->entries(), FactsOf(options_, started_), started_));
    RETORT_RETURN_IF_ERROR(PublishExitCode(env_, recovered.core.settings().results, code));
    const double nothing = ReadClocks().monotonic - started_.monotonic;
    view_.Say("nothing to do: every trial of this sweep has ended", started_);
    for (const std::string& line : Summary(recovered.core, nothing)) view_.Say(line, started_);
    return code;
  }

  Result<int> Work(Recovered& recovered, Outbox outbox) {
    RETORT_RETURN_IF_ERROR(Prepare());
    RETORT_RETURN_IF_ERROR(PublishOpening(env_, recovered.core));
    const std::string& results = recovered.core.settings().results;
    const bool served = exporter_ != nullptr;
    RETORT_RETURN_IF_ERROR(PublishTargets(env_, results, served ? exporter_->Targets(plan_.name, host_) : ""));
    view_.Say(fmt::format("sweep {}: {} trial{}, metrics {}", plan_.name, plan_.trials.size(),
                          plan_.trials.size() == 1 ? "" : "s", served ? "at " + exporter_->url(host_) : "in " + results + "/metrics.prom"),
              started_);
    if (!options_.device_notice.empty()) view_.Say(options_.device_notice, started_, true);
    CostRecorder costs(env_, OpenCostCache(env_, options_.environment), cluster::HostIdentity());
    if (!costs.warning().empty()) view_.Say(costs.warning(), started_, true);
    LearnCosts(recovered.core, costs);
    Publication publication(env_, exporter_.get());
    if (LacksResultFile(recovered.core)) publication.RowsChanged();
    OrchestratorLoop loop(recovered, signals_, channel_, publication, view_, std::move(agent_),
                          FactsOf(options_, started_), {options_.grace_seconds, options_.time_limit_seconds},
                          costs, RequestInbox(env_, results), AuditWatch(env_), FolderWatch(env_, results));
    const Result<bool> ended = loop.Run(std::move(outbox));
    // Whoever scrapes shall not take an end for a death.
    const Status silent = PublishTargets(env_, results, "");
    RETORT_ASSIGN_OR_RETURN(const bool at_once, ended);
    RETORT_RETURN_IF_ERROR(silent);
    if (const std::string complaint = costs.Finish(); !complaint.empty())
      view_.Say(complaint, ReadClocks(), true);
    if (at_once) {
      view_.Say(EndedAtOnce(recovered.core), ReadClocks(), true);
      return 130;
    }
    return Close(recovered, publication, loop.facts());
  }

  // From this folder and from earlier sweeps, and when it all has to be over.
  void LearnCosts(Core& core, const CostRecorder& costs) {
    core.costs = costs.known();
    if (options_.time_limit_seconds <= 0) return;
    core.costs.Merge(CostsOf(core, MachineKind(options_.environment)));
    core.work_ends = started_.monotonic + options_.time_limit_seconds;
  }

  Result<int> Close(Recovered& recovered, Publication& publication, const RunFacts& facts) {
    LearnSurroundings(env_, recovered.core);  // others may have spent since
    const Now now = ReadClocks();
    const int code = SweepExitCode(recovered.core);
    publication.RowsChanged();
    RETORT_RETURN_IF_ERROR(publication.Finish(recovered.core, recovered.ledger->entries(), facts, now));
    RETORT_RETURN_IF_ERROR(PublishExitCode(env_, recovered.core.settings().results, code));
    for (const std::string& line : Summary(recovered.core, now.monotonic - started_.monotonic))
      view_.Say(line, now);
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
  RaiseOpenFiles();
  const RunOptions options = OnUsableDevices(asked);
  RETORT_ASSIGN_OR_RETURN(StopSignals signals, StopSignals::Open());
  RETORT_ASSIGN_OR_RETURN(MpiRun mpi, MpiRun::Open(options));
  const Result<int> code = SweepRun(plan, options, signals, mpi.channel()).Run();
  mpi.Close(code.ok() ? *code : ExitCode(code.status().code()));
  return code;
}

}  // namespace retort::orchestrator
