#include "orchestrator/doctor/worker_check.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "cluster/envelope.h"
#include "cluster/launch_environment.h"
#include "cluster/worker_environment.h"
#include "cluster/worker_process.h"
#include "orchestrator/environment.h"
#include "orchestrator/worker_question.h"

namespace retort::orchestrator::doctor {
namespace {

constexpr std::chrono::seconds kVersionLimit{4};
constexpr std::chrono::seconds kReportLimit{4};
constexpr int kThreads = 2;  // of a trial, where the sweep file names no other number
// A processor of the last ten years does 30 to 150 a core with AVX2, about 3 with a BLAS of plain loops.
constexpr double kSlowGflops = 8;
constexpr const char* kBuildWorker = "build it: cmake --build --preset release --target retort-worker";

constexpr const char* kColdDisk =
    "run doctor again: LibTorch is slow to read for the first time; then look at the disk that it is on";

bool Loads(const ProgramRun& version) {
  return version.text.find("error while loading shared libraries") == std::string::npos;
}

}  // namespace

WorkerFacts LookAtWorker(const std::vector<std::string>& environment, const std::string& build) {
  WorkerFacts facts;
  facts.build = build;
  facts.program = cluster::FindVariable(environment, "RETORT_WORKER").value_or("");
  facts.named = !facts.program.empty();
  if (!facts.named) facts.program = ProgramDirectory() + "/retort-worker";
  facts.sleeper = cluster::CheckWorkerProgram(ProgramDirectory() + "/retort-sleeper").ok();
  facts.cannot_run = cluster::CheckWorkerProgram(facts.program).message();
  if (!facts.cannot_run.empty()) return facts;
  const std::vector<std::string> clean = cluster::WorkerEnvironment(environment, {});
  facts.version = RunProgram({facts.program, "--version"}, clean, kVersionLimit);
  if (!facts.version.succeeded()) return facts;
  const auto asked = std::chrono::steady_clock::now();
  const Result<std::string> answer = AskWorker(
      {facts.program, clean, cluster::kReportArgument, std::to_string(kThreads), "LibTorch", kReportLimit},
      [](const cluster::Progress&) {});
  if (!answer.ok()) {
    facts.no_report = answer.status().message();
    facts.silent = std::chrono::steady_clock::now() - asked >= kReportLimit;
    return facts;
  }
  Result<cluster::WorkerReport> report = cluster::DecodeWorkerReport(*answer);
  if (report.ok())
    facts.report = *std::move(report);
  else
    facts.no_report = report.status().message();
  return facts;
}

Finding JudgeWorker(const WorkerFacts& facts) {
  const std::string unset = facts.named ? "unset RETORT_WORKER, which names it" : kBuildWorker;
  if (!facts.cannot_run.empty())
    return {"worker", Level::problem, facts.cannot_run,
            facts.named ? unset : std::string(kBuildWorker) + ", and keep it beside retort"};
  const ProgramRun& version = facts.version;
  if (version.timed_out)
    return {"worker", Level::warning, facts.program + " does not say its version within 4 s", kColdDisk};
  if (!version.succeeded())
    return {"worker", Level::problem,
            fmt::format("{} does not start: {}", facts.program, FirstLine(version.text)),
            Loads(version) ? unset : "bash cluster/setup.sh brings the libraries; then build again"};
  const std::string expected = "retort-worker " + facts.build;
  const std::string said = FirstLine(version.text);
  const bool other_messages = facts.report && facts.report->envelope != cluster::kEnvelopeVersion;
  if (said != expected || other_messages)
    return {"worker", Level::problem,
            fmt::format(
                "{} is of another build: it says \"{}\"{}, this program expects \"{}\"", facts.program, said,
                other_messages ? fmt::format(" and messages of version {}", facts.report->envelope) : "",
                expected),
            "build both from the same sources: cmake --build --preset release"};
  if (!facts.sleeper && !facts.named)
    return {"worker", Level::warning,
            said + " starts; retort-sleeper is not beside retort, so idle workers hold LibTorch",
            "build it: cmake --build --preset release --target retort-sleeper"};
  return {"worker", Level::ok, fmt::format("{} starts ({})", said, facts.program)};
}

Finding JudgeLibTorch(const WorkerFacts& facts) {
  if (facts.silent)
    return {"LibTorch", Level::warning, "the worker program has not started it within 4 s", kColdDisk};
  if (!facts.report)
    return {"LibTorch", Level::problem, "the worker program does not report on it: " + facts.no_report,
            "bash cluster/setup.sh brings LibTorch; then build again"};
  const cluster::WorkerReport& report = *facts.report;
  const std::string speed = fmt::format("{}, {} threads with {} multiply at {:.0f} GFLOP/s", report.torch,
                                        report.threads, report.capability, report.gflops);
  if (report.capability == "DEFAULT" || report.capability == "NO AVX")
    return {"LibTorch", Level::warning, speed + ": outside its BLAS it uses no vector instructions",
            "unset ATEN_CPU_CAPABILITY, or use a processor with AVX2"};
  if (report.gflops < kSlowGflops * static_cast<double>(report.threads))
    return {"LibTorch", Level::warning, speed + ": that is slow",
            "look at what else runs on these cores (top), and at the control group's CPU quota"};
  return {"LibTorch", Level::ok, speed};
}

}  // namespace retort::orchestrator::doctor
