// Manifest, transcript and series of any bytes: the next attempt goes on from what holds, and the same
// attempt either goes on or says what is damaged.
#include <map>

#include "storage/results/checkpoint_store.h"
#include "tests/fuzz/framed_log.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/storage_samples.h"

namespace retort::testing {
namespace {

using storage::CheckpointStore;
using storage::LogKind;

constexpr char kTrial[] = "trial";
constexpr char kAttempt[] = "trial/attempt-1/";

// An attempt with two checkpoints, releases after both and a curve.
std::map<std::string, std::string> MakeAttempt() {
  FaultInjectionEnv env;
  RETORT_CHECK(env.CreateDirectories(kTrial).ok());
  auto store = CheckpointStore::Open(env, kTrial, 1);
  RETORT_CHECK(store.ok());
  for (std::int64_t step = 0; step < 4; ++step) {
    (*store)->AppendSeries(step, {{"loss", 1.0 / static_cast<double>(step + 1)}});
    if (step % 2 == 0) RETORT_CHECK((*store)->Commit({step, {FloatBlob("w", {1, 2, 3})}, {{"gang_size", "1"}}}).ok());
    RETORT_CHECK((*store)->AppendReleased({step, {FloatBlob("released", {4, 5})}}).ok());
  }
  RETORT_CHECK((*store)->FlushSeries().ok());
  std::map<std::string, std::string> files;
  const auto names = env.List(std::string(kTrial) + "/attempt-1");
  RETORT_CHECK(names.ok());
  for (const std::string& name : *names) files[kAttempt + name] = env.Bytes(kAttempt + name);
  return files;
}

// The same in every run, so it is made once.
void WriteAttempt(FaultInjectionEnv& env) {
  static const std::map<std::string, std::string> files = MakeAttempt();
  RETORT_CHECK(env.CreateDirectories(std::string(kTrial) + "/attempt-1").ok());
  for (const auto& [path, bytes] : files) env.Put(path, bytes);
}

struct Log {
  const char* name;
  LogKind kind;
};
constexpr Log kLogs[] = {{"manifest.log", LogKind::manifest},
                         {"transcript-0.log", LogKind::transcript},
                         {"transcript-2.log", LogKind::transcript},
                         {"transcript.log", LogKind::transcript},  // of an older version
                         {"series.log", LogKind::series}};

void Open(FaultInjectionEnv& env, std::uint32_t attempt, bool must_open) {
  const auto store = CheckpointStore::Open(env, kTrial, attempt);
  // What another version wrote is refused, not passed over.
  RETORT_CHECK(store.ok() || !must_open || store.status().code() == StatusCode::usage);
  if (!store.ok()) {
    CheckRefusal(store.status());
    return;
  }
  const auto latest = (*store)->Latest();
  if (!latest.ok()) CheckRefusal(latest.status());
  const auto transcript = (*store)->Transcript();
  if (!transcript.ok()) CheckRefusal(transcript.status());
  const auto series = (*store)->Series();
  if (!series.ok()) CheckRefusal(series.status());
}

}  // namespace

// The first byte says which log.
std::vector<std::string> FuzzSeeds() {
  FaultInjectionEnv env;
  WriteAttempt(env);
  env.Put(std::string(kAttempt) + "transcript.log", env.Bytes(std::string(kAttempt) + "transcript-2.log"));
  std::vector<std::string> seeds;
  for (std::size_t i = 0; i < std::size(kLogs); ++i)
    for (const std::string& seed : LogSeeds(env, std::string(kAttempt) + kLogs[i].name, kLogs[i].kind))
      seeds.push_back(std::string(1, static_cast<char>(i)) + seed);
  return seeds;
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retort::testing;
  if (size == 0) return 0;
  const Log& log = kLogs[data[0] % std::size(kLogs)];
  const std::string bytes = MakeLogFile(Bytes(data + 1, size - 1), log.kind);
  for (const std::uint32_t attempt : {1U, 2U}) {
    FaultInjectionEnv env;
    WriteAttempt(env);
    env.Put(std::string(kAttempt) + log.name, bytes);
    Open(env, attempt, attempt == 2);  // damage of an earlier attempt is passed over
  }
  return 0;
}
