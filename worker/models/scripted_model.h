// A teacher that somebody brings as a TorchScript module. Loading and asking it runs the module's own code,
// with all that this process may do: only for files whose author is trusted, and only where the user asked
// for it in words
// (`retort model check --torchscript`).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "experiments/spec/status.h"

namespace retort::worker {

class ScriptedModel {
 public:
  // Error: refused, naming the file and what LibTorch says, for what is no module or needs other operators.
  [[nodiscard]] static Result<ScriptedModel> Load(const std::string& path);
  ScriptedModel(ScriptedModel&&) noexcept;
  ScriptedModel& operator=(ScriptedModel&&) noexcept;
  ~ScriptedModel();

  // images: f32 [rows, channels, height, width]. The answer: f32 [rows, classes]. Error: refused, when the
  // module throws or answers otherwise.
  [[nodiscard]] Result<at::Tensor> Logits(const at::Tensor& images);
  [[nodiscard]] std::int64_t parameters() const;  // elements of all of them

 private:
  struct Module;
  explicit ScriptedModel(std::unique_ptr<Module> module);
  std::unique_ptr<Module> module_;
};

}  // namespace retort::worker
