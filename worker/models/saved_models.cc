#include "worker/models/saved_models.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

namespace retort::worker {

std::vector<storage::WantedTensor> ListWantedState(const Network& network) {
  std::vector<storage::WantedTensor> wanted;
  for (const StateEntry& entry : network.state()) wanted.push_back({entry.name, entry.shape, entry.dtype, entry.used});
  return wanted;
}

Result<storage::KeyReport> LoadWeights(Network& network, std::vector<storage::TensorBlob> saved) {
  storage::StateMatch match = storage::MatchState(ListWantedState(network), std::move(saved));
  if (match.report.complete()) RETORT_RETURN_IF_ERROR(network.LoadState("", match.tensors));
  return std::move(match.report);
}

namespace {

// Under the network's name, or behind what wrappers put before it: the shortest such name.
const storage::TensorBlob* FindSaved(const std::vector<storage::TensorBlob>& saved, const std::string& name) {
  const storage::TensorBlob* found = nullptr;
  for (const storage::TensorBlob& blob : saved) {
    if (!blob.name.ends_with(name)) continue;
    const std::size_t before = blob.name.size() - name.size();
    if (before > 0 && blob.name[before - 1] != '.') continue;
    if (found == nullptr || blob.name.size() < found->name.size()) found = &blob;
  }
  return found;
}

bool Fits(const NetworkChoice& network, ImageShape image, std::int64_t classes,
          const std::vector<storage::TensorBlob>& saved) {
  const Result<std::vector<StateEntry>> state = PlanState(network, image, classes);
  return state.ok() && std::all_of(state->begin(), state->end(), [&saved](const StateEntry& entry) {
           const storage::TensorBlob* blob = FindSaved(saved, entry.name);
           return blob == nullptr || blob->shape == entry.shape;
         });
}

// Some modules answer with a tuple, the logits first.
at::Tensor FindLogits(const c10::IValue& answer) {
  if (answer.isTuple() && !answer.toTupleRef().elements().empty()) return FindLogits(answer.toTupleRef().elements()[0]);
  if (answer.isTensor()) return answer.toTensor();
  TORCH_CHECK(false, "it answers with a ", answer.tagKind(), " and not with a tensor");
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::int64_t InferClasses(const NetworkChoice& network, ImageShape image,
                          const std::vector<storage::TensorBlob>& saved) {
  const Result<std::vector<StateEntry>> two = PlanState(network, image, 2), three = PlanState(network, image, 3);
  if (!two.ok() || !three.ok()) return 0;
  for (std::size_t i = 0; i < two->size(); ++i) {
    const std::vector<std::int64_t>&of_two = (*two)[i].shape, &of_three = (*three)[i].shape;
    if (of_two == of_three || !(*two)[i].used) continue;
    const storage::TensorBlob* blob = FindSaved(saved, (*two)[i].name);
    if (blob == nullptr || blob->shape.size() != of_two.size()) continue;
    for (std::size_t axis = 0; axis < of_two.size(); ++axis)
      if (of_two[axis] == 2 && of_three[axis] == 3) return blob->shape[axis];
  }
  return 0;
}

ImageShape InferImageShape(const NetworkChoice& network, ImageShape usual, std::int64_t classes,
                           const std::vector<storage::TensorBlob>& saved) {
  if (Fits(network, usual, classes, saved)) return usual;
  for (const std::int64_t side : {28, 32, 48, 64, 84, 96, 112, 128, 160, 192, 224})
    for (const std::int64_t channels : {1, 3})
      if (const ImageShape image{channels, side, side}; Fits(network, image, classes, saved)) return image;
  return usual;
}

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
    return DamageError(what + " is no TorchScript module (torch.jit.save writes one): " + FirstLine(failure.what()));
  }
  module->what = std::move(what);
  module->device = device;
  return std::unique_ptr<ScriptModule>(new ScriptModule(std::move(module)));
}

Status ScriptModule::RequireFit(ImageShape shape, std::int64_t classes) const {
  const at::Tensor blank =
      at::zeros({2, shape.channels, shape.height, shape.width}, at::device(module_->device).dtype(at::kFloat));
  RETORT_ASSIGN_OR_RETURN(const at::Tensor logits, Classify(blank));
  if (logits.size(1) == classes) return {};
  return UsageError(module_->what + " answers two images with logits [2, " + std::to_string(logits.size(1)) +
                    "]; this data set has " + std::to_string(classes) + " classes, so [2, " + std::to_string(classes) +
                    "] is needed.");
}

at::Tensor ScriptModule::Forward(const at::Tensor& images) const {
  std::vector<c10::IValue> inputs = {images};
  return FindLogits(module_->script.forward(std::move(inputs))).to(at::kFloat);
}

Result<at::Tensor> ScriptModule::Classify(const at::Tensor& images) const {
  std::ostringstream about;
  try {
    const at::NoGradGuard no_grad;
    at::Tensor logits = Forward(images).contiguous();
    if (logits.dim() == 2 && logits.size(0) == images.size(0)) return logits;
    about << module_->what << " answers " << images.size(0) << " images with " << logits.sizes() << "; logits ["
          << images.size(0) << ", classes] are needed.";
  } catch (const std::exception& failure) {
    about << module_->what << " cannot be asked about images of " << images.size(1) << "x" << images.size(2) << "x"
          << images.size(3) << ": " << FirstLine(failure.what());
  }
  return UsageError(about.str());
}

std::int64_t ScriptModule::parameters() const {
  std::int64_t count = 0;
  for (const at::Tensor& parameter : module_->script.parameters()) count += parameter.numel();
  return count;
}

}  // namespace retort::worker
