// A sweep file of any bytes is a plan, or errors that say where and what.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "experiments/sweep/sweep_plan.h"
#include "tests/fuzz/fuzz_target.h"

namespace retort::testing {

std::vector<std::string> FuzzSeeds() {
  std::vector<std::string> seeds;
  for (const auto& entry : std::filesystem::directory_iterator(RETORT_SOURCE_DIR "/experiments/configs")) {
    if (entry.path().extension() != ".toml") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  seeds.emplace_back(
      "retort = 1\n[data.d]\nreader = \"idx\"\npath = \"p\"\n[trial]\ndata = \"d\"\n[sweep]\nname = \"s\"\n"
      "seeds = [0, 1]\ngrid.sigma = [1, 2]\nwhen = [{ if = { sigma = 1 }, set = { steps = 3 } }]\n");
  seeds.emplace_back(
      "retort = 1\n[data.d]\nreader = \"idx\"\npath = \"p\"\nsplit = { train = [0, 8], test = [8, 9] "
      "}\n[network.n]\nlayers = [\n"
      "  { kind = \"conv\", out = 4, kernel = 3 }, { kind = \"basic_block\", out = 8, stride = 2, times = 2, shortcut "
      "= \"A\" },\n"
      "  { kind = \"repeat\", times = 2, layers = [{ kind = \"residual\", layers = [\"relu\"] }] }, \"flatten\",\n"
      "  { kind = \"linear\", out = \"classes\" }]\n[teacher]\nt = { network = \"n\" }\n[trial]\nteacher = "
      "\"t\"\nstudent = \"n\"\n");
  seeds.emplace_back(
      "retort = 1\n[data.d]\nreader = \"idx\"\npath = \"p\"\nsplit = { train = [0, 8], test = [8, 9] "
      "}\n[network.g]\nlayers = [\n"
      "  { kind = \"linear\", out = 196 }, { kind = \"reshape\", channels = 4, height = 7, width = 7 }, { kind = "
      "\"conv_transpose\", out = 2, kernel = 2, stride = 2 },\n  \"upsample\", { kind = \"conv\", out = 1, kernel = 1 "
      "}, "
      "{ kind = \"batch_norm\", affine = false }]\n[teacher]\nt = { network = \"logistic\" }\n[trial]\nteacher = "
      "\"t\"\ngenerator = \"g\"\n");
  return seeds;
}

}  // namespace retort::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace retort;
  PlanHooks hooks;
  hooks.inspect = [](DataSpec& spec) {
    spec.digest = std::string(64, 'd');
    spec.examples = 10000;
    return Status();
  };
  hooks.calibrate = [](TrialSpec&) { return Status(); };
  hooks.lookup = [](const std::string&) { return std::optional<std::string>(); };
  const PlanOutcome outcome = ParseSweep(std::string(testing::Bytes(data, size)), "fuzzed.toml", {}, hooks);
  RETORT_CHECK(outcome.plan.has_value() == outcome.errors.empty());
  for (const Diagnostic& error : outcome.errors) RETORT_CHECK(error.message.size() > 10);
  return 0;
}
