// Networks from files: saved weights, and TorchScript modules.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "storage/weights/read_weights.h"
#include "storage/weights/state_match.h"
#include "worker/models/layer.h"
#include "worker/models/model_registry.h"
#include "worker/models/network.h"

namespace retort::worker {

// Lists the tensors that a network's state needs of a file.
[[nodiscard]] std::vector<storage::WantedTensor> ListWantedState(const Network& network);

// Matches the names (storage/weights/state_match.h) and loads the tensors, which are used up. The report
// tells what fits; nothing is loaded unless it is complete. Error: of Network::LoadState.
[[nodiscard]] Result<storage::KeyReport> LoadWeights(Network& network, std::vector<storage::TensorBlob> saved);

// The same of a network that has one class for each of `outputs`, from a file of the network `choice` with more: the
// rows of its last linear layer that `outputs` names, in that order, so that the logits are those of the whole network
// at these places. The report is about the whole network. Errors: usage when an output is not among the file's, `key`
// and `file` naming both, and when the network does not end with a linear layer that alone knows the classes.
[[nodiscard]] Result<storage::KeyReport> LoadSelectedWeights(Network& network, const NetworkChoice& choice,
                                                             std::vector<storage::TensorBlob> saved,
                                                             const std::vector<std::int64_t>& outputs,
                                                             const std::string& key, const std::string& file);

// Infers the number of classes of a file of that network's weights from the tensors whose shape depends on it; 0 when
// no tensor tells.
[[nodiscard]] std::int64_t InferClasses(const NetworkChoice& network, ImageShape image,
                                        const std::vector<storage::TensorBlob>& saved);
// Infers the images for which the network's tensors have the shapes of the file's: `usual` where these fit or nothing
// else does, else the first that does of square ones, grey or of three channels, of 28 to 224 pixels a side.
[[nodiscard]] ImageShape InferImageShape(const NetworkChoice& network, ImageShape usual, std::int64_t classes,
                                         const std::vector<storage::TensorBlob>& saved);

// A TorchScript module as a classifier. It is a program: loading one runs what is in it.
class ScriptModule {
 public:
  // `bytes`: the whole file; `what` names it in errors. In evaluation mode, its parameters without gradients.
  // Error: damage when it is no TorchScript module.
  [[nodiscard]] static Result<std::unique_ptr<ScriptModule>> Load(const std::string& bytes, std::string what,
                                                                  at::Device device);
  ~ScriptModule();

  // From now on it answers with the logits at these places alone, in this order; none: with all. Error: usage, naming
  // `key`, when one is not among the logits of `shape`.
  [[nodiscard]] Status Select(ImageShape shape, std::vector<std::int64_t> outputs, const std::string& key);
  // Evaluates two blank images. Error: usage when it does not take f32 [n, channels, height, width], or
  // gives no [n, classes].
  [[nodiscard]] Status RequireFit(ImageShape shape, std::int64_t classes) const;
  // images f32 [n, channels, height, width] -> logits f32 [n, classes], part of the graph to the images. What the
  // module throws passes through, as of any other network.
  [[nodiscard]] at::Tensor Forward(const at::Tensor& images) const;
  // The same outside any graph. Error: usage when the module throws, or answers otherwise.
  [[nodiscard]] Result<at::Tensor> Classify(const at::Tensor& images) const;
  [[nodiscard]] std::int64_t parameters() const;  // elements of all of them

 private:
  struct Module;
  explicit ScriptModule(std::unique_ptr<Module> module);
  std::unique_ptr<Module> module_;
};

}  // namespace retort::worker
