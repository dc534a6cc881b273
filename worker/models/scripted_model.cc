#include "worker/models/scripted_model.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <exception>
#include <functional>
#include <utility>

namespace retort::worker {
namespace {

// LibTorch's exceptions end here: the first line of what it says.
Status Guarded(const std::string& path, const char* doing, const std::function<void()>& run) {
  try {
    run();
    return {};
  } catch (const std::exception& error) {
    const std::string text = error.what();
    return Refused(path + ": the TorchScript module cannot be " + doing + ": " +
                   text.substr(0, text.find('\n')));
  }
}

}  // namespace

struct ScriptedModel::Module {
  std::string path;
  torch::jit::Module module;
};

ScriptedModel::ScriptedModel(std::unique_ptr<Module> module) : module_(std::move(module)) {}
ScriptedModel::ScriptedModel(ScriptedModel&&) noexcept = default;
ScriptedModel& ScriptedModel::operator=(ScriptedModel&&) noexcept = default;
ScriptedModel::~ScriptedModel() = default;

Result<ScriptedModel> ScriptedModel::Load(const std::string& path) {
  auto module = std::make_unique<Module>();
  module->path = path;
  RETORT_RETURN_IF_ERROR(Guarded(path, "loaded", [&] {
    module->module = torch::jit::load(path, at::Device(at::kCPU));
    module->module.eval();
  }));
  return ScriptedModel(std::move(module));
}

Result<at::Tensor> ScriptedModel::Logits(const at::Tensor& images) {
  at::Tensor logits;
  RETORT_RETURN_IF_ERROR(Guarded(module_->path, "asked", [&] {
    const at::NoGradGuard no_grad;
    logits = module_->module.forward({images}).toTensor().to(at::kFloat).contiguous();
  }));
  if (logits.dim() != 2 || logits.size(0) != images.size(0))
    return Refused(module_->path + ": the TorchScript module's answer is not [rows, classes]");
  return logits;
}

std::int64_t ScriptedModel::parameters() const {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : module_->module.parameters()) count += parameter.numel();
  return count;
}

}  // namespace retort::worker
