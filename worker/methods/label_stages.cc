#include "worker/methods/label_stages.h"

#include "experiments/spec/status.h"
#include "worker/models/ensemble.h"

namespace retort::worker {

std::vector<std::int64_t> StageEnds(std::int64_t examples, std::int64_t stages) {
  RETORT_CHECK(stages >= 1 && stages <= examples);
  std::vector<std::int64_t> ends;
  for (std::int64_t stage = 1; stage <= stages; ++stage) ends.push_back(examples * stage / stages);
  return ends;
}

bool EachRowOnce(const at::Tensor& rows) { return CheckDisjoint(rows.cpu().unsqueeze(0), rows.numel()).ok(); }

}  // namespace retort::worker
