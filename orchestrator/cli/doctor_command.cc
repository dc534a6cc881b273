// retort doctor
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cluster/launch_environment.h"
#include "orchestrator/cli/claim_json.h"
#include "orchestrator/cli/commands.h"
#include "orchestrator/cli/load_sweep.h"
#include "orchestrator/cli/shell_text.h"
#include "orchestrator/cli/version.h"
#include "orchestrator/doctor/clock_check.h"
#include "orchestrator/doctor/device_check.h"
#include "orchestrator/doctor/environment_check.h"
#include "orchestrator/doctor/folder_check.h"
#include "orchestrator/doctor/mpi_check.h"
#include "orchestrator/doctor/processor_check.h"
#include "orchestrator/doctor/report.h"
#include "orchestrator/doctor/timed_checks.h"
#include "orchestrator/doctor/worker_check.h"
#include "orchestrator/environment.h"

namespace retort::orchestrator::cli {
namespace {

using doctor::Check;
using doctor::Finding;
using doctor::Findings;
using doctor::Level;

constexpr std::chrono::milliseconds kLimit{9000};
constexpr std::size_t kListedMissing = 20;

std::string FactOf(std::string_view name) {
  for (const auto& [fact, value] : BuildFacts())
    if (fact == name) return value;
  return "";
}

std::string WorkerProgram(const std::vector<std::string>& environment) {
  const std::string named = cluster::FindVariable(environment, "RETORT_WORKER").value_or("");
  return named.empty() ? ProgramDirectory() + "/retort-worker" : named;
}

void Add(Findings& findings, std::optional<Finding> finding) {
  if (finding) findings.push_back(*std::move(finding));
}

Findings LookAtWorkers(const std::vector<std::string>& environment) {
  const doctor::WorkerFacts facts = doctor::LookAtWorker(environment, FactOf("version"));
  Findings findings = {doctor::JudgeWorker(facts)};
  if (facts.version.succeeded()) findings.push_back(doctor::JudgeLibTorch(facts));
  return findings;
}

Findings LookAtGpus(const std::vector<std::string>& environment) {
  const doctor::DeviceFacts facts = doctor::LookAtDevices(environment, WorkerProgram(environment));
  Findings findings = {doctor::JudgeDevices(facts)};
  Add(findings, doctor::JudgeDeviceMask(facts));
  Add(findings, doctor::JudgeMig(facts));
  return findings;
}

Findings LookAtHost(const std::vector<std::string>& environment, int slots) {
  const doctor::ProcessorFacts facts = doctor::LookAtProcessors(environment, slots);
  Findings findings = {doctor::JudgeProcessors(facts)};
  Add(findings, doctor::JudgeThreads(facts));
  findings.push_back(doctor::JudgeMemory(facts));
  findings.push_back(doctor::JudgeSharedMemory(facts));
  findings.push_back(doctor::JudgeLimits(doctor::LookAtLimits(slots)));
  const doctor::ClockFacts clock = doctor::LookAtClock(environment);
  findings.push_back(doctor::JudgeClock(clock));
  Add(findings, doctor::JudgeAllocation(clock));
  findings.push_back(doctor::JudgePorts(doctor::LookAtPorts()));
  return findings;
}

Findings LookAtRanks(const std::vector<std::string>& environment) {
  const doctor::MpiFacts facts = doctor::LookAtMpi(environment, FactOf("mpi") == "yes");
  Findings findings;
  Add(findings, doctor::JudgeRanks(facts));
  findings.push_back(doctor::JudgeMpirun(facts));
  Add(findings, doctor::JudgeMpiLibrary(facts));
  return findings;
}

Findings LookAtResults(const std::string& folder, const std::vector<std::string>& environment) {
  const doctor::FolderFacts facts = doctor::LookAtFolder(folder, environment);
  Findings findings = {doctor::JudgeFolder(facts)};
  findings.push_back(doctor::JudgeFileSystem(facts));
  if (facts.trouble.empty()) {
    findings.push_back(doctor::JudgeRoom(facts));
    findings.push_back(doctor::JudgeLocks(facts));
    findings.push_back(doctor::JudgeFileClock(facts));
  }
  Add(findings, doctor::JudgeHdf5Locking(facts));
  return findings;
}

Findings LookAtSettings(const std::vector<std::string>& environment) {
  Findings findings = doctor::JudgeVariables(environment, doctor::KnownVariables());
  const doctor::PlaceFacts places = doctor::LookAtPlaces(environment);
  findings.push_back(doctor::JudgeData(places));
  Add(findings, doctor::JudgeCache(places));
  Add(findings, doctor::JudgeTemporary(places));
  findings.push_back(doctor::JudgeLocale(environment));
  return findings;
}

Finding MissingOf(const Diagnostic& error, const std::string& sweep) {
  std::string place = error.line > 0 ? fmt::format("{}:{}: ", error.file, error.line) : error.file + ": ";
  if (error.file.empty()) place.clear();
  const std::string choice = error.choices.empty() ? "" : fmt::format("is {} meant? ", error.choices.front());
  return {error.key.empty() ? "sweep" : error.key, Level::problem, place + error.message,
          fmt::format("{}retort plan {} shows the place", choice, ShellText(sweep))};
}

// What `plan` says of the sweep: a finding for each error.
Findings LookAtSweep(storage::Env& env, const LoadRequest& request) {
  const LoadedSweep loaded = LoadWithData(env, request);
  Findings findings;
  for (const Diagnostic& error : loaded.errors) {
    if (findings.size() == kListedMissing) {
      findings.push_back({"sweep", Level::problem,
                          fmt::format("{} more", loaded.errors.size() - kListedMissing),
                          "retort plan " + ShellText(request.path)});
      break;
    }
    findings.push_back(MissingOf(error, request.path));
  }
  if (loaded.plan)
    findings.push_back(
        {"sweep", Level::ok,
         fmt::format("{}: every data set is there; trials: {}", request.path, loaded.plan->trials.size())});
  return findings;
}

// Checks hold copies: one that hangs outlives this call.
std::vector<Check> ChecksOf(const Invocation& call) {
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
      {"results folder", Level::problem,
       "its file system does not answer (df, dmesg); --results DIR on another one",
       [folder, environment] { return LookAtResults(folder, environment); }},
      {"host", Level::problem, "", [environment, slots] { return LookAtHost(environment, slots); }},
      {"settings", Level::warning, "a folder named in the environment does not answer",
       [environment] { return LookAtSettings(environment); }}};
  if (!line.sweep.empty())
    checks.push_back(
        {"sweep", Level::note, "retort plan " + ShellText(line.sweep) + " reads all of it",
         [&env = call.env, request = LoadRequest{line.sweep, line.overrides, line.global.profile}] {
           return LookAtSweep(env, request);
         }});
  return checks;
}

nlohmann::ordered_json JsonOf(const Findings& findings) {
  nlohmann::ordered_json document;
  document["schema_version"] = kSchemaVersion;
  document["problems"] = doctor::CountOf(findings, Level::problem);
  document["warnings"] = doctor::CountOf(findings, Level::warning);
  document["findings"] = nlohmann::ordered_json::array();
  for (const Finding& finding : findings)
    document["findings"].push_back({{"name", finding.name},
                                    {"level", doctor::LevelName(finding.level)},
                                    {"what", finding.what},
                                    {"remedy", finding.remedy}});
  return document;
}

Tint TintOf(Level level) {
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

int DoctorCommand(const Invocation& call) {
  if (!IsWorldRankZero(call.environment)) return 0;  // one rank speaks
  const Findings findings = doctor::WorstFirst(doctor::RunChecks(ChecksOf(call), kLimit));
  if (call.line.global.json) {
    call.console.Data(DocumentText(JsonOf(findings)));
  } else {
    call.console.Text(doctor::ReportText(findings, [&](Level level, std::string_view text) {
      return call.console.Paint(TintOf(level), text);
    }));
  }
  return doctor::CountOf(findings, Level::problem) == 0 ? 0 : ExitCode(StatusCode::environment);
}

}  // namespace retort::orchestrator::cli
