// Labelled images as methods use them: batches by row, wherever the pixels lie.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/images/image_cache.h"
#include "worker/data/pixel_levels.h"
#include "worker/models/network.h"

namespace retort::worker {

// Decoded images with what makes tensors of them. Immutable, any thread may read.
struct StoredImages {
  // `set` says where the files are, so that images can be cut anew; rows of it empty: they are not kept.
  StoredImages(std::shared_ptr<const storage::DecodedImages> pictures, const ImageShape& shape, const PixelScale& scale,
               at::Device device, storage::ImageSet set = {});
  std::shared_ptr<const storage::DecodedImages> pictures;
  storage::ImageSet set;
  ImageShape shape;
  PixelLevels levels;
  at::Device device;  // where batches are wanted
};

// Either all in memory as floats, or stored as bytes of which each batch is made when it is asked for. Cheap
// to copy; there is no position in it, so resumed trials and members of gangs see what their rows say.
class Examples {
 public:
  Examples() = default;
  // In memory: f32 [n, channels, height, width], normalised; i64 [n]. Both on the same device.
  Examples(at::Tensor images, at::Tensor labels);
  // Example i is image places[i] of `images`; -1: no image, but NaN. labels i64 [n], on images->device.
  Examples(std::shared_ptr<const StoredImages> images, std::vector<std::int64_t> places, at::Tensor labels);

  [[nodiscard]] std::int64_t size() const { return labels.defined() ? labels.size(0) : 0; }
  // f32 [k, channels, height, width], normalised, on the labels' device. rows i64 [k], on any device, each in
  // 0..size-1. The same bits on every device, however many threads.
  [[nodiscard]] at::Tensor Batch(const at::Tensor& rows) const;
  // Rows first, ..., first + count - 1. In memory it is a view.
  [[nodiscard]] at::Tensor Range(std::int64_t first, std::int64_t count) const;
  // Are the images' files at hand?
  [[nodiscard]] bool HasFiles() const { return stored_ != nullptr && stored_->set.source.read != nullptr; }
  // Where the image of a row lies, for messages; empty where the pixels came otherwise, or there is none.
  [[nodiscard]] std::string FindFile(std::int64_t row) const;
  // For each k the box choose(k, size of its image) of the image of rows[k], decoded from its file and
  // resized to the examples' size: else as Batch. `choose` is called from several threads. Error: that of
  // reading or decoding.
  using BoxChoice = std::function<storage::Region(std::int64_t k, const storage::ImageSize& size)>;
  [[nodiscard]] Result<at::Tensor> FileBatch(const at::Tensor& rows, const BoxChoice& choose) const;
  // As many rows as fit in 256 MB of floats, at least one: for passes over everything.
  [[nodiscard]] std::int64_t RowsAtOnce() const;
  [[nodiscard]] ImageShape shape() const;

  // Of these rows, in this order (rows as for Batch); of the first n; those of `a`, then those of `b` (one
  // shape).
  [[nodiscard]] Examples Rows(const at::Tensor& rows) const;
  [[nodiscard]] Examples First(std::int64_t n) const;
  [[nodiscard]] static Examples Joined(const Examples& a, const Examples& b);
  // The same with other labels, i64 [n].
  [[nodiscard]] Examples Relabelled(at::Tensor other) const;
  // The same, all pixels of these rows NaN: an example that is not there.
  [[nodiscard]] Examples Without(const std::vector<std::int64_t>& rows) const;
  // Batches and labels come on `device`; stored bytes stay where they are.
  [[nodiscard]] Examples On(const at::Device& device) const;

  at::Tensor labels;  // i64 [n]

 private:
  [[nodiscard]] at::Tensor Gathered(const std::int64_t* rows, std::int64_t count) const;
  at::Tensor images_;  // in memory; else undefined
  std::shared_ptr<const StoredImages> stored_;
  std::vector<std::int64_t> places_;
};

}  // namespace retort::worker
