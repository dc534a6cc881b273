// What images show, by a network that may say it at no further cost.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"
#include "storage/formats/tensor_blob.h"
#include "worker/methods/method.h"
#include "worker/samples/stored_generator.h"

namespace retort::worker::samples {

class ImageLabeller {
 public:
  virtual ~ImageLabeller() = default;
  // Images f32 [rows, channels, height, width], normalised -> i64 [rows] on the CPU. Error: that of the mechanism.
  [[nodiscard]] virtual Result<at::Tensor> Label(const at::Tensor& images) = 0;
};

// The trial's student: post-processing of what the trial released. `parameters` have names that begin "student/".
// Error: damage, where they are not those of the student.
[[nodiscard]] Result<std::unique_ptr<ImageLabeller>> MakeStudentLabeller(
    const TrialSpec& spec, const ImageFrame& frame, const std::vector<storage::TensorBlob>& parameters);

// A teacher that was trained with DP-SGD and is asked without noise: post-processing of its training, whose claim
// covers every answer. Error: refused, for a student of another kind or a teacher that was trained otherwise, whose
// answers have to be charged; damage, where the artifact does not fit its own spec.
[[nodiscard]] Result<std::unique_ptr<ImageLabeller>> MakeTeacherLabeller(const TrialSpec& spec, const ImageFrame& frame,
                                                                         const TeacherArtifact& artifact);

}  // namespace retort::worker::samples
