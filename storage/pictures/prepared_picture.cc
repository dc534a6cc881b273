#include "storage/pictures/prepared_picture.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "storage/pictures/picture_decode.h"
#include "storage/pictures/resample.h"

namespace retort::storage {
namespace {

std::string Text(const PictureSize& size) {
  return std::to_string(size.width) + " x " + std::to_string(size.height) + " pixels";
}

// int(side * long / short), as torchvision computes it.
std::int64_t LongSide(std::int64_t side, std::int64_t longer, std::int64_t shorter) {
  return static_cast<std::int64_t>(static_cast<double>(side * longer) / static_cast<double>(shorter));
}

// Where a cut of `kept` begins: halves to the even number, as Python rounds.
std::int64_t CutFrom(std::int64_t whole, std::int64_t kept) {
  return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(whole - kept) / 2.0));
}

Taps DownOf(const PreparationPlan& plan) {
  return {plan.rest.height, plan.resized.height, plan.kept.top, plan.kept.height};
}
Taps AcrossOf(const PreparationPlan& plan) {
  return {plan.rest.width, plan.resized.width, plan.kept.left, plan.kept.width};
}

// The kept part's own pixels in the file's picture.
Region Needed(const PreparationPlan& plan) {
  const Taps down = DownOf(plan), across = AcrossOf(plan);
  return {plan.top + down.first_input(), across.first_input(), down.end_input() - down.first_input(),
          across.end_input() - across.first_input()};
}

void ToGrey(PreparedPicture& picture) {
  const auto plane = static_cast<std::size_t>(picture.size.height * picture.size.width);
  std::uint8_t* level = picture.planes.data();
  for (std::size_t i = 0; i < plane; ++i) {
    const unsigned sum =
        19595U * level[i] + 38470U * level[plane + i] + 7471U * level[2 * plane + i] + 0x8000U;
    level[i] = static_cast<std::uint8_t>(sum >> 16);
  }
  picture.planes.resize(plane);
}

}  // namespace

Result<PreparationPlan> PlanPreparation(const std::string& name, const PictureSize& size,
                                        const Preprocessing& p) {
  PreparationPlan plan;
  plan.top = static_cast<std::int64_t>(p.crop_top * static_cast<double>(size.height));
  plan.rest = {size.height - plan.top, size.width};
  plan.resized = p.height > 0 ? PictureSize{p.height, p.width} : plan.rest;
  if (p.resize > 0 && plan.rest.width <= plan.rest.height)
    plan.resized = {LongSide(p.resize, plan.rest.height, plan.rest.width), p.resize};
  else if (p.resize > 0)
    plan.resized = {p.resize, LongSide(p.resize, plan.rest.width, plan.rest.height)};
  plan.kept = {0, 0, plan.resized.height, plan.resized.width};
  if (p.crop > 0) {
    if (std::min(plan.resized.height, plan.resized.width) < p.crop) {
      return DamageError("'" + name + "' has " + Text(size) + ", too few for a cut of " +
                         std::to_string(p.crop) + ": give resize or a size.");
    }
    plan.kept = {CutFrom(plan.resized.height, p.crop), CutFrom(plan.resized.width, p.crop), p.crop, p.crop};
  }
  return plan;
}

Result<PreparedPicture> PreparePicture(const std::string& name, std::string_view bytes,
                                       const Preprocessing& p, const PictureLimits& limits,
                                       std::int64_t channels) {
  const PictureOptions options{limits, p.exif_orientation ? ExifOrientation::apply : ExifOrientation::ignore};
  const RegionChoice choose = [&](const PictureSize& size) {
    const Result<PreparationPlan> plan = PlanPreparation(name, size, p);
    return plan.ok() ? Needed(*plan) : Region{0, 0, 1, 1};
  };
  RETORT_ASSIGN_OR_RETURN(const Picture picture, DecodePicture(name, bytes, options, choose));
  RETORT_ASSIGN_OR_RETURN(const PreparationPlan plan, PlanPreparation(name, picture.whole, p));
  PreparedPicture out;
  out.size = {plan.kept.height, plan.kept.width};
  out.planes.resize(static_cast<std::size_t>(3 * out.size.height * out.size.width));
  Resample(picture, plan.top, 0, DownOf(plan), AcrossOf(plan), out.planes.data());
  if (channels == 1) ToGrey(out);
  return out;
}

Result<PreparedPicture> PrepareRegion(const std::string& name, std::string_view bytes,
                                      const RegionChoice& choose, const PictureSize& size,
                                      const PictureOptions& options, std::int64_t channels) {
  Region box;
  const RegionChoice remember = [&](const PictureSize& whole) { return box = choose(whole); };
  RETORT_ASSIGN_OR_RETURN(const Picture picture, DecodePicture(name, bytes, options, remember));
  // What was turned by its orientation, and a PNG, is held whole, and its region was not asked for.
  if (box.height == 0 || options.orientation == ExifOrientation::apply) box = choose(picture.whole);
  return ResizeRegion(picture, box, size, channels);
}

PreparedPicture ResizeRegion(const Picture& picture, const Region& box, const PictureSize& size,
                             std::int64_t channels) {
  PreparedPicture out;
  out.size = size;
  out.planes.resize(static_cast<std::size_t>(3 * size.height * size.width));
  Resample(picture, box.top, box.left, {box.height, size.height, 0, size.height},
           {box.width, size.width, 0, size.width}, out.planes.data());
  if (channels == 1) ToGrey(out);
  return out;
}

}  // namespace retort::storage
