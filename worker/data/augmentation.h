// Random augmentation of training images. Each row's random numbers come from its own lane of a stream keyed by
// (seed, purpose, step): independent of the rows beside it, of gang size and of threads; the same bits on
// every device.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "experiments/methods/data_spec.h"
#include "storage/images/image_decoder.h"
#include "worker/data/examples.h"
#include "worker/tensors/rng_streams.h"

namespace retort::worker {

enum class AugmentationKind : std::uint8_t {
  none,
  shift,                // whole pixels, at most `reach` along each axis; what moves in is black
  crop_flip,            // torchvision's RandomCrop(size, padding=reach), then RandomHorizontalFlip()
  random_resized_crop,  // torchvision's RandomResizedCrop(size), then RandomHorizontalFlip()
  affine,               // turned, scaled, sheared, and moved by up to `reach` along each axis: warping.h
  elastic,              // the same, and bent by a smooth field
};

struct Augmentation {
  AugmentationKind kind = AugmentationKind::none;
  int reach = 4;     // px
  PixelScale scale;  // of the images: one value a channel
};

// Rows `rows` (i64 [k], any device) of `examples`, so augmented: f32 [k, C, H, W] on the examples' device.
// `places`: theirs in their step's whole batch, or wherever else no two images of a step share one. random_resized_crop
// decodes each image anew where the examples have files, and takes the whole of it; else it cuts the examples as they
// are. Error: that of decoding.
[[nodiscard]] Result<at::Tensor> MakeAugmentedBatch(const Examples& examples, const at::Tensor& rows,
                                                    const Augmentation& augmentation, std::uint64_t seed,
                                                    std::uint64_t step, const RowPlaces& places);

// Each image moved by its own whole number of pixels, at most `reach` along each axis; what moves in is
// black[c] of its channel, f32 [C] on the CPU. Draws 0 and 1 of a lane: rows and columns. reach 0 returns the
// images themselves.
[[nodiscard]] at::Tensor MoveImages(const at::Tensor& images, int reach, const at::Tensor& black,
                                    const RowStream& rows);
// Each image mirrored left to right with probability 1/2: draw 0 of its lane.
[[nodiscard]] at::Tensor MirrorImages(const at::Tensor& images, const RowStream& rows);
// The box that torchvision's RandomResizedCrop takes: area uniform in [0.08, 1] of the image's, the
// logarithm of the aspect uniform in [log 3/4, log 4/3], ten tries, else the largest central box of a nearest
// allowed aspect.
[[nodiscard]] storage::Region DrawCropBox(const storage::ImageSize& size, const RngStream& lane);
// Every image cut to its DrawCropBox and resized to the size it had: through bytes, as Pillow resizes, so it is
// computed on the CPU and only 1 and 3 channels are taken.
[[nodiscard]] at::Tensor ResizeAtRandom(const at::Tensor& images, const PixelScale& scale, const RowStream& rows);

// Images mixed from two: blended (mixup, Zhang et al. 2018) or one patched with a box of the other (CutMix, Yun et
// al. 2019).

// Row i of `a` and `b`, f32 [n, C, H, W] of one shape and device, by draws 0 to 3 of its lane of `rows`, each with
// probability 1/3: a alone; w a + (1 - w) b, w uniform; a with a box of b, its area uniform and its aspect the
// image's. The same bits whatever rows are beside it.
[[nodiscard]] at::Tensor MixRows(const at::Tensor& a, const at::Tensor& b, const RowStream& rows);

}  // namespace retort::worker
