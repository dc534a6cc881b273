#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "experiments/base/number_text.h"
#include "experiments/methods/spec_keys.h"
#include "orchestrator/cli/chaos/chaos_run.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/load_sweep.h"
#include "orchestrator/cli/commands/run_command.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/text_table.h"
#include "orchestrator/cli/render/version.h"
#include "orchestrator/cli/shell/command_tree.h"
#include "orchestrator/process/environment.h"

namespace retort::orchestrator::cli {

// retort chaos
namespace {

using nlohmann::ordered_json;

constexpr const char* kReportName = "chaos.json";

// Rows of noise that cannot be drawn again cannot be compared bit for bit.
Status CheckReproducible(const SweepPlan& plan) {
  if (plan.select)
    return UsageError(
        "a selection is not disturbed by chaos: a worker that is killed counts as a candidate that failed, and another "
        "one may be released");
  if (plan.search && plan.search->IsAsynchronous())
    return UsageError(
        "asha is not disturbed by chaos: which trials it runs follows from the order in which they end, so that a "
        "disturbed run has other rows: write sweep.search.method=successive-halving");
  for (const TrialSpec& spec : plan.trials)
    if (spec.noise == NoiseMode::secure && !FormatKey(spec, "noise").empty())
      return UsageError("trial " + spec.name +
                        " draws noise that nobody can draw again, so its rows cannot be compared: add "
                        "trial.noise=seeded");
  return {};
}

// An earlier chaos of ours may be replaced; anything else stays.
Status ClearDirectory(storage::Env& env, const std::string& directory) {
  if (env.Exists(directory)) {
    RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(directory));
    if (!names.empty() && !env.Exists(directory + "/" + kReportName))
      return UsageError(directory + " holds something else: name another folder with --results");
    for (const std::string& name : names) {
      std::error_code error;
      std::filesystem::remove_all(directory + "/" + name, error);
      if (error) return EnvironmentError(directory + "/" + name + " cannot be removed: " + error.message());
    }
  }
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(directory));
  return env.WriteFileAtomically(directory + "/" + kReportName, "{}\n");
}

// Room for the largest gang, where a rank alone has to hold it.
int DefaultSlots(const SweepPlan& plan, bool launched) {
  int largest = 1;
  if (launched) return largest;
  for (const TrialSpec& spec : plan.trials) largest = std::max(largest, static_cast<int>(spec.devices));
  return largest;
}

ChaosOrder MakeOrder(const Invocation& call, const SweepPlan& plan, const std::string& directory) {
  const CommandLine& line = call.line;
  ChaosOrder order;
  std::istringstream words(line.chaos.launcher);
  for (std::string word; words >> word;) order.launcher.push_back(word);
  order.program = GetProgramDirectory() + "/retort";
  order.run = {"run", line.sweep};
  order.run.insert(order.run.end(), line.overrides.begin(), line.overrides.end());
  const int slots = line.slots > 0 ? line.slots : DefaultSlots(plan, !order.launcher.empty());
  order.run.insert(order.run.end(), {"--slots", std::to_string(slots)});
  if (line.oversubscribe_gpu > 1)
    order.run.insert(order.run.end(), {"--oversubscribe-gpu", std::to_string(line.oversubscribe_gpu)});
  if (!line.global.profile.empty()) order.run.insert(order.run.end(), {"--profile", line.global.profile});
  order.directory = directory;
  order.options.environment = call.environment;
  order.options.version = FormatVersion();
  order.options.build_facts = BuildFacts();
  order.seed = line.chaos.seed;
  order.kills = line.chaos.kills;
  order.pace = line.chaos.pace_seconds;
  return order;
}

std::string ReportText(const ChaosReport& report) {
  TextTable table({"disturbance", "done"}, {Align::left, Align::right});
  for (int kind = 0; kind < kDisturbanceKinds; ++kind)
    table.Add({std::string(GetDisturbanceName(static_cast<DisturbanceKind>(kind))),
               std::to_string(report.done[static_cast<std::size_t>(kind)])});
  const ChaosVerdict& verdict = report.verdict;
  std::string out = table.Render();
  out += fmt::format("{} runs in {} rounds, {}; undisturbed {}; {} runs ended on a full disk; {} trials retried\n",
                     report.runs, report.rounds, FormatDuration(report.seconds),
                     FormatDuration(report.undisturbed_seconds), report.full_disk_ends, report.retried);
  out += fmt::format("{} of {} rows equal the undisturbed run's, {} trials lost\n", verdict.equal, verdict.rows,
                     verdict.lost.size());
  out += fmt::format("ledger: {} draws charged, {} drawn for the results\n", CountText(verdict.charged),
                     CountText(verdict.drawn));
  const auto list = [&out](const char* head, const std::vector<std::string>& lines) {
    for (const std::string& text : lines) out += fmt::format("{}: {}\n", head, text);
  };
  list("LOST", verdict.lost);
  list("DIFFERENT", verdict.different);
  list("UNDERCOUNTED", verdict.undercounted);
  list("DAMAGED", verdict.damage);
  list("NOT BY A DISTURBANCE", verdict.unexplained);
  return out + (verdict.ok() ? "verdict: survived\n" : "verdict: NOT SURVIVED\n");
}

ordered_json ReportJson(const ChaosOrder& order, const std::string& sweep, const ChaosReport& report) {
  ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["sweep"] = sweep;
  document["results"] = order.directory;
  document["seed"] = order.seed;
  document["kills"] = order.kills;
  document["disturbances"] = ordered_json::object();
  for (int kind = 0; kind < kDisturbanceKinds; ++kind)
    document["disturbances"][std::string(GetDisturbanceName(static_cast<DisturbanceKind>(kind)))] =
        report.done[static_cast<std::size_t>(kind)];
  document["rounds"] = report.rounds;
  document["runs"] = report.runs;
  document["full_disk_ends"] = report.full_disk_ends;
  document["retried"] = report.retried;
  document["undisturbed_seconds"] = report.undisturbed_seconds;
  document["seconds"] = report.seconds;
  const ChaosVerdict& verdict = report.verdict;
  document["rows"] = {{"compared", verdict.rows}, {"equal", verdict.equal}};
  document["draws"] = {{"charged", verdict.charged}, {"drawn", verdict.drawn}};
  document["lost"] = verdict.lost;
  document["different"] = verdict.different;
  document["undercounted"] = verdict.undercounted;
  document["damage"] = verdict.damage;
  document["unexplained_failures"] = verdict.unexplained;
  document["ok"] = verdict.ok();
  return document;
}

}  // namespace

void AddChaos(CLI::App& app, CommandLine& line, RawWords& words) {
  CLI::App* chaos =
      AddCommand(app, "chaos", "Run the sweep while killing, stopping and starving its processes, then compare");
  AddSweep(*chaos, words, kOverrideWords, "KEY=VALUE overrides, as of `run`");
  chaos->add_option("--kills", line.chaos.kills, "How many times something is killed (default 20)")
      ->check(CLI::Range(1, 1'000'000))
      ->default_val(20);
  chaos->add_option("--seed", line.chaos.seed, "Number of the plan of disturbances (default 0)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 53));
  chaos->add_option("--every", words.pace, "Mean time between two disturbances (default from the sweep)")
      ->type_name("DURATION");
  chaos->add_option("--slots", line.slots, "As of `run` (default: as the largest gang needs)")
      ->check(CLI::Range(1, 4096));
  AddOversubscription(*chaos, line);
  chaos->add_option("--launcher", line.chaos.launcher,
                    "Words before `retort run`, e.g. \"cluster/launch/mpirun.sh -np 3\"");
}

int ExecuteChaos(const Invocation& call) {
  const CommandLine& line = call.line;
  const LoadedSweep loaded = LoadWithData(call.env, {line.sweep, line.overrides, line.global.profile});
  if (!loaded.plan) return call.console.Fail(loaded.errors, loaded.code);
  if (const Status status = CheckReproducible(*loaded.plan); !status.ok()) return call.console.Fail(status);
  const std::string named =
      line.global.results.empty() ? "results/" + loaded.plan->name + "-chaos" : line.global.results;
  const std::string directory = std::filesystem::absolute(named).lexically_normal().string();
  if (const Status status = ClearDirectory(call.env, directory); !status.ok()) return call.console.Fail(status);
  const ChaosOrder order = MakeOrder(call, *loaded.plan, directory);
  const Result<ChaosReport> report =
      RunChaos(call.env, order, [&call](const std::string& text) { call.console.Message(text); });
  if (!report.ok()) return call.console.Fail(report.status());
  const ordered_json document = ReportJson(order, loaded.plan->name, *report);
  if (const Status kept = call.env.WriteFileAtomically(directory + "/" + kReportName, FormatDocument(document));
      !kept.ok())
    return call.console.Fail(kept);
  call.console.Text(line.global.json ? FormatDocument(document) : ReportText(*report));
  return report->verdict.ok() ? 0 : 1;
}

}  // namespace retort::orchestrator::cli
