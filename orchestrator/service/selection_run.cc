#include "orchestrator/service/selection_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "experiments/methods/spec_codec.h"
#include "experiments/privacy/selection_plan.h"
#include "orchestrator/core/privacy_charges.h"
#include "orchestrator/journal/folder_lock.h"
#include "orchestrator/journal/journal.h"
#include "orchestrator/journal/recovery.h"
#include "orchestrator/journal/selection_draw.h"
#include "orchestrator/process/system_clock.h"
#include "orchestrator/reactor/reactor.h"
#include "orchestrator/reactor/result_row.h"
#include "orchestrator/results/results_root.h"
#include "orchestrator/results/results_view.h"
#include "orchestrator/results/shared_examples.h"
#include "orchestrator/results/surroundings.h"
#include "orchestrator/service/publication.h"
#include "orchestrator/service/run_metrics.h"
#include "orchestrator/service/service.h"
#include "storage/datasets/mark_store.h"
#include "storage/files/file_modes.h"
#include "storage/results/attempt_file.h"

namespace retort::orchestrator {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kReleasedAttempt = 1;

// The same plan without budgets, which the selection as a whole is held against, and without anything to print.
SweepPlan MakeHiddenPlan(const SweepPlan& plan, std::vector<TrialSpec> drawn) {
  SweepPlan hidden;
  hidden.name = plan.name;
  hidden.file = plan.file;
  hidden.resolved_toml = plan.resolved_toml;
  hidden.unpacked = plan.unpacked;
  hidden.quota = plan.quota;
  for (const auto& data : plan.data) {
    auto free = std::make_shared<DataSpec>(*data);
    free->budget.reset();
    for (TrialSpec& spec : drawn)
      if (spec.data == data) spec.data = free;
    hidden.data.push_back(std::move(free));
  }
  hidden.trials = std::move(drawn);
  return hidden;
}

// What attempt.h5 of the released trial says of its releases is what the selection was charged.
Status CopyReleased(storage::Env& env, const std::string& from, const std::string& to, const TrialSpec& spec,
                    Generation generation, const privacy::PrivacyEvent& event) {
  RETORT_ASSIGN_OR_RETURN(storage::AttemptFile file, storage::ReadAttemptFile(from));
  file.spec_json = EncodeTrialSpec(spec);
  file.attempt = kReleasedAttempt;
  storage::LedgerEntry entry;
  entry.id = 1;
  entry.data_digest = spec.data->digest;
  entry.attempt = {spec.id, kReleasedAttempt};
  entry.generation = generation.value;
  entry.event = event;
  file.ledger = {std::move(entry)};
  file.claims = privacy::ComputeSelectionClaims(spec, event);
  if (file.samples) file.samples->claim = "the selection's";
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(fs::path(to).parent_path().string()));
  return storage::WriteAttemptFile(env, to, file);
}

class SelectionRun {
 public:
  SelectionRun(const SweepPlan& plan, const RunOptions& options)
      : plan_(plan),
        options_(options),
        env_(storage::PosixEnv()),
        results_(FindAbsolutePath(options.results)),
        selection_(MakeSelectionTrial(plan)),
        now_(ReadClocks()) {}

  Result<int> Run() {
    RETORT_ASSIGN_OR_RETURN(law_,
                            privacy::MakeDrawLaw(plan_.select->distribution, plan_.select->mean, plan_.select->eta));
    RETORT_ASSIGN_OR_RETURN(lock_, LockFolder(env_, results_));
    RETORT_ASSIGN_OR_RETURN(SharedExamples shared, MarkExamples());
    Settings settings;
    settings.results = results_;
    settings.root = shared.root();
    settings.provenance_json = FormatProvenanceJson(options_, 1);
    RETORT_ASSIGN_OR_RETURN(Recovered recovered, RecoverResults(env_, settings));
    RETORT_RETURN_IF_ERROR(CheckBelongs(recovered.core));
    if (HasEnded(recovered.core)) return Finish(recovered);
    Outbox outbox;
    SweepPlan standing = plan_;
    standing.trials = {selection_};
    RETORT_RETURN_IF_ERROR(OpenSweep(recovered.core, standing, now_, outbox));
    RETORT_ASSIGN_OR_RETURN(const SelectionDraw draw, FindDraw(recovered));
    const std::vector<TrialSpec> drawn = MakeDrawnTrials(plan_, draw);
    if (!FindReleasedCharge(recovered, drawn)) {
      RETORT_RETURN_IF_ERROR(Charge(recovered, shared, outbox));
      RETORT_RETURN_IF_ERROR(PublishOpening(env_, recovered.core));
      RETORT_ASSIGN_OR_RETURN(const int code, RunDrawn(drawn));
      if (code != 0) return code;
    } else {
      RETORT_RETURN_IF_ERROR(CommitOutbox(recovered, outbox));
    }
    RETORT_RETURN_IF_ERROR(Release(recovered, drawn));
    return Finish(recovered);
  }

 private:
  Result<SharedExamples> MarkExamples() {
    storage::DigestOptions reading;
    reading.cache = storage::FindDigestCache();
    reading.threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 16U));
    return RootExamples(env_, FindResultsRoot(results_), reading).Keep(plan_);
  }

  // A folder holds one selection: what was drawn for another one stays charged, and is no part of this one.
  Status CheckBelongs(const Core& core) const {
    for (std::size_t index = 0; index < core.known(); ++index) {
      const TrialSpec& spec = core.At(index).spec;
      if (spec.id == selection_.id || IsDrawnBy(spec, selection_.id)) continue;
      return Refused(
          fmt::format("{} holds {}, which is no part of this selection: another list of candidates, distribution or "
                      "score is another "
                      "selection, and is charged by itself. Give it a folder of its own with --results",
                      results_, IsOfSelection(spec) ? "another selection" : "the trials of a sweep"));
    }
    return {};
  }

  bool HasEnded(const Core& core) const {
    for (std::size_t index = 0; index < core.known(); ++index)
      if (core.At(index).row) return true;
    return false;
  }

  // Continues the draw that was made, or makes it. It is durable before anything is charged, and nothing runs before
  // both: so a stop in between changes neither the draw nor the charge.
  Result<SelectionDraw> FindDraw(const Recovered& recovered) {
    RETORT_ASSIGN_OR_RETURN(std::optional<SelectionDraw> draw, ReadDraw(env_, results_));
    const bool charged = recovered.core.charges.Knows(selection_.id);
    if (draw && draw->selection != selection_.id)
      return Refused(GetHiddenFolder(results_) +
                     " holds the draw of another selection; give this one a folder of its own");
    for (const Pick& pick : draw ? draw->picks : std::vector<Pick>())
      if (pick.candidate >= plan_.trials.size()) return DamageError("the draw names a candidate that there is not");
    if (draw) return *std::move(draw);
    if (charged)
      return Refused(fmt::format(
          "the draw of this selection is gone from {}: it cannot go on, and what it was charged stays. To draw anew is "
          "another selection; give it a folder of its own with --results",
          GetHiddenFolder(results_)));
    RETORT_RETURN_IF_ERROR(CloseHidden());
    SelectionDraw made = DrawSelection(selection_.id, law_, plan_.trials.size(), MakeDrawBits(selection_));
    RETORT_RETURN_IF_ERROR(WriteDraw(env_, results_, made));
    return made;
  }

  // Nobody but the owner enters the hidden folder, however open the results are.
  Status CloseHidden() {
    const std::string folder = GetHiddenFolder(results_);
    RETORT_RETURN_IF_ERROR(env_.CreateDirectories(folder));
    std::error_code failed;
    fs::permissions(folder, fs::perms::owner_all, failed);
    return failed ? EnvironmentError(fmt::format("{} cannot be closed to others: {}", folder, failed.message()))
                  : Status();
  }

  [[nodiscard]] std::vector<std::size_t> ListEntries(const Recovered& recovered, TrialId trial) const {
    std::vector<std::size_t> indices;
    const auto& entries = recovered.ledger->entries();
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (entries[i].attempt.trial == trial) indices.push_back(i);
    return indices;
  }

  // Reserves the selection as one event, which takes the place of the one that an earlier run reserved.
  Status Charge(Recovered& recovered, SharedExamples& shared, Outbox& outbox) {
    Core& core = recovered.core;
    const std::vector<std::size_t> earlier = ListEntries(recovered, selection_.id);
    RETORT_ASSIGN_OR_RETURN(event_,
                            privacy::PlanSelection(law_, plan_.trials, static_cast<std::int64_t>(earlier.size()),
                                                   plan_.select->score_noise));
    RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<storage::FileLock> opening,
                            storage::LockOpening(env_, FindResultsRoot(results_)));
    RETORT_RETURN_IF_ERROR(CommitJournal(recovered, outbox));
    RETORT_RETURN_IF_ERROR(CheckBudget(core, shared, earlier));
    const AttemptId attempt = {selection_.id, core.Get(selection_.id).attempts + 1};
    const Generation generation = core.NextGeneration();
    RETORT_RETURN_IF_ERROR(
        recovered.ledger->Reserve(selection_.data->digest, attempt, generation.value, event_).status());
    core.charges.Add(selection_.data->digest, selection_.id, event_);
    RETORT_RETURN_IF_ERROR(Replace(recovered, earlier));
    Record(core, AttemptLeased{attempt, generation, {}}, now_, outbox);
    Record(core, AttemptStarted{attempt}, now_, outbox);
    return CommitOutbox(recovered, outbox);
  }

  // A run that was killed while it released had run everything, and the released trial is charged already.
  bool FindReleasedCharge(const Recovered& recovered, const std::vector<TrialSpec>& drawn) {
    for (const TrialSpec& spec : drawn) {
      const std::vector<std::size_t> entries = ListEntries(recovered, spec.id);
      if (entries.empty()) continue;
      event_ = recovered.ledger->entries()[entries.front()].event;
      return true;
    }
    return false;
  }

  // Settles `entries`, which another one pays for now.
  Status Replace(Recovered& recovered, const std::vector<std::size_t>& entries) {
    for (const std::size_t index : entries) {
      const storage::LedgerEntry& entry = recovered.ledger->entries()[index];
      if (entry.state == storage::LedgerState::reserved) RETORT_RETURN_IF_ERROR(recovered.ledger->Settle(entry.id, 0));
    }
    return {};
  }

  // What an earlier run reserved does not count beside what takes its place.
  Status CheckBudget(Core& core, SharedExamples& shared, const std::vector<std::size_t>& earlier) {
    RETORT_ASSIGN_OR_RETURN(RootTerms terms, ReadRootTerms(env_, results_, plan_, shared));
    for (const std::size_t index : earlier) core.charges.Settle(index, 0);
    std::vector<std::string> digests = core.charges.Digests();
    for (const auto& data : plan_.data) digests.push_back(FindUnpackedDigest(core.charges.unpacked(), data->digest));
    ShareCharges(shared, digests, core.charges);
    const std::string& examples = FindUnpackedDigest(core.charges.unpacked(), selection_.data->digest);
    const auto find = [&examples](const auto& by_digest) {
      const auto found = by_digest.find(examples);
      return found == by_digest.end() ? typename std::decay_t<decltype(by_digest)>::mapped_type() : found->second;
    };
    const std::optional<std::string> refusal = RefuseOverBudget(
        core.charges, *selection_.data, event_, MakeCountRule(core), find(terms.charged), find(terms.budgets));
    return refusal ? Refused(*refusal + ".") : Status();
  }

  // Returns 0 where all of them have ended, however.
  Result<int> RunDrawn(const std::vector<TrialSpec>& drawn) {
    if (drawn.empty()) return 0;
    RunOptions options = options_;
    options.results = GetHiddenResults(results_);
    options.hidden = true;
    options.shared_umask.reset();
    RETORT_RETURN_IF_ERROR(CloseHidden());
    RETORT_RETURN_IF_ERROR(MarkHidden(env_, options.results));
    RETORT_ASSIGN_OR_RETURN(const int code, RunSweep(MakeHiddenPlan(plan_, drawn), options));
    const bool ended = code == 0 || code == 1 || code == GetExitCode(StatusCode::environment);
    return ended ? 0 : code;
  }

  // Makes the best one the sweep's only trial. Each step may be repeated: the ledger holds the released trial's charge
  // before it gives back the selection's, the file lies there before the journal names it.
  Status Release(Recovered& recovered, const std::vector<TrialSpec>& drawn) {
    now_ = ReadClocks();
    Outbox outbox;
    if (drawn.empty()) {
      Record(recovered.core, TrialCancelled{selection_.id}, now_, outbox);
      WriteMissingRows(recovered.core, now_, outbox);
      return CommitOutbox(recovered, outbox);
    }
    const std::string hidden = GetHiddenResults(results_);
    RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<storage::FileLock> lock, LockFolder(env_, hidden));
    Settings settings;
    settings.results = hidden;
    settings.hidden = true;
    RETORT_ASSIGN_OR_RETURN(const Recovered inner, RecoverResults(env_, settings));
    if (!inner.core.AllFinal()) return DamageError("the drawn trials have not all ended");
    event_ = CheckCharged(inner, drawn, event_);
    RETORT_ASSIGN_OR_RETURN(const std::size_t best, ChooseBest(inner.core, drawn));
    return Adopt(recovered, inner.core.Get(drawn[best].id), drawn[best], outbox);
  }

  // A trial that was charged for more than its candidate leaves the selection without a bound, and so does one with a
  // private score whose noise nobody was charged for.
  static privacy::PrivacyEvent CheckCharged(const Recovered& inner, const std::vector<TrialSpec>& drawn,
                                            privacy::PrivacyEvent event) {
    for (const TrialSpec& spec : drawn) {
      const bool scored = spec.score_noise > 0 && inner.core.Get(spec.id).state == TrialState::succeeded;
      const std::string why = privacy::FindUncovered(event, inner.core.charges.CollectEvents(spec.id), scored);
      if (!why.empty() && event.voids.empty()) event.voids.push_back(why);
    }
    return event;
  }

  Status Adopt(Recovered& recovered, const Trial& best, const TrialSpec& spec, Outbox& outbox) {
    Core& core = recovered.core;
    const Generation generation = core.NextGeneration();
    const AttemptId attempt = {spec.id, kReleasedAttempt};
    RETORT_ASSIGN_OR_RETURN(const storage::ResultRow row, best.row.Read(GetStateName(best.state)));
    if (!core.charges.Knows(spec.id)) {
      RETORT_RETURN_IF_ERROR(recovered.ledger->Reserve(spec.data->digest, attempt, generation.value, event_).status());
      core.charges.Add(spec.data->digest, spec.id, event_);
    }
    const std::vector<std::size_t> standing = ListEntries(recovered, selection_.id);
    RETORT_RETURN_IF_ERROR(Replace(recovered, standing));
    for (const std::size_t index : standing) core.charges.Settle(index, 0);
    AttemptEnded ended = MakeEnd(attempt, row);
    if (ended.succeeded) {
      ended.file = GetTrialDirectory(spec) + "/attempt-1/attempt.h5";
      RETORT_RETURN_IF_ERROR(CopyReleased(env_, GetHiddenResults(results_) + "/" + row.attempt_file,
                                          results_ + "/" + ended.file, spec, generation, event_));
    }
    SweepPlan released = plan_;
    released.trials = {spec};
    EndStanding(core, outbox);
    RETORT_RETURN_IF_ERROR(OpenSweep(core, released, now_, outbox));
    Record(core, AttemptLeased{attempt, generation, {}}, now_, outbox);
    Record(core, AttemptStarted{attempt}, now_, outbox);
    Record(core, std::move(ended), now_, outbox);
    WriteMissingRows(core, now_, outbox);
    return CommitOutbox(recovered, outbox);
  }

  // The trial that stood for the selection has no more to do.
  void EndStanding(Core& core, Outbox& outbox) {
    const Trial& standing = core.Get(selection_.id);
    if (standing.state != TrialState::leased && standing.state != TrialState::running) return;
    AttemptEnded over;
    over.attempt = {selection_.id, standing.attempts};
    over.for_good = false;
    over.failure = FailureKind::stopped;
    Record(core, std::move(over), now_, outbox);
  }

  // How the best one ended. Of one that failed nothing but that is released.
  static AttemptEnded MakeEnd(AttemptId attempt, const storage::ResultRow& row) {
    AttemptEnded ended;
    ended.attempt = attempt;
    ended.succeeded = row.state == GetStateName(TrialState::succeeded);
    if (!ended.succeeded) {
      ended.failure = FailureKind::internal;
      ended.detail = "every candidate that was drawn failed";
      return ended;
    }
    ended.metrics = row.metrics;
    ended.timings = row.timings;
    ended.parameters_digest = row.parameters_digest;
    return ended;
  }

  // Destroys what is hidden, and publishes what is left. Repeats what a run that was killed had left to do.
  Result<int> Finish(Recovered& recovered) {
    std::error_code failed;
    fs::remove_all(GetHiddenFolder(results_), failed);
    if (failed)
      return EnvironmentError(fmt::format("{} cannot be removed ({}): remove it, since what it holds was not chosen",
                                          GetHiddenFolder(results_), failed.message()));
    if (options_.shared_umask) RETORT_RETURN_IF_ERROR(storage::ShareFolder(results_, *options_.shared_umask));
    const Core& core = recovered.core;
    ReadSurroundings(env_, recovered.core);
    const int code = core.CountIn(TrialState::failed) > 0 ? 1 : 0;
    RETORT_RETURN_IF_ERROR(RepublishSpending(env_, core));
    RETORT_RETURN_IF_ERROR(PublishResults(env_, core, recovered.ledger->entries()));
    RETORT_RETURN_IF_ERROR(PublishExitCode(env_, results_, code));
    return code;
  }

  const SweepPlan& plan_;
  const RunOptions& options_;
  storage::Env& env_;
  const std::string results_;
  const TrialSpec selection_;
  Now now_;
  privacy::DrawLaw law_;
  privacy::PrivacyEvent event_;
  std::unique_ptr<storage::FileLock> lock_;
};

}  // namespace

Result<int> RunSelectingSweep(const SweepPlan& plan, const RunOptions& options) {
  return SelectionRun(plan, options).Run();
}

}  // namespace retort::orchestrator
