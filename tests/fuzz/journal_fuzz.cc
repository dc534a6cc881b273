// A journal of any bytes recovers to a legal state, or recovery says where it is damaged.
#include "orchestrator/journal/recovery.h"
#include "orchestrator/results/results_view.h"
#include "tests/fuzz/framed_log.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/finished_sweep.h"

namespace retort::testing {
namespace {

constexpr char kResults[] = "results";

orchestrator::Settings SettingsHere() { return {.results = kResults, .provenance_json = "{}"}; }

// What happened to a trial before it succeeded.
std::vector<orchestrator::JournalEvent> Troubles(const TrialSpec& spec) {
  using namespace orchestrator;
  AttemptEnded ended;
  ended.attempt = {spec.id, 1};
  ended.for_good = false;
  ended.failure = FailureKind::worker_crash;
  return {{1, AttemptLeased{{spec.id, 1}, {1}, {{0, 0}}}},
          {1, AttemptStarted{{spec.id, 1}}},
          {1, ended},
          {1, AttemptLeased{{spec.id, 2}, {2}, {{0, 0}}}},
          {1, RunStarted{"{}"}},
          {1, TrialCancelled{spec.id}},
          {1, SweepInterrupted{"SIGTERM"}}};
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  FaultInjectionEnv env;
  RETORT_CHECK(env.CreateDirectories(kResults).ok());
  const std::string path = orchestrator::GetJournalPath(kResults);
  std::vector<std::string> seeds;
  for (const bool finished : {true, false}) {
    RETORT_CHECK(env.Remove(path).ok());
    orchestrator::Core core(SettingsHere());
    auto journal = orchestrator::Journal::Open(env, kResults, core);
    RETORT_CHECK(journal.ok());
    if (finished) {
      RETORT_CHECK(WriteFinishedSweep(*journal, 3).ok());
    } else {
      const SweepPlan plan = FamilyPlan(1, 1);
      std::vector<orchestrator::JournalEvent> events = {
          {1, orchestrator::SweepOpened{orchestrator::kResultsFormatVersion, "tested", "", "{}"}}};
      for (const TrialSpec& spec : plan.trials) events.push_back({1, orchestrator::MakeTrialPlanned(spec)});
      events.push_back({1, orchestrator::PlanAdopted{{plan.trials[0].id, plan.trials[1].id}}});
      for (auto& event : Troubles(plan.trials[0])) events.push_back(std::move(event));
      RETORT_CHECK(journal->Commit(events).ok());
    }
    for (std::string& seed : LogSeeds(env, path, storage::LogKind::journal)) seeds.push_back(std::move(seed));
  }
  return seeds;
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retort;
  testing::FaultInjectionEnv env;
  RETORT_CHECK(env.CreateDirectories(testing::kResults).ok());
  const std::string path = orchestrator::GetJournalPath(testing::kResults);
  const std::string bytes = testing::MakeLogFile(testing::Bytes(data, size), storage::LogKind::journal);
  env.Put(path, bytes);
  const auto view = orchestrator::ReadResults(env, testing::kResults);
  if (!view.ok()) testing::CheckRefusal(view.status());
  RETORT_CHECK(env.Bytes(path) == bytes);
  const auto recovered = orchestrator::RecoverResults(env, testing::SettingsHere());
  if (!recovered.ok()) {
    testing::CheckRefusal(recovered.status());
    return 0;
  }
  // Rows are left packed: a bad one is told by whoever reads it.
  const Status legal = recovered->core.CheckInvariants();
  if (view.ok() && !legal.ok()) CheckFailed("recovered to a legal state", __FILE__, __LINE__, legal.message());
  // Nothing but a torn tail is gone.
  RETORT_CHECK(bytes.empty() || bytes.compare(0, env.Bytes(path).size(), env.Bytes(path)) == 0 ||
               recovered->journal.bytes() == 16);
  return 0;
}
