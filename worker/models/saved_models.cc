#include "worker/models/saved_models.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <set>
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

// Names of the tensors whose first extent is the number of classes.
Result<std::set<std::string>> ListCounted(const NetworkChoice& network, ImageShape image) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<StateEntry> two, PlanState(network, image, 2));
  RETORT_ASSIGN_OR_RETURN(const std::vector<StateEntry> three, PlanState(network, image, 3));
  std::set<std::string> names;
  for (std::size_t i = 0; i < two.size(); ++i)
    if (two[i].shape != three[i].shape) names.insert(two[i].name);
  return names;
}

// Whether an output can be left out without a change to the others: the last layer is linear, and no other layer that
// runs knows how many there are.
Status RequireLinearEnd(const Network& network, const NetworkChoice& choice, const std::string& key) {
  const Layer& last = network.layers().back();
  RETORT_ASSIGN_OR_RETURN(const std::set<std::string> counted, ListCounted(choice, network.input()));
  const bool apart = std::all_of(network.state().begin(), network.state().end(), [&](const StateEntry& entry) {
    return !entry.used || !counted.contains(entry.name) || entry.name.starts_with(last.name + last.joint);
  });
  if (last.kind == LayerKind::linear && apart) return {};
  return UsageError(key + ": outputs can be chosen where a network ends with a linear layer that alone knows the " +
                    "classes, and " + choice.name + " does not: remove outputs");
}

Status RequireOutputs(const std::vector<std::int64_t>& outputs, std::int64_t all, const std::string& key,
                      const std::string& file) {
  const auto beyond = std::find_if(outputs.begin(), outputs.end(), [all](std::int64_t one) { return one >= all; });
  if (beyond == outputs.end()) return {};
  return UsageError(key + " names output " + std::to_string(*beyond) + ", but " + file + " has " + std::to_string(all) +
                    " outputs: write integers from 0 to " + std::to_string(all - 1));
}

void KeepRows(storage::TensorBlob& blob, const std::vector<std::int64_t>& rows) {
  const std::size_t row = blob.bytes.size() / static_cast<std::size_t>(blob.shape.front());
  decltype(blob.bytes) kept;
  kept.reserve(row * rows.size());
  for (const std::int64_t index : rows) {
    const auto begin = blob.bytes.begin() + static_cast<std::ptrdiff_t>(row) * index;
    kept.insert(kept.end(), begin, begin + static_cast<std::ptrdiff_t>(row));
  }
  blob.bytes = std::move(kept);
  blob.shape.front() = static_cast<std::int64_t>(rows.size());
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Result<storage::KeyReport> LoadSelectedWeights(Network& network, const NetworkChoice& choice,
                                               std::vector<storage::TensorBlob> saved,
                                               const std::vector<std::int64_t>& outputs, const std::string& key,
                                               const std::string& file) {
  RETORT_RETURN_IF_ERROR(RequireLinearEnd(network, choice, key));
  const std::int64_t known = InferClasses(choice, network.input(), saved);
  const std::int64_t all = known > 0 ? known : network.classes();  // else the report says what is missing
  RETORT_RETURN_IF_ERROR(RequireOutputs(outputs, all, key, file));
  RETORT_ASSIGN_OR_RETURN(const std::vector<StateEntry> whole, PlanState(choice, network.input(), all));
  std::vector<storage::WantedTensor> wanted;
  for (const StateEntry& entry : whole) wanted.push_back({entry.name, entry.shape, entry.dtype, entry.used});
  storage::StateMatch match = storage::MatchState(wanted, std::move(saved));
  if (!match.report.complete()) return std::move(match.report);
  RETORT_ASSIGN_OR_RETURN(const std::set<std::string> counted, ListCounted(choice, network.input()));
  for (storage::TensorBlob& blob : match.tensors)
    if (counted.contains(blob.name)) KeepRows(blob, outputs);
  RETORT_RETURN_IF_ERROR(network.LoadState("", match.tensors));
  return std::move(match.report);
}

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
  at::Tensor outputs;  // i64 [classes]: the logits that are taken; undefined: all
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

Status ScriptModule::Select(ImageShape shape, std::vector<std::int64_t> outputs, const std::string& key) {
  module_->outputs = at::Tensor();
  if (outputs.empty()) return {};
  const at::Tensor blank =
      at::zeros({2, shape.channels, shape.height, shape.width}, at::device(module_->device).dtype(at::kFloat));
  RETORT_ASSIGN_OR_RETURN(const at::Tensor logits, Classify(blank));
  RETORT_RETURN_IF_ERROR(RequireOutputs(outputs, logits.size(1), key, module_->what));
  module_->outputs = at::tensor(outputs, at::kLong).to(module_->device);
  return {};
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
  const at::Tensor logits = FindLogits(module_->script.forward(std::move(inputs))).to(at::kFloat);
  return module_->outputs.defined() ? logits.index_select(1, module_->outputs) : logits;
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
