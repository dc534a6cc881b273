// Parent artifacts as the release room's TeacherModel.
#pragma once

#include <memory>

#include "experiments/base/status.h"
#include "worker/methods/method.h"
#include "worker/release/answers.h"

namespace retort::worker {

// Name of the tensor in a teacher's attempt.h5 that holds a TorchScript module's file.
inline constexpr const char* kModuleBlob = "teacher/torchscript";

// A single network, a TorchScript module, or an ensemble,
// from what the teacher's trial left. Of an ensemble each gang member asks
// its share of the networks (release::Oracle::SumVotes adds up what they say). Error: damage when the artifact
// does not fit its own spec; usage when it was trained on images of another shape. `graphs`: of the trial; null: what
// it does without a graph to its inputs is not recorded.
[[nodiscard]] Result<std::unique_ptr<release::TeacherModel>> LoadTeacher(const TeacherArtifact& artifact,
                                                                         const Dataset& data, const Collective& gang,
                                                                         StepGraphs* graphs = nullptr);

}  // namespace retort::worker
