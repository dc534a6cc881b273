// `retort run` without a sweep file: RunSweep on a made-up plan, for tests that kill it.
// Usage: sweep_runner RESULTS WORKER SLOTS TEACHERS STUDENTS [SEED…]; each SEED adds a trial without a
// teacher that behaves as tests/testing/scripted_worker.cc says.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "cluster/launch_environment.h"
#include "orchestrator/process/environment.h"
#include "orchestrator/service/service.h"
#include "tests/testing/trial_builder.h"

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  retort::orchestrator::RunOptions options;
  options.environment = retort::orchestrator::ReadProcessEnvironment();
  options.results = argv[1];
  options.worker_program = argv[2];
  options.slots = std::stoi(argv[3]);
  options.version = "tested";
  options.metrics_listen = "127.0.0.1:0";
  options.grace_seconds = 2;
  options.device_directory =
      retort::cluster::FindVariable(options.environment, "TEST_DEVICE_DIRECTORY").value_or(options.device_directory);
  retort::SweepPlan plan = retort::testing::FamilyPlan(std::stoi(argv[4]), std::stoi(argv[5]));
  for (int i = 6; i < argc; ++i) {
    const std::uint64_t seed = std::stoull(argv[i]);
    const double deadline = seed == 1002 ? 1 : 0;
    plan.trials.push_back(retort::testing::TrialBuilder(seed).Steps(20).Deadline(deadline).Build());
  }
  if (!retort::orchestrator::IsWorldRankZero(options.environment)) {
    const retort::Result<int> agent = RunAgentRank(options);
    if (!agent.ok()) std::fprintf(stderr, "%s\n", agent.status().message().c_str());
    return agent.ok() ? *agent : retort::GetExitCode(agent.status().code());
  }
  const retort::Result<int> code = RunSweep(plan, options);
  if (!code.ok()) std::fprintf(stderr, "error: %s\n", code.status().message().c_str());
  return EndRun(options, code.ok() ? *code : retort::GetExitCode(code.status().code()));
}
