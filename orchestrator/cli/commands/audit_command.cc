#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "cluster/launch_environment.h"
#include "cluster/worker_process.h"
#include "experiments/methods/spec_codec.h"
#include "experiments/privacy/audit_report.h"
#include "experiments/privacy/claims.h"
#include "orchestrator/agent/worker_query.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/load_sweep.h"
#include "orchestrator/cli/commands/open_results.h"
#include "orchestrator/cli/commands/output_file.h"
#include "orchestrator/cli/commands/shipped_sweeps.h"
#include "orchestrator/cli/render/audit_chart.h"
#include "orchestrator/cli/render/audit_text.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/shell/command_tree.h"
#include "orchestrator/core/privacy_charges.h"
#include "orchestrator/journal/folder_lock.h"
#include "orchestrator/plot/render.h"
#include "orchestrator/process/environment.h"
#include "orchestrator/results/audit_cost.h"
#include "orchestrator/results/audit_store.h"
#include "orchestrator/results/cost_history.h"
#include "orchestrator/results/stored_plan.h"
#include "orchestrator/results/trial_names.h"
#include "orchestrator/service/publication.h"
#include "storage/files/file_modes.h"
#include "storage/files/path_status.h"

namespace retort::orchestrator::cli {

// retort audit
namespace {

using nlohmann::ordered_json;
using privacy::AuditKind;

constexpr const char* kCaveat =
    "An audit that finds nothing is no proof of privacy. The findings come from the private examples: keep "
    "them where "
    "the examples are kept.";

std::vector<AuditKind> ReadKinds(const CommandLine& line) {
  std::set<AuditKind> kinds;
  for (const std::string& name : line.audit.kinds) {
    if (name == "all")
      for (const std::string& every : privacy::AuditKindNames()) kinds.insert(*privacy::FindAuditKind(every));
    else if (const auto kind = privacy::FindAuditKind(name))
      kinds.insert(*kind);
  }
  if (kinds.empty()) kinds = {AuditKind::release_step, AuditKind::transcript, AuditKind::membership};
  return {kinds.begin(), kinds.end()};
}

std::vector<privacy::InversionAttack> ReadAttacks(const CommandLine& line) {
  std::set<privacy::InversionAttack> attacks;
  for (const std::string& name : line.audit.attacks)
    if (const auto attack = privacy::FindInversionAttack(name)) attacks.insert(*attack);
  if (attacks.empty()) attacks = {privacy::InversionAttack::fredrikson};
  return {attacks.begin(), attacks.end()};
}

// Options of an audit that is not asked for would be ignored unseen.
Status CheckAttackOptions(const CommandLine& line) {
  const AuditArguments& audit = line.audit;
  if (audit.attacks.empty() && audit.gan_steps == 0 && audit.latent_steps == 0) return {};
  const std::vector<AuditKind> kinds = ReadKinds(line);
  if (std::find(kinds.begin(), kinds.end(), AuditKind::inversion) == kinds.end())
    return UsageError("--attack, --gan-steps and --latent-steps go with --kind inversion.");
  const std::vector<privacy::InversionAttack> attacks = ReadAttacks(line);
  const bool generative = attacks != std::vector{privacy::InversionAttack::fredrikson};
  if (!generative && (audit.gan_steps > 0 || audit.latent_steps > 0))
    return UsageError("--gan-steps and --latent-steps go with --attack gmi or --attack plg-mi.");
  return {};
}

bool NamesSweep(const Invocation& call) {
  const std::string& word = call.line.audit.target;
  return word.ends_with(".toml") || (word.find('/') != std::string::npos && storage::MayExist(call.env, word)) ||
         FindSweepFile(word, FindSharedFolder()) != word;
}

// The trials meant, and the folder that they are in.
struct Audited {
  ResultsView view;
  std::vector<const TrialView*> trials;  // of `view`
  std::vector<std::string> left_out;     // sentences
};

bool Finished(const TrialView& trial) { return trial.state == TrialState::succeeded && trial.row.has_value(); }

Result<const TrialView*> OneFinished(const ResultsView& view, const std::string& word) {
  RETORT_ASSIGN_OR_RETURN(const TrialView* trial, FindTrial(view, word));
  if (Finished(*trial)) return trial;
  return UsageError(fmt::format("{} is {}: only a trial that has succeeded can be audited (`{}` says more).",
                                FormatTrialName(trial->spec), GetStateName(trial->state),
                                AddResultsOption(FormatTrialCommand("explain", trial->spec), view.directory)));
}

Status FindSweepTrials(const SweepPlan& plan, Audited& audited) {
  std::set<TrialId> planned;
  for (const TrialSpec& spec : plan.trials) planned.insert(spec.id);
  for (const TrialView& trial : audited.view.trials) {
    if (!planned.contains(trial.spec.id)) continue;
    if (Finished(trial))
      audited.trials.push_back(&trial);
    else
      audited.left_out.push_back(fmt::format("{} is {}", FormatTrialName(trial.spec), GetStateName(trial.state)));
  }
  if (!audited.trials.empty()) return {};
  return UsageError("no trial of the sweep has succeeded in " + audited.view.directory + "; `" +
                    RunAgainCommand(audited.view.directory) + "` runs it.");
}

// An exit code when there is nothing to audit.
std::optional<int> FindAudited(const Invocation& call, Audited& audited) {
  const CommandLine& line = call.line;
  std::optional<SweepPlan> plan;
  Result<ResultsView> view = ResultsView();
  if (NamesSweep(call)) {
    LoadedSweep loaded = LoadWithData(
        call.env, {line.audit.target, line.overrides, line.global.profile, false, false, line.global.results});
    if (!loaded.plan) return call.console.Fail(loaded.errors, loaded.code);
    plan = std::move(loaded.plan);
    const Result<FoundResults> found = FindResults(call.env, FindResultsPath(line.global.results, plan->name));
    if (!found.ok()) return call.console.Fail(found.status());
    view = ReadResults(call.env, found->directory);
  } else if (!line.overrides.empty()) {
    return call.console.Fail(
        UsageError("KEY=VALUE goes with a sweep file; \"" + line.audit.target + "\" names a trial."));
  } else {
    view = OpenResults(call);
  }
  if (!view.ok()) return call.console.Fail(view.status());
  audited.view = std::move(view).value();
  if (plan) {
    const Status found = FindSweepTrials(AdoptReleased(*std::move(plan), audited.view), audited);
    return found.ok() ? std::nullopt : std::optional(call.console.Fail(found));
  }
  const Result<const TrialView*> trial = OneFinished(audited.view, line.audit.target);
  if (!trial.ok()) return call.console.Fail(trial.status());
  audited.trials.push_back(*trial);
  return std::nullopt;
}

std::string Absolute(const ResultsView& view, const std::string& file) {
  if (file.empty()) return "";
  return std::filesystem::absolute(view.directory + "/" + file).lexically_normal().string();
}

const TrialView* FindTeacher(const ResultsView& view, const TrialView& trial) {
  const auto teacher = std::find_if(view.trials.begin(), view.trials.end(), [&](const TrialView& other) {
    return trial.spec.parent && other.spec.id == *trial.spec.parent && other.row;
  });
  return teacher == view.trials.end() ? nullptr : &*teacher;
}

// The trial's claims as they would be at privacy::kAlarmDelta.
std::vector<privacy::Claim> AlarmClaims(const PrivacyCharges& charges, const ResultsView& view,
                                        const TrialView& trial) {
  TrialSpec spec = trial.spec;
  spec.privacy.delta = privacy::kAlarmDelta;
  privacy::ClaimContext context;
  context.spec = &spec;
  if (const TrialView* teacher = FindTeacher(view, trial))
    context.teacher_claims = AlarmClaims(charges, view, *teacher);
  return privacy::ComputeClaims(context, charges.CollectEvents(trial.spec.id));
}

privacy::AuditOrder OrderFor(const CommandLine& line, const ResultsView& view, const TrialView& trial) {
  privacy::AuditOrder order;
  order.trial = trial.spec.id.Hex();
  order.spec = EncodeTrialSpec(trial.spec);
  order.data_path = trial.spec.data ? trial.spec.data->path : "";
  order.attempt_file = Absolute(view, trial.row->attempt_file);
  if (const TrialView* teacher = FindTeacher(view, trial))
    order.teacher_file = Absolute(view, teacher->row->attempt_file);
  order.kinds = ReadKinds(line);
  order.confidence = line.audit.confidence;
  order.samples = line.audit.samples;
  order.canaries = line.audit.canaries;
  order.shadows = line.audit.shadows;
  order.attacks = ReadAttacks(line);
  order.gan_steps = line.audit.gan_steps;
  order.latent_steps = line.audit.latent_steps;
  order.claims = trial.row->claims;
  PrivacyCharges charges;
  charges.Load(view.ledger);
  order.alarm_claims = AlarmClaims(charges, view, trial);
  return order;
}

Result<privacy::AuditReport> AuditOne(const Invocation& call, const ResultsView& view, const TrialView& trial) {
  if (trial.spec.data == nullptr) return privacy::AuditReport{trial.spec.id.Hex(), trial.row->row_digest, {}};
  std::string program = cluster::FindVariable(call.environment, "RETORT_WORKER").value_or("");
  if (program.empty()) program = GetProgramDirectory() + "/retort-worker";
  const std::string name = FormatTrialName(trial.spec);
  // A line when something else begins, and once a minute.
  std::string phase;
  auto said = std::chrono::steady_clock::now();
  const auto say = [&](const cluster::Progress& news) {
    const auto now = std::chrono::steady_clock::now();
    if (news.phase == phase && now - said < std::chrono::minutes(1)) return;
    phase = news.phase;
    said = now;
    call.console.Message(fmt::format("{}: {} {} of {}", name, news.phase, news.step, news.total_steps));
  };
  RETORT_ASSIGN_OR_RETURN(std::vector<privacy::AuditFinding> findings,
                          RequestAudit(program, cluster::MakeWorkerEnvironment(call.environment, {}),
                                       OrderFor(call.line, view, trial), say));
  return StoreAudit(call.env, view.directory, trial, std::move(findings));
}

// What the shadows of all trials take; nothing where none are asked for.
std::optional<AuditCost> FindCost(const Invocation& call, const Audited& audited) {
  const std::vector<AuditKind> kinds = ReadKinds(call.line);
  if (call.line.audit.shadows == 0 || std::find(kinds.begin(), kinds.end(), AuditKind::membership) == kinds.end())
    return std::nullopt;
  std::vector<ShadowedTrial> trials;
  for (const TrialView* trial : audited.trials) {
    const TrialView* teacher = FindTeacher(audited.view, *trial);
    trials.push_back({&trial->spec, teacher == nullptr ? nullptr : &teacher->spec});
  }
  return EstimateShadows(ReadKnownCosts(OpenCosts(call), &audited.view), trials, call.line.audit.shadows);
}

// The curves of attacks by score, beside what else is stored of the trial.
Status DrawCurves(const Invocation& call, const ResultsView& view, const TrialView& trial,
                  const privacy::AuditReport& report) {
  const std::optional<plot::Chart> image = MakeAuditChart(FormatTrialName(trial.spec), report);
  if (!image) return {};
  RETORT_ASSIGN_OR_RETURN(const std::string bytes, plot::Render(*image, plot::Format::svg));
  const OutputRule rule{.force = true, .mark = kSvgMark, .kind = "figure"};
  return WriteOutput(call.env, view.directory + "/" + trial.folder + "/audit-membership.svg", bytes, rule);
}

// results.h5 is what other tools read: claims that became refuted, or are so no more, change in it.
Status ShowVerdict(const Invocation& call, const std::string& results) {
  if (IsFolderLocked(call.env, results)) {
    call.console.Message("a run is going on: results.h5 follows when its next trial ends, or after the run by `" +
                         AddResultsOption("retort repair --apply", results) + "`");
    return {};
  }
  RETORT_ASSIGN_OR_RETURN(const auto lock, LockFolder(call.env, results));
  return RepublishResults(call.env, results);
}

// What would be done, and what it takes.
int ShowPlan(const Invocation& call, const std::optional<AuditCost>& cost, const ordered_json& document) {
  if (call.line.global.json)
    call.console.Data(FormatDocument(document));
  else if (!cost)
    call.console.Message(
        "nothing is trained: without --shadows, or without membership, attacks take seconds to minutes");
  return 0;
}

// True where in doubt.
bool WasRefuted(const Invocation& call, const ResultsView& view, const TrialView& trial) {
  const auto audit = ReadAudit(call.env, view.directory, trial);
  return !audit.ok() || (audit->has_value() && !ListContradictions(**audit).empty());
}

}  // namespace

void AddAudit(CLI::App& app, CommandLine& line, RawWords& words) {
  CLI::App* audit = AddCommand(app, "audit", "Attack finished trials, and hold what leaks against what is proven");
  audit->add_option("TRIAL|SWEEP", line.audit.target, "Id, unique prefix of an id, or shown name; or a sweep file")
      ->required();
  audit->add_option(kOverrideWords, words.rest, "Overrides, as the sweep was run with");
  std::vector<std::string> kinds = privacy::AuditKindNames();
  kinds.emplace_back("all");
  audit
      ->add_option("--kind", line.audit.kinds,
                   "release-step, transcript, canary, membership, inversion or all; may be repeated (default "
                   "release-step, transcript and membership, which train nothing)")
      ->take_all()
      ->check(CLI::IsMember(kinds));
  audit->add_option("--confidence", line.audit.confidence, "Of the lower bounds that are printed (default 0.95)")
      ->check(CLI::Range(0.5, 0.999999));
  audit->add_option("--samples", line.audit.samples, "Releases under each neighbour (default by the mechanism)")
      ->check(CLI::Range(100, 100'000'000));
  audit
      ->add_option("--canaries", line.audit.canaries,
                   "Canaries of the one-run audit (default an eighth of the examples)")
      ->check(CLI::Range(10, 1'000'000));
  audit
      ->add_option("--shadows", line.audit.shadows,
                   "Times to train each trial anew, its teacher with it, for LiRA and RMIA (default none)")
      ->check(CLI::Range(2, 4096));
  audit->add_flag("--plan", line.audit.plan, "Say what these shadows take, and attack nothing");
  audit
      ->add_option("--attack", line.audit.attacks,
                   "Of --kind inversion: fredrikson (the default), gmi or plg-mi, which train a GAN on the public "
                   "pictures first; may be repeated")
      ->take_all()
      ->check(CLI::IsMember(privacy::ListInversionAttackNames()));
  audit->add_option("--gan-steps", line.audit.gan_steps, "Steps of the attacker's GAN (default 1000)")
      ->check(CLI::Range(1, 10'000'000));
  audit
      ->add_option("--latent-steps", line.audit.latent_steps,
                   "Steps of each search in its latent space (default 1500 for gmi, 600 for plg-mi)")
      ->check(CLI::Range(1, 10'000'000));
}

int ExecuteAudit(const Invocation& call) {
  if (const Status options = CheckAttackOptions(call.line); !options.ok()) return call.console.Fail(options);
  Audited audited;
  if (const std::optional<int> code = FindAudited(call, audited)) return *code;
  const storage::UmaskScope modes(ChooseUmask(call, audited.view.directory));
  ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["results"] = audited.view.directory;
  document["audits"] = ordered_json::array();
  for (const TrialView* trial : audited.trials)  // before hours of work
    if (const Status may = MayStoreAudit(call.env, audited.view.directory, *trial); !may.ok())
      return call.console.Fail(may);
  const std::optional<AuditCost> cost = FindCost(call, audited);
  if (cost) document["cost"] = AuditCostJson(*cost);
  if (cost && !call.line.global.json) call.console.Message("LiRA and RMIA: " + AuditCostText(*cost));
  if (call.line.audit.plan) return ShowPlan(call, cost, document);
  bool refuted = false;
  bool was_refuted = false;
  for (const TrialView* trial : audited.trials) {
    was_refuted = was_refuted || WasRefuted(call, audited.view, *trial);
    const Result<privacy::AuditReport> report = AuditOne(call, audited.view, *trial);
    if (!report.ok()) return call.console.Fail(report.status());
    if (const Status drawn = DrawCurves(call, audited.view, *trial, *report); !drawn.ok())
      call.console.Message("the curves are not drawn: " + drawn.message());
    refuted = refuted || !ListContradictions(*report).empty();
    ordered_json entry;
    entry["trial"] = trial->spec.id.Hex();
    entry["name"] = FormatTrialName(trial->spec);
    entry.update(MakeFindingsJson(*report));
    document["audits"].push_back(std::move(entry));
    if (!call.line.global.json)
      call.console.Text(FormatTrialName(trial->spec) + "\n" + FormatFindings(*report, call.console.options().width));
  }
  if (refuted || was_refuted) {
    const Status shown = ShowVerdict(call, audited.view.directory);
    if (!shown.ok()) call.console.Message("results.h5 is not made anew: " + shown.message());
  }
  document["left_out"] = audited.left_out;
  document["ok"] = !refuted;
  document["caveat"] = kCaveat;
  for (const std::string& sentence : audited.left_out) call.console.Message("left out: " + sentence);
  if (call.line.global.json)
    call.console.Data(FormatDocument(document));
  else
    call.console.Message(kCaveat);
  if (refuted) call.console.Message("A proven claim is refuted: do not use these trials, and report the mechanism.");
  return refuted ? GetExitCode(StatusCode::damage) : 0;
}

}  // namespace retort::orchestrator::cli
