// Seconds of one dpdfd step (working reading), as retort-worker runs it: release, student steps, generator steps.
// Prints what tests/bench/peers/dpdfd_step.py prints. usage: dpdfd_step_bench key=value...
//   keys: steps, warmup, batch, student_batch, student_steps, generator_width, threads, network
#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "storage/checkpoint_store.h"
#include "storage/env.h"
#include "worker/data/dataset.h"
#include "worker/gang/local_collective.h"
#include "worker/methods/method.h"
#include "worker/models/model_registry.h"
#include "worker/release/charge.h"

namespace retort::worker {
namespace {

class Grants final : public release::ReservationPort {
 public:
  Result<std::uint64_t> Reserve(const privacy::PrivacyEvent&, std::int64_t) override { return ++last_; }
  Status Settle(std::uint64_t, std::int64_t) override { return {}; }

 private:
  std::uint64_t last_ = 0;
};

using Options = std::map<std::string, std::string>;

std::int64_t Number(const Options& options, const std::string& key, std::int64_t otherwise) {
  const auto found = options.find(key);
  return found == options.end() ? otherwise : std::stoll(found->second);
}

TrialSpec SpecOf(const Options& options) {
  auto data = std::make_shared<DataSpec>();
  data->name = "digits";
  data->reader = "idx";
  data->path = RETORT_SOURCE_DIR "/experiments/data/mnist10k";
  data->examples = 10000;
  data->split = {1, {0, 8000}, {8000, 8000}, {9000, 10000}, {}, {}, {}};   // no public split: no evaluation inside a step
  TrialSpec spec;
  spec.data = data;
  spec.noise = NoiseMode::seeded;
  spec.network = options.contains("network") ? options.at("network") : "datalens";
  spec.batch = Number(options, "batch", 256);
  spec.student_batch = Number(options, "student_batch", 64);
  spec.student_steps = Number(options, "student_steps", 16);
  spec.generator_width = Number(options, "generator_width", 32);
  spec.threads = static_cast<int>(Number(options, "threads", 2));
  spec.steps = Number(options, "warmup", 5) + Number(options, "steps", 20);
  return spec;
}

template <typename T>
T Require(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().message().c_str());
    std::exit(3);
  }
  return std::move(result).value();
}

void Run(const Options& options) {
  const TrialSpec spec = SpecOf(options);
  at::set_num_threads(spec.threads);
  const Dataset data = Require(LoadDataset(storage::PosixEnv(), *spec.data));
  TeacherArtifact teacher;
  teacher.spec.role = Role::teacher;
  teacher.spec.method = "plain";
  teacher.spec.network = "datalens";
  teacher.parameters = Require(MakeNetwork("datalens", data.shape, data.classes, RngStream(1, Purpose::parameters)))
                           ->StateBlobs("teacher/");
  Grants grants;
  release::ChargeBook book(&grants, spec.reserve_block, spec.steps * spec.batch);
  const std::string folder = std::filesystem::temp_directory_path() / "retort-step-bench";
  std::filesystem::remove_all(folder);
  auto store = Require(storage::CheckpointStore::Open(storage::PosixEnv(), folder, 1));
  const auto gang = MakeSoloCollective();
  ReleaseTape tape(store.get(), *gang);
  tape.Fund(book);
  auto method = Require(MakeMethod({spec, data, &teacher, tape, *gang}));
  TrainState state;
  method->Register(state);
  std::printf("{\"seconds_per_step\": [");
  for (std::int64_t step = 0, warmup = Number(options, "warmup", 5); step < spec.steps; ++step) {
    Series series;
    const auto began = std::chrono::steady_clock::now();
    if (const Status status = method->Step(step, series); !status.ok()) std::exit(3);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
    if (step >= warmup) std::printf("%s%.9f", step > warmup ? ", " : "", taken.count());
  }
  std::filesystem::remove_all(folder);
  std::printf("], \"threads\": %d}\n", spec.threads);
}

}  // namespace
}  // namespace retort::worker

int main(int argc, char** argv) {
  retort::worker::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos) {
      std::fprintf(stderr, "dpdfd_step_bench: %s is not key=value\n", argv[i]);
      return 2;
    }
    options[argument.substr(0, equals)] = argument.substr(equals + 1);
  }
  retort::worker::Run(options);
  return 0;
}
