// A teacher that was trained elsewhere: its file is read, compared with the plan and the network, and evaluated.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "experiments/base/digests.h"
#include "experiments/methods/spec_codec.h"
#include "experiments/methods/teacher_outputs.h"
#include "storage/weights/read_weights.h"
#include "storage/weights/state_match.h"
#include "worker/methods/method.h"
#include "worker/methods/network_teacher.h"
#include "worker/models/model_registry.h"
#include "worker/models/saved_models.h"
#include "worker/training/evaluation.h"

namespace retort::worker {
namespace {

class LoadedTeacher final : public Method {
 public:
  LoadedTeacher(const Dataset& data, std::unique_ptr<Network> network) : data_(data), network_(std::move(network)) {}
  LoadedTeacher(const Dataset& data, std::unique_ptr<ScriptModule> module, std::string bytes)
      : data_(data), module_(std::move(module)), bytes_(std::move(bytes)) {}

  std::int64_t steps() const override { return 1; }
  std::string phase(std::int64_t) const override { return "load"; }
  void Register(TrainState& state) override { state.Add("loaded", done_); }
  Status Step(std::int64_t, Series&) override {
    done_.fill_(1);
    return {};
  }

  Result<Outcome> Finish() override {
    Outcome out;
    out.evaluation = network_ ? Evaluate(*network_, data_.test) : EvaluateModule();
    out.metrics = ListTestMetrics(*out.evaluation);
    if (network_) {
      out.parameters = network_->StateBlobs("teacher/");
    } else {
      storage::TensorBlob blob{kModuleBlob, storage::DType::u8, {static_cast<std::int64_t>(bytes_.size())}, {}};
      blob.bytes.assign(bytes_.begin(), bytes_.end());
      out.parameters.push_back(std::move(blob));
    }
    return out;
  }

 private:
  storage::Evaluation EvaluateModule() const {
    const at::NoGradGuard no_grad;
    const std::int64_t at_once = ComputeMaxRowsPerPass(data_.shape);
    std::vector<at::Tensor> logits = {at::empty({0, data_.classes}, at::device(data_.device).dtype(at::kFloat))};
    for (std::int64_t first = 0; first < data_.test.size(); first += at_once)
      logits.push_back(module_->Forward(data_.test.Range(first, std::min(at_once, data_.test.size() - first))));
    return Evaluate(at::cat(logits), data_.test.labels);
  }

  const Dataset& data_;
  std::unique_ptr<Network> network_;      // null: a module
  std::unique_ptr<ScriptModule> module_;  // null: a network
  std::string bytes_;                     // of the module's file
  at::Tensor done_ = at::zeros({1}, at::kLong);
};

Status CheckUnchanged(const std::string& path, const std::string& found, const std::string& planned) {
  if (found == planned) return {};
  return UsageError(path + " is not the file that was planned: its SHA-256 begins " + found.substr(0, 16) +
                    " and not " + planned.substr(0, 16) +
                    ". Plan again to take it as it is now, or put the former file back.");
}

std::string NameKey(const TrialSpec& spec) { return "teacher." + spec.teacher + ".outputs"; }

// What to write where a file has more outputs than the data set has classes, and none were named.
std::string Advise(const TrialSpec& spec, std::int64_t in_file, std::int64_t classes) {
  if (!spec.outputs.empty() || in_file <= classes) return "";
  return " The file has " + std::to_string(in_file) + " outputs: where the " + std::to_string(classes) +
         " classes are among them, " + NameKey(spec) + " says which, in the order of the classes.";
}

Result<std::unique_ptr<Method>> FromModule(const MethodInputs& inputs, storage::Env& env) {
  const TrialSpec& spec = inputs.spec;
  RETORT_ASSIGN_OR_RETURN(std::string bytes, env.ReadFile(spec.torchscript));
  RETORT_RETURN_IF_ERROR(CheckUnchanged(spec.torchscript, ComputeSha256Hex(bytes), spec.weights_digest));
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<ScriptModule> module,
                          ScriptModule::Load(bytes, spec.torchscript, inputs.data.device));
  RETORT_RETURN_IF_ERROR(module->Select(inputs.data.shape, ParseOutputs(spec.outputs).value(), NameKey(spec)));
  RETORT_RETURN_IF_ERROR(module->RequireFit(inputs.data.shape, inputs.data.classes));
  return std::unique_ptr<Method>(std::make_unique<LoadedTeacher>(inputs.data, std::move(module), std::move(bytes)));
}

Result<std::unique_ptr<Method>> FromWeights(const MethodInputs& inputs, storage::Env& env) {
  const TrialSpec& spec = inputs.spec;
  RETORT_ASSIGN_OR_RETURN(
      std::unique_ptr<Network> network,
      MakeNetwork(spec, inputs.data.shape, inputs.data.classes, RngStream(0, Purpose::parameters), inputs.data.device));
  RETORT_ASSIGN_OR_RETURN(storage::StateDict saved, storage::ReadWeights(env, spec.weights));
  RETORT_RETURN_IF_ERROR(CheckUnchanged(spec.weights, saved.digest, spec.weights_digest));
  const NetworkChoice choice = ChooseNetwork(spec);
  const std::int64_t in_file = InferClasses(choice, inputs.data.shape, saved.tensors);
  const std::vector<std::int64_t> outputs = ParseOutputs(spec.outputs).value();
  Result<storage::KeyReport> report = outputs.empty() ? LoadWeights(*network, std::move(saved.tensors))
                                                      : LoadSelectedWeights(*network, choice, std::move(saved.tensors),
                                                                            outputs, NameKey(spec), spec.weights);
  RETORT_RETURN_IF_ERROR(report.status());
  const std::string described =
      spec.network + " with " +
      (outputs.empty() ? "the " + std::to_string(inputs.data.classes) + " classes of data." + spec.data->name
                       : std::to_string(in_file) + " outputs");
  const Status complete = storage::RequireComplete(*report, spec.weights, described);
  if (!complete.ok()) return Status(complete.code(), complete.message() + Advise(spec, in_file, inputs.data.classes));
  return std::unique_ptr<Method>(std::make_unique<LoadedTeacher>(inputs.data, std::move(network)));
}

}  // namespace

Result<std::unique_ptr<Method>> MakeLoadedTeacher(const MethodInputs& inputs) {
  storage::Env& env = inputs.env != nullptr ? *inputs.env : storage::PosixEnv();
  return inputs.spec.torchscript.empty() ? FromWeights(inputs, env) : FromModule(inputs, env);
}

}  // namespace retort::worker
