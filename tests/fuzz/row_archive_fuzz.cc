// An archive of any lines under a valid seal is read, or refused with its line; what is read is a sweep.
#include "orchestrator/results/row_archive.h"

#include "experiments/base/digests.h"
#include "orchestrator/core/core.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/finished_sweep.h"

namespace retort::testing {
namespace {

std::string WithoutSeal(const std::string& text) { return text.substr(0, text.rfind("{\"seal\"")); }

std::string Sealed(const std::string& body) { return body + "{\"seal\":\"" + ComputeSha256Hex(body) + "\"}\n"; }

orchestrator::RowArchive SmallArchive() {
  using namespace orchestrator;
  RowArchive archive;
  archive.program = "0.1.0";
  const TrialSpec spec = SweptTrial(0, SmallData());
  archive.events = {{1, SweepOpened{kResultsFormatVersion, "swept", "retort = 1\n", "{}"}},
                    {1, MakeTrialPlanned(spec)},
                    {1, PlanAdopted{{spec.id}}},
                    {1, RunStarted{"{}"}}};
  for (JournalEvent& event : FinishedTrial(spec, 0)) archive.events.push_back(std::move(event));
  storage::LedgerEntry entry;
  entry.id = 1;
  entry.data_digest = std::string(64, 'a');
  entry.attempt = {spec.id, 1};
  entry.generation = 1;
  entry.event.count = 8;
  archive.ledger = {entry};
  ArchivedAttempt attempt;
  attempt.path = GetTrialDirectory(spec) + "/attempt-1/attempt.h5";
  attempt.file.trial = spec.id.Hex();
  attempt.file.attempt = 1;
  attempt.file.curves["train.loss"] = {{1, 0.5}, {2, 0.25}};
  attempt.file.evaluation = storage::Evaluation{{1, 0, 0, 1}, 2, 1, 1, 2};
  archive.attempts = {attempt};
  archive.synthetic = {{spec.id.Hex(), {60000, 1, "student", "lenet5", 0.5, 6.5}}};
  return archive;
}

}  // namespace

std::vector<std::string> FuzzSeeds() { return {WithoutSeal(orchestrator::EncodeArchive(SmallArchive()))}; }

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retort;
  const std::string body(testing::Bytes(data, size));
  const Result<orchestrator::RowArchive> unsealed = orchestrator::DecodeArchive(body, "fuzzed.rows");
  if (!unsealed.ok()) testing::CheckRefusal(unsealed.status());
  const Result<orchestrator::RowArchive> archive = orchestrator::DecodeArchive(testing::Sealed(body), "fuzzed.rows");
  if (!archive.ok()) {
    testing::CheckRefusal(archive.status());
    return 0;
  }
  orchestrator::Core core({.results = "results", .provenance_json = "{}"});
  for (const orchestrator::JournalEvent& event : archive->events)
    if (!core.Apply(event).ok()) return 0;
  RETORT_CHECK(core.CheckInvariants().ok());
  return 0;
}
