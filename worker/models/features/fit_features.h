// Fits the constants of frozen layers to public images.
#pragma once

#include "worker/models/features/constants_cache.h"
#include "worker/models/network.h"

namespace retort::worker {

// Fits every frozen layer that has constants (StateEntry::constant) to public images, in order. A function of the
// layers and the shape of the images alone: no private example is looked at, and no seed of a trial. On one machine
// the same bits for every device and equally many threads; on another, directions that vary alike may come out turned,
// so that what was trained keeps the constants it was trained with: checkpoints and StateBlobs hold them. Networks
// without such layers are left alone. Constants that `cache` holds are taken from it, others kept in it: fitting takes
// up to half a minute of a core.
void FitFeatures(Network& network, const ConstantsCache& cache = FindConstantsCache());

}  // namespace retort::worker
