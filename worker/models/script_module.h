// A TorchScript module as a classifier. It is a program: whoever loads one runs what is in it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "experiments/spec/status.h"
#include "worker/models/layer.h"

namespace retort::worker {

class ScriptModule {
 public:
  // `bytes`: the whole file; `what` names it in errors. In evaluation mode, its parameters without gradients.
  // Error: damage when it is no TorchScript module.
  [[nodiscard]] static Result<std::unique_ptr<ScriptModule>> Load(const std::string& bytes, std::string what,
                                                                  at::Device device);
  ~ScriptModule();

  // Asks once about two blank images. Error: usage when it does not take f32 [n, channels, height, width], or
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
