#include "worker/models/script_module.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <sstream>
#include <utility>
#include <vector>

namespace retort::worker {
namespace {

// Some modules answer with a tuple, the logits first.
at::Tensor LogitsOf(const c10::IValue& answer) {
  if (answer.isTuple() && !answer.toTupleRef().elements().empty())
    return LogitsOf(answer.toTupleRef().elements()[0]);
  if (answer.isTensor()) return answer.toTensor();
  TORCH_CHECK(false, "it answers with a ", answer.tagKind(), " and not with a tensor");
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

struct ScriptModule::Module {
  std::string what;
  torch::jit::Module script;
  at::Device device = at::kCPU;
};

ScriptModule::ScriptModule(std::unique_ptr<Module> module) : module_(std::move(module)) {}
ScriptModule::~ScriptModule() = default;

Result<std::unique_ptr<ScriptModule>> ScriptModule::Load(const std::string& bytes, std::string what,
                                                         at::Device device) {
  auto module = std::make_unique<Module>();
  try {
    std::istringstream stream(bytes);
    module->script = torch::jit::load(stream, device);
    module->script.eval();
    for (const at::Tensor& parameter : module->script.parameters()) parameter.requires_grad_(false);
  } catch (const std::exception& failure) {
    return DamageError(what + " is no TorchScript module (torch.jit.save writes one): " +
                       FirstLine(failure.what()));
  }
  module->what = std::move(what);
  module->device = device;
  return std::unique_ptr<ScriptModule>(new ScriptModule(std::move(module)));
}

Status ScriptModule::RequireFit(ImageShape shape, std::int64_t classes) const {
  const at::Tensor blank = at::zeros({2, shape.channels, shape.height, shape.width},
                                     at::device(module_->device).dtype(at::kFloat));
  RETORT_ASSIGN_OR_RETURN(const at::Tensor logits, Classify(blank));
  if (logits.size(1) == classes) return {};
  return UsageError(module_->what + " answers two images with logits [2, " + std::to_string(logits.size(1)) +
                    "]; this data set has " + std::to_string(classes) + " classes, so [2, " +
                    std::to_string(classes) + "] is needed.");
}

at::Tensor ScriptModule::Forward(const at::Tensor& images) const {
  std::vector<c10::IValue> inputs = {images};
  return LogitsOf(module_->script.forward(std::move(inputs))).to(at::kFloat);
}

Result<at::Tensor> ScriptModule::Classify(const at::Tensor& images) const {
  std::ostringstream about;
  try {
    const at::NoGradGuard no_grad;
    at::Tensor logits = Forward(images).contiguous();
    if (logits.dim() == 2 && logits.size(0) == images.size(0)) return logits;
    about << module_->what << " answers " << images.size(0) << " images with " << logits.sizes()
          << "; logits [" << images.size(0) << ", classes] are needed.";
  } catch (const std::exception& failure) {
    about << module_->what << " cannot be asked about images of " << images.size(1) << "x" << images.size(2)
          << "x" << images.size(3) << ": " << FirstLine(failure.what());
  }
  return UsageError(about.str());
}

std::int64_t ScriptModule::parameters() const {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : module_->script.parameters()) count += parameter.numel();
  return count;
}

}  // namespace retort::worker
