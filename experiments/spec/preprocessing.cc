#include "experiments/spec/preprocessing.h"

#include <algorithm>
#include <string>

namespace retort {

Status CheckPreprocessing(const Preprocessing& p) {
  if (!(p.crop_top >= 0 && p.crop_top < 1))
    return UsageError("crop_top is the fraction of rows taken off the top, at least 0 and below 1");
  if ((p.height > 0) != (p.width > 0)) return UsageError("size is [height, width], both above 0");
  if (p.height > 0 && p.resize > 0)
    return UsageError("resize makes the short side so long and size makes both sides so; give one of them");
  for (const std::int64_t side : {p.resize, p.height, p.width, p.crop}) {
    if (side < 0 || side > kMostPreparedSide) {
      return UsageError("a side of prepared pictures is at most " + std::to_string(kMostPreparedSide) +
                        " pixels, not " + std::to_string(side));
    }
  }
  const std::int64_t least = p.resize > 0 ? p.resize : std::min(p.height, p.width);
  if (p.crop > 0 && least > 0 && p.crop > least) {
    return UsageError("crop = " + std::to_string(p.crop) + " is larger than the pictures that are cut, of " +
                      std::to_string(least) + " pixels");
  }
  if (p.resize > 0 && p.crop == 0) {
    return UsageError(
        "pictures with a short side of " + std::to_string(p.resize) +
        " differ in the long one; give crop as well, or size = [height, width] instead of resize");
  }
  return {};
}

PreparedSides SidesAfter(const Preprocessing& p) {
  return p.crop > 0 ? PreparedSides{p.crop, p.crop} : PreparedSides{p.height, p.width};
}

}  // namespace retort
