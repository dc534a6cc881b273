#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cluster/launch_environment.h"
#include "orchestrator/cli/commands/commands.h"
#include "orchestrator/cli/commands/load_sweep.h"
#include "orchestrator/cli/render/json_documents.h"
#include "orchestrator/cli/render/version.h"
#include "orchestrator/cli/shell/command_tree.h"
#include "orchestrator/doctor/device_check.h"
#include "orchestrator/doctor/environment_check.h"
#include "orchestrator/doctor/folder_check.h"
#include "orchestrator/doctor/machine_check.h"
#include "orchestrator/doctor/program_check.h"
#include "orchestrator/doctor/report.h"
#include "orchestrator/process/environment.h"
#include "orchestrator/results/trial_names.h"

namespace retort::orchestrator::cli {

void AddDoctor(CLI::App& app, CommandLine& line, RawWords& words) {
  CLI::App* doctor = AddCommand(app, "doctor", "What is wrong with this machine, and the command that mends it");
  doctor->add_option("SWEEP", words.sweep, "Also whether what this sweep file needs is there");
  doctor->add_option(kOverrideWords, words.rest, "KEY=VALUE overrides, as of `run`");
  doctor->add_option("--slots", line.slots, "Workers at once that there is to be room for (default 1)")
      ->check(CLI::Range(1, 4096));
}

// retort doctor
namespace {

using doctor::Check;
using doctor::Finding;
using doctor::Findings;
using doctor::Level;

constexpr std::chrono::milliseconds kLimit{9000};
constexpr std::size_t kListedMissing = 20;

std::string FindFact(std::string_view name) {
  for (const auto& [fact, value] : BuildFacts())
    if (fact == name) return value;
  return "";
}

std::string WorkerProgram(const std::vector<std::string>& environment) {
  const std::string named = cluster::FindVariable(environment, "RETORT_WORKER").value_or("");
  return named.empty() ? GetProgramDirectory() + "/retort-worker" : named;
}

void Add(Findings& findings, std::optional<Finding> finding) {
  if (finding) findings.push_back(*std::move(finding));
}

Findings LookAtWorkers(const std::vector<std::string>& environment) {
  const doctor::WorkerFacts facts = doctor::ReadWorkerFacts(environment, FindFact("version"));
  Findings findings = {doctor::CheckWorker(facts)};
  if (facts.version.succeeded()) findings.push_back(doctor::CheckLibTorch(facts));
  return findings;
}

Findings LookAtGpus(const std::vector<std::string>& environment) {
  const doctor::DeviceFacts facts = doctor::ReadDeviceFacts(environment, WorkerProgram(environment));
  Findings findings = {doctor::CheckVisibleDevices(facts)};
  Add(findings, doctor::CheckDeviceMask(facts));
  Add(findings, doctor::CheckMig(facts));
  return findings;
}

Findings LookAtHost(const std::vector<std::string>& environment, int slots) {
  const doctor::ProcessorFacts facts = doctor::ReadProcessorFacts(environment, slots);
  Findings findings = {doctor::CheckProcessors(facts)};
  Add(findings, doctor::CheckThreads(facts));
  findings.push_back(doctor::CheckMemory(facts));
  findings.push_back(doctor::CheckSharedMemory(facts));
  findings.push_back(doctor::CheckLimits(doctor::ReadLimitFacts(slots)));
  const doctor::ClockFacts clock = doctor::ReadClockFacts(environment);
  findings.push_back(doctor::CheckClock(clock));
  Add(findings, doctor::CheckAllocation(clock));
  findings.push_back(doctor::CheckPorts(doctor::ReadPortFacts()));
  return findings;
}

Findings LookAtRanks(const std::vector<std::string>& environment) {
  const doctor::MpiFacts facts = doctor::ReadMpiFacts(environment, FindFact("mpi") == "yes");
  Findings findings;
  Add(findings, doctor::CheckRanks(facts));
  findings.push_back(doctor::CheckMpirun(facts));
  Add(findings, doctor::CheckMpiLibrary(facts));
  return findings;
}

Findings LookAtResults(const std::string& folder, const std::vector<std::string>& environment) {
  const doctor::FolderFacts facts = doctor::ReadFolderFacts(folder, environment);
  Findings findings = {doctor::CheckFolder(facts)};
  findings.push_back(doctor::CheckFileSystem(facts));
  if (facts.trouble.empty()) {
    findings.push_back(doctor::CheckFreeSpace(facts));
    findings.push_back(doctor::CheckLocks(facts));
    findings.push_back(doctor::CheckFileClock(facts));
  }
  Add(findings, doctor::CheckHdf5Locking(facts));
  return findings;
}

Findings LookAtSettings(const std::vector<std::string>& environment) {
  Findings findings = doctor::CheckVariables(environment, doctor::ListKnownVariables());
  const doctor::PlaceFacts places = doctor::ReadPlaceFacts(environment);
  findings.push_back(doctor::CheckDataFolder(places));
  Add(findings, doctor::CheckCache(places));
  Add(findings, doctor::CheckTemporary(places));
  findings.push_back(doctor::CheckLocale(environment));
  return findings;
}

Finding DescribeMissing(const Diagnostic& error, const std::string& sweep) {
  std::string place = error.line > 0 ? fmt::format("{}:{}: ", error.file, error.line) : error.file + ": ";
  if (error.file.empty()) place.clear();
  const std::string choice = error.choices.empty() ? "" : fmt::format("is {} meant? ", error.choices.front());
  return {error.key.empty() ? "sweep" : error.key, Level::problem, place + error.message,
          fmt::format("{}retort plan {} shows the place", choice, QuoteForShell(sweep))};
}

// What `plan` says of the sweep: a finding for each error.
Findings LookAtSweep(storage::Env& env, const LoadRequest& request) {
  const LoadedSweep loaded = LoadWithData(env, request);
  Findings findings;
  for (const Diagnostic& error : loaded.errors) {
    if (findings.size() == kListedMissing) {
      findings.push_back({"sweep", Level::problem, fmt::format("{} more", loaded.errors.size() - kListedMissing),
                          "retort plan " + QuoteForShell(request.path)});
      break;
    }
    findings.push_back(DescribeMissing(error, request.path));
  }
  if (loaded.plan)
    findings.push_back(
        {"sweep", Level::ok,
         fmt::format("{}: every data set is there; trials: {}", request.path, loaded.plan->trials.size())});
  return findings;
}

// Checks hold copies: one that hangs outlives this call.
std::vector<Check> MakeChecks(const Invocation& call) {
  const std::vector<std::string> environment = call.environment;
  const CommandLine& line = call.line;
  const int slots = std::max(line.slots, 1);
  const std::string folder = line.global.results.empty() ? "results" : line.global.results;
  std::vector<Check> checks = {
      {"worker", Level::warning, "look at the disk that it and LibTorch are read from",
       [environment] { return LookAtWorkers(environment); }},
      {"GPUs", Level::problem, "nvidia-smi says whether the driver answers",
       [environment] { return LookAtGpus(environment); }},
      {"mpirun", Level::warning, "mpirun -np 2 true shows where it waits",
       [environment] { return LookAtRanks(environment); }},
      {"results folder", Level::problem, "its file system does not answer (df, dmesg); --results DIR on another one",
       [folder, environment] { return LookAtResults(folder, environment); }},
      {"host", Level::problem, "", [environment, slots] { return LookAtHost(environment, slots); }},
      {"settings", Level::warning, "a folder named in the environment does not answer",
       [environment] { return LookAtSettings(environment); }}};
  if (!line.sweep.empty())
    checks.push_back({"sweep", Level::note, "retort plan " + QuoteForShell(line.sweep) + " reads all of it",
                      [&env = call.env, request = LoadRequest{line.sweep, line.overrides, line.global.profile}] {
                        return LookAtSweep(env, request);
                      }});
  return checks;
}

nlohmann::ordered_json MakeJson(const Findings& findings) {
  nlohmann::ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["problems"] = doctor::CountFindings(findings, Level::problem);
  document["warnings"] = doctor::CountFindings(findings, Level::warning);
  document["findings"] = nlohmann::ordered_json::array();
  for (const Finding& finding : findings)
    document["findings"].push_back({{"name", finding.name},
                                    {"level", doctor::GetLevelName(finding.level)},
                                    {"what", finding.what},
                                    {"remedy", finding.remedy}});
  return document;
}

Tint ChooseTint(Level level) {
  switch (level) {
    case Level::problem:
      return Tint::red;
    case Level::warning:
      return Tint::yellow;
    case Level::note:
      return Tint::bold;
    case Level::ok:
      return Tint::green;
  }
  return Tint::none;
}

}  // namespace

int ExecuteDoctor(const Invocation& call) {
  if (!IsWorldRankZero(call.environment)) return 0;  // one rank speaks
  const Findings findings = doctor::SortWorstFirst(doctor::RunChecks(MakeChecks(call), kLimit));
  if (call.line.global.json) {
    call.console.Data(FormatDocument(MakeJson(findings)));
  } else {
    call.console.Text(doctor::ReportText(
        findings, [&](Level level, std::string_view text) { return call.console.Paint(ChooseTint(level), text); }));
  }
  return doctor::CountFindings(findings, Level::problem) == 0 ? 0 : GetExitCode(StatusCode::environment);
}

}  // namespace retort::orchestrator::cli
