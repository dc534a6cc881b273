#include "worker/models/recorded_module.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/serialization/import.h>

#include <functional>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "experiments/base/rng_stream.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {
namespace {

namespace jit = torch::jit;

struct NamedTensor {
  std::string name;
  at::Tensor tensor;  // what the network computes with
  bool buffer = false;
};

using Inputs = std::vector<at::Tensor>;

struct Recorded {
  std::vector<NamedTensor> state;
  std::vector<std::string> arguments;
  std::function<at::Tensor(const Inputs&)> forward;
  std::function<Inputs(std::int64_t rows)> draw;  // inputs of so many rows
};

constexpr std::int64_t kRecordedRows = 2, kCheckedRows = 5;
constexpr double kRelative = 1e-4, kAbsolute = 1e-5;

// The module of TorchScript, and within it one for each part of the names of a state.
class ModuleTree {
 public:
  ModuleTree() : unit_(std::make_shared<jit::CompilationUnit>()), root_(MakeModule("Retort")) {}

  [[nodiscard]] jit::Module& root() { return root_; }

  void Add(const NamedTensor& entry) {
    auto [module, name] = Find(entry.name);
    module.register_parameter(name, entry.tensor, entry.buffer);
  }
  // Gives an entry a tensor of its own, where it was a view into the state of a network.
  void Detach(const NamedTensor& entry) {
    auto [module, name] = Find(entry.name);
    module.setattr(name, entry.tensor.detach().clone().set_requires_grad(!entry.buffer));
  }

 private:
  [[nodiscard]] jit::Module MakeModule(const std::string& name) const {
    jit::Module module(c10::QualifiedName("__torch__." + name), unit_, /*shouldMangle=*/true);
    module.register_attribute("training", c10::BoolType::get(), false);
    return module;
  }
  // The module that holds the entry, and the entry's name in it.
  [[nodiscard]] std::pair<jit::Module, std::string> Find(const std::string& name) {
    jit::Module module = root_;
    std::size_t begin = 0;
    for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', begin)) {
      const std::string part = name.substr(begin, dot - begin);
      if (!module.hasattr(part)) module.register_module(part, MakeModule("Part"));
      module = module.attr(part).toModule();
      begin = dot + 1;
    }
    return {module, name.substr(begin)};
  }

  std::shared_ptr<jit::CompilationUnit> unit_;
  jit::Module root_;
};

void RecordForward(const Recorded& recorded, jit::Module& module) {
  jit::Stack inputs;
  for (at::Tensor& input : recorded.draw(kRecordedRows)) inputs.emplace_back(std::move(input));
  const auto run = [&recorded](const jit::Stack& given) -> jit::Stack {
    Inputs tensors;
    for (const c10::IValue& one : given) tensors.push_back(one.toTensor());
    return {recorded.forward(tensors)};
  };
  const auto traced = jit::tracer::trace(
      std::move(inputs), run, [](const at::Tensor&) { return std::string(); }, /*strict=*/true,
      /*force_outplace=*/false, &module, recorded.arguments);
  const c10::QualifiedName name(*module.type()->name(), "forward");
  module.type()->addMethod(module._ivalue()->compilation_unit()->create_function(name, traced.first->graph));
}

bool AnswersAlike(const Recorded& recorded, const std::string& archive) {
  std::istringstream stream(archive);
  jit::Module module = jit::load(stream);
  const Inputs inputs = recorded.draw(kCheckedRows);
  std::vector<c10::IValue> given(inputs.begin(), inputs.end());
  return at::allclose(module.forward(std::move(given)).toTensor(), recorded.forward(inputs), kRelative, kAbsolute);
}

Result<std::string> RecordModule(const Recorded& recorded, const std::string& description) {
  const at::NoGradGuard no_grad;
  ModuleTree tree;
  for (const NamedTensor& entry : recorded.state) tree.Add(entry);
  RecordForward(recorded, tree.root());
  for (const NamedTensor& entry : recorded.state) tree.Detach(entry);
  std::ostringstream out;
  tree.root().save(out, {{kScriptDescription, description}});
  std::string archive = out.str();
  if (!AnswersAlike(recorded, archive))
    return EnvironmentError("TorchScript's recording answers otherwise than what it was made of; export it as onnx.");
  return archive;
}

std::vector<NamedTensor> ListParameters(const ParameterArena& parameters) {
  std::vector<NamedTensor> state;
  for (std::size_t i = 0; i < parameters.leaves().size(); ++i)
    state.push_back({parameters.shapes()[i].name, parameters.leaves()[i], false});
  return state;
}

at::Tensor DrawRows(std::int64_t rows, std::int64_t values) {
  return DrawNormalRows(rows, values, RngStream(static_cast<std::uint64_t>(rows), Purpose::latents));
}

}  // namespace

Result<std::string> RecordNetwork(const Network& network, const std::string& description) {
  Recorded recorded;
  for (const StateEntry& entry : network.state())
    recorded.state.push_back({entry.name, network.EntryTensor(entry), entry.buffer});
  recorded.arguments = {"image"};
  recorded.forward = [&network](const Inputs& inputs) { return network.Forward(inputs.front()).logits; };
  recorded.draw = [shape = network.input()](std::int64_t rows) -> Inputs {
    return {DrawRows(rows, shape.size()).view({rows, shape.channels, shape.height, shape.width})};
  };
  return RecordModule(recorded, description);
}

Result<std::string> RecordGenerator(const Generator& generator, std::int64_t latent, const std::string& description) {
  Recorded recorded{
      .state = ListParameters(generator.parameters()), .arguments = {"latent"}, .forward = {}, .draw = {}};
  recorded.forward = [&generator](const Inputs& inputs) { return generator.Forward(inputs.front()); };
  recorded.draw = [latent](std::int64_t rows) -> Inputs { return {DrawRows(rows, latent)}; };
  return RecordModule(recorded, description);
}

Result<std::string> RecordGenerator(const ConditionalGenerator& generator, std::int64_t classes,
                                    const std::string& description) {
  Recorded recorded{
      .state = ListParameters(generator.parameters()), .arguments = {"latent", "label"}, .forward = {}, .draw = {}};
  recorded.forward = [&generator](const Inputs& inputs) { return generator.Forward(inputs[0], inputs[1]); };
  recorded.draw = [code = generator.code(), classes](std::int64_t rows) -> Inputs {
    return {DrawRows(rows, code), at::arange(rows, at::kLong).remainder(classes)};
  };
  return RecordModule(recorded, description);
}

}  // namespace retort::worker
