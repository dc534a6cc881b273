// The newest checkpoint's file is any bytes: its digest does not hold, so the one before it is taken, and
// these bytes never reach the HDF5 library.
#include <map>

#include "storage/results/checkpoint_store.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/fault_injection_env.h"
#include "tests/testing/storage_samples.h"

namespace retort::testing {
namespace {

using storage::CheckpointStore;

constexpr char kNewest[] = "trial/attempt-1/checkpoint-7.h5";

std::map<std::string, std::string> MakeAttempt() {
  FaultInjectionEnv env;
  RETORT_CHECK(env.CreateDirectories("trial").ok());
  auto store = CheckpointStore::Open(env, "trial", 1);
  RETORT_CHECK(store.ok());
  for (const std::int64_t step : {5, 7})
    RETORT_CHECK((*store)->Commit({step, {FloatBlob("w", {1, static_cast<float>(step)})}, {}}).ok());
  std::map<std::string, std::string> files;
  const auto names = env.List("trial/attempt-1");
  RETORT_CHECK(names.ok());
  for (const std::string& name : *names) files["trial/attempt-1/" + name] = env.Bytes("trial/attempt-1/" + name);
  return files;
}

// The same in every run, so it is made once.
void WriteAttempt(FaultInjectionEnv& env) {
  static const std::map<std::string, std::string> files = MakeAttempt();
  RETORT_CHECK(env.CreateDirectories("trial/attempt-1").ok());
  for (const auto& [path, bytes] : files) env.Put(path, bytes);
}

}  // namespace

std::vector<std::string> FuzzSeeds() {
  FaultInjectionEnv env;
  WriteAttempt(env);
  return {env.Bytes(kNewest)};
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retort::testing;
  const std::string bytes(Bytes(data, size));
  for (const std::uint32_t attempt : {1U, 2U}) {
    FaultInjectionEnv env;
    WriteAttempt(env);
    const bool same = env.Bytes(kNewest) == bytes;
    env.Put(kNewest, bytes);
    const auto store = CheckpointStore::Open(env, "trial", attempt);
    RETORT_CHECK(store.ok());
    const auto latest = (*store)->Latest();
    RETORT_CHECK(latest.ok() && latest->has_value());
    RETORT_CHECK((*latest)->step == (same ? 7 : 5));
  }
  return 0;
}
