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
  if (answer.isTuple() && !answer.toTupleRef().elements().empty()) return LogitsOf(answer.toTupleRef().elements()[0]);
  if (answer.isTensor()) return answer.toTensor();
  TORCH_CHECK(false, "it answers with a ", answer.tagKind(), " and not with a tensor");
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

struct ScriptModule::Module {
  torch::jit::Module script;
};

ScriptModule::ScriptModule(std::unique_ptr<Module> module, std::int64_t classes)
    : module_(std::move(module)), classes_(classes) {}
ScriptModule::~ScriptModule() = default;

// The one place where the exceptions of a module that does not fit end.
Result<std::unique_ptr<ScriptModule>> ScriptModule::Load(const std::string& bytes, const std::string& what,
                                                         ImageShape shape, std::int64_t classes, at::Device device) {
  auto module = std::make_unique<Module>();
  try {
    std::istringstream stream(bytes);
    module->script = torch::jit::load(stream, device);
    module->script.eval();
    for (const at::Tensor& parameter : module->script.parameters()) parameter.requires_grad_(false);
  } catch (const std::exception& failure) {
    return DamageError(what + " is no TorchScript module (torch.jit.save writes one): " + FirstLine(failure.what()));
  }
  std::unique_ptr<ScriptModule> loaded(new ScriptModule(std::move(module), classes));
  try {
    const at::NoGradGuard no_grad;
    const at::Tensor images = at::zeros({2, shape.channels, shape.height, shape.width},
                                        at::device(device).dtype(at::kFloat));
    const at::Tensor logits = loaded->Forward(images);
    if (logits.dim() == 2 && logits.size(0) == 2 && logits.size(1) == classes) return loaded;
    std::ostringstream sizes;
    sizes << logits.sizes();
    return UsageError(what + " answers two images with logits " + sizes.str() + "; this data set has " +
                      std::to_string(classes) + " classes, so [2, " + std::to_string(classes) + "] is needed.");
  } catch (const std::exception& failure) {
    return UsageError(what + " cannot be asked about images of " + std::to_string(shape.channels) + "x" +
                      std::to_string(shape.height) + "x" + std::to_string(shape.width) + ": " +
                      FirstLine(failure.what()));
  }
}

at::Tensor ScriptModule::Forward(const at::Tensor& images) const {
  std::vector<c10::IValue> inputs = {images};
  return LogitsOf(module_->script.forward(std::move(inputs))).to(at::kFloat);
}

}  // namespace retort::worker
