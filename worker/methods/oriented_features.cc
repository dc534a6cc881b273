#include "worker/methods/oriented_features.h"

#include <memory>
#include <optional>

#include "worker/models/frozen_front.h"
#include "worker/models/model_registry.h"
#include "worker/private/head_gradients.h"

namespace retort::worker {

Result<at::Tensor> OrientedFeatures(const Dataset& data, const Examples& examples) {
  RETORT_ASSIGN_OR_RETURN(
      const std::unique_ptr<Network> network,
      MakeNetwork("hog-linear", data.shape, data.classes, RngStream(0, Purpose::parameters), data.device));
  const std::optional<std::size_t> front = FrozenFront(*network);
  RETORT_CHECK(front.has_value());
  return SeenByHead(*network, *front, examples);
}

}  // namespace retort::worker
