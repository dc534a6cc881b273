// One trial on the digits as retort-worker runs it, a step at a time, for benches: dpdfd in the working reading, or a
// plain teacher.
#pragma once

#include <ATen/Parallel.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "storage/files/env.h"
#include "storage/results/checkpoint_store.h"
#include "worker/data/dataset.h"
#include "worker/devices/devices.h"
#include "worker/gang/local_collective.h"
#include "worker/methods/method.h"
#include "worker/models/model_registry.h"
#include "worker/models/training_scopes.h"
#include "worker/release/charge.h"
#include "worker/run/worker_service.h"

namespace retort::worker {

class Grants final : public release::LedgerClient {
 public:
  Result<std::uint64_t> Reserve(const privacy::PrivacyEvent&, std::int64_t) override { return ++last_; }
  Status Settle(std::uint64_t, std::int64_t) override { return {}; }

 private:
  std::uint64_t last_ = 0;
};

using Options = std::map<std::string, std::string>;

inline std::int64_t Number(const Options& options, const std::string& key, std::int64_t otherwise) {
  const auto found = options.find(key);
  return found == options.end() ? otherwise : std::stoll(found->second);
}

inline TrialSpec MakeSpec(const Options& options) {
  auto data = std::make_shared<DataSpec>();
  data->name = "digits";
  data->reader = "idx";
  data->path = RETORT_SOURCE_DIR "/experiments/data/mnist10k";
  data->examples = 10000;
  data->split = {1,  {0, 8000}, {8000, 8000}, {9000, 10000}, {}, {}, {},
                 {}, {}};  // no public split: no evaluation inside a step
  TrialSpec spec;
  spec.data = data;
  if (options.contains("method") && options.at("method") == "plain") {
    spec.role = Role::teacher;
    spec.method = "plain";
    spec.epochs = 1000;
    spec.inputs.shift = 2;
    spec.optimization.optimizer = Optimizer::sgd;
  }
  if (options.contains("precision")) {
    const std::string& precision = options.at("precision");
    if (precision == "bfloat16") spec.precision = Precision::bfloat16;
    if (precision == "tf32") spec.precision = Precision::tf32;
  }
  spec.noise = NoiseMode::seeded;
  spec.network = options.contains("network") ? options.at("network") : "datalens";
  spec.batch = Number(options, "batch", 256);
  spec.distill.student_batch = Number(options, "student_batch", 64);
  spec.distill.student_steps = Number(options, "student_steps", 16);
  spec.generator.width = Number(options, "generator_width", 32);
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

// "key=value" arguments. Exit 2 for another.
inline Options ListOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos) {
      std::fprintf(stderr, "%s: %s is not key=value\n", argv[0], argv[i]);
      std::exit(2);
    }
    options[argument.substr(0, equals)] = argument.substr(equals + 1);
  }
  return options;
}

// "cpu", or the device that `device=cuda:0` names by the library that `plugin=PATH` names.
inline OpenDevice Opened(const Options& options) {
  PrepareTorch();
  static Devices devices(options.contains("plugin") ? options.at("plugin") : std::string());
  return Require(devices.Open(options.contains("device") ? options.at("device") : "cpu"));
}

// The teacher has its initial parameters, those of RngStream(1, parameters). Any error ends the process.
class PresetLoop {
 public:
  explicit PresetLoop(const Options& options)
      : spec_(MakeSpec(options)),
        device_(Opened(options)),
        tf32_(spec_.precision, device_.device),
        data_(Require(LoadDataset(storage::PosixEnv(), *spec_.data))),
        teacher_(TeacherFor(data_)),
        book_(&grants_, spec_.execution.reserve_block, spec_.steps * spec_.batch),
        folder_(std::filesystem::temp_directory_path() / "retort-step-bench"),
        gang_(MakeSoloCollective()) {
    at::set_num_threads(spec_.threads);
    std::filesystem::remove_all(folder_);
    store_ = Require(storage::CheckpointStore::Open(storage::PosixEnv(), folder_, 1));
    MoveTo(device_.device, data_);
    tape_.emplace(store_.get(), *gang_, device_.device);
    tape_->UseChargeBook(book_);
    const bool recorded = options.contains("graphs") && options.at("graphs") == "auto";
    if (recorded && device_.graphs != nullptr) graphs_.emplace(*device_.graphs, device_.device);
    method_ = Require(MakeMethod({.spec = spec_,
                                  .data = data_,
                                  .teacher = &teacher_,
                                  .tape = *tape_,
                                  .gang = *gang_,
                                  .noise = device_.noise,
                                  .graphs = graphs_ ? &*graphs_ : nullptr}));
    method_->Register(state_);
  }
  PresetLoop(const PresetLoop&) = delete;
  PresetLoop& operator=(const PresetLoop&) = delete;
  ~PresetLoop() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }

  void Step(std::int64_t step) {
    Series series;
    if (const Status status = method_->Step(step, series); !status.ok()) std::exit(3);
    if (!device_.device.is_cpu())
      c10::impl::getDeviceGuardImpl(device_.device.type())->synchronizeDevice(device_.device.index());
  }
  [[nodiscard]] const TrialSpec& spec() const { return spec_; }
  // Of each region that is not recorded, why; empty where none is to be.
  [[nodiscard]] std::string Declined() const {
    std::string all;
    for (const RegionUse& use : graphs_ ? graphs_->Uses() : std::vector<RegionUse>())
      if (!use.declined.empty()) all += (all.empty() ? "" : "; ") + use.name + ": " + use.declined;
    return all;
  }
  [[nodiscard]] const Dataset& data() const { return data_; }
  // "student/...", "generator/...".
  [[nodiscard]] std::vector<storage::TensorBlob> Parameters() { return Require(method_->Finish()).parameters; }

 private:
  static TeacherArtifact TeacherFor(const Dataset& data) {
    TeacherArtifact teacher;
    teacher.spec.role = Role::teacher;
    teacher.spec.method = "plain";
    teacher.spec.network = "datalens";
    teacher.parameters = Require(MakeNetwork("datalens", data.shape, data.classes, RngStream(1, Purpose::parameters)))
                             ->StateBlobs("teacher/");
    return teacher;
  }
  TrialSpec spec_;
  OpenDevice device_;
  Tf32Scope tf32_;
  Dataset data_;
  TeacherArtifact teacher_;
  Grants grants_;
  release::ChargeBook book_;
  std::string folder_;
  std::unique_ptr<Collective> gang_;
  std::unique_ptr<storage::CheckpointStore> store_;
  std::optional<ReleaseReplay> tape_;
  std::optional<StepGraphs> graphs_;
  std::unique_ptr<Method> method_;
  TrainState state_;
};

}  // namespace retort::worker
