// How well a network classifies.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/results/attempt_file.h"
#include "worker/data/dataset.h"
#include "worker/models/network.h"
#include "worker/tensors/step_graphs.h"

namespace retort::worker {

// How many rows one forward pass without a graph may have so that the widest networks need a few GB: 64 of 224x224
// pixels, more of smaller images.
[[nodiscard]] std::int64_t ComputeMaxRowsPerPass(const ImageShape& shape);

// Evaluation mode, in fixed batches. top5 counts a row whose class is among the five largest logits (all of
// them where there are fewer classes). No examples: n = 0 and accuracy 0. `region`: of the network alone, where its
// passes are recorded; null: nowhere.
[[nodiscard]] storage::Evaluation Evaluate(const Network& network, const Examples& examples,
                                           GraphRegion* region = nullptr);
// Confusion from logits f32 [n, classes] and labels i64 [n]. Of equal logits the first is the larger one, so that tied
// votes count alike on every device; a logit that is no number is not among the largest.
[[nodiscard]] storage::Evaluation Evaluate(const at::Tensor& logits, const at::Tensor& labels);

// "test.accuracy", "test.top5".
[[nodiscard]] std::vector<std::pair<std::string, double>> ListTestMetrics(const storage::Evaluation& evaluation);
// Of the examples whose class is one of `classes`, the part that was classified right; nothing when there are none.
[[nodiscard]] std::optional<double> ComputeAccuracyOn(const std::vector<std::int64_t>& classes,
                                                      const storage::Evaluation& evaluation);

}  // namespace retort::worker
