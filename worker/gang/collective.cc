#include "worker/gang/collective.h"

namespace retort::worker {
namespace {

class Done final : public PendingOperation {
 public:
  Status Wait() override { return {}; }
};

}  // namespace

Result<std::unique_ptr<PendingOperation>> Collective::BeginAllReduceSum(at::Tensor& values) {
  RETORT_RETURN_IF_ERROR(AllReduceSum(values));
  return std::unique_ptr<PendingOperation>(std::make_unique<Done>());
}

}  // namespace retort::worker
