// How the private examples are spread over the stages of label-private training.
#pragma once

#include <cstdint>
#include <vector>

namespace retort::worker {

// Where each stage's part of `examples` rows ends, rising to `examples`: the first takes `first` of them, rounded, the
// others equal parts of the rest. Every stage has one at least. 1 <= stages <= examples; first in (0, 1).
[[nodiscard]] std::vector<std::int64_t> StageEnds(std::int64_t examples, std::int64_t stages, double first);

}  // namespace retort::worker
