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
  // `bytes`: the whole file; `what` names it in errors. In evaluation mode, its parameters without gradients. It is
  // asked once about blank images. Error: damage when it is no TorchScript module; usage when it does not take f32
  // [n, channels, height, width], or gives no floating [n, classes].
  [[nodiscard]] static Result<std::unique_ptr<ScriptModule>> Load(const std::string& bytes, const std::string& what,
                                                                  ImageShape shape, std::int64_t classes,
                                                                  at::Device device);
  ~ScriptModule();

  // images f32 [n, channels, height, width] -> logits f32 [n, classes], part of the graph to the images. What the
  // module throws passes through, as of any other network.
  [[nodiscard]] at::Tensor Forward(const at::Tensor& images) const;
  [[nodiscard]] std::int64_t classes() const { return classes_; }

 private:
  struct Module;
  ScriptModule(std::unique_ptr<Module> module, std::int64_t classes);
  std::unique_ptr<Module> module_;
  std::int64_t classes_;
};

}  // namespace retort::worker
