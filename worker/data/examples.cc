#include "worker/data/examples.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "storage/images/prepared_image.h"

namespace retort::worker {
namespace {

constexpr std::int64_t kFloatsAtOnce = std::int64_t{64} << 20;

at::Tensor OnHost(const at::Tensor& rows) { return rows.to(at::kCPU, at::kLong).contiguous(); }

// f32 [count, channels, height, width] on the CPU; threads share the images.
at::Tensor GatherOnHost(const StoredImages& stored, const std::int64_t* places, std::int64_t count) {
  const ImageShape& shape = stored.shape;
  const std::int64_t plane = shape.height * shape.width;
  at::Tensor out = at::empty({count, shape.channels, shape.height, shape.width}, at::kFloat);
  float* first = out.mutable_data_ptr<float>();
  at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float* to = first + i * shape.size();
      if (places[i] < 0) {
        std::fill_n(to, shape.size(), std::numeric_limits<float>::quiet_NaN());
        continue;
      }
      stored.levels.Normalise(stored.pictures->At(places[i]), plane, to);
    }
  });
  return out;
}

// One image, cropped anew from its file; a missing one is NaN.
Status FillFromFile(const StoredImages& stored, std::int64_t place, const storage::ImageSize& size,
                    const storage::ImageOptions& options, const storage::RegionChoice& choose, float* out) {
  if (place < 0) {
    std::fill_n(out, stored.shape.size(), std::numeric_limits<float>::quiet_NaN());
    return {};
  }
  const std::int64_t row = stored.set.rows[static_cast<std::size_t>(place)];
  RETORT_ASSIGN_OR_RETURN(const std::string bytes, stored.set.source.read(row));
  RETORT_ASSIGN_OR_RETURN(
      const storage::PreparedImage image,
      storage::PrepareRegion(stored.set.source.where(row), bytes, choose, size, options, stored.shape.channels));
  stored.levels.Normalise(image.planes.data(), size.height * size.width, out);
  return {};
}

// Bytes are copied to the device, a quarter of the floats' size, and looked up in the table there: the same bits.
at::Tensor GatherOnDevice(const StoredImages& stored, const std::int64_t* places, std::int64_t count) {
  const ImageShape& shape = stored.shape;
  at::Tensor bytes = at::empty({count, shape.channels, shape.height * shape.width}, at::kByte);
  auto* first = bytes.mutable_data_ptr<std::uint8_t>();
  std::vector<std::int64_t> absent;
  for (std::int64_t i = 0; i < count; ++i)
    if (places[i] < 0) absent.push_back(i);
  at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto size = static_cast<std::size_t>(shape.size());
      if (places[i] < 0)
        std::memset(first + i * shape.size(), 0, size);
      else
        std::memcpy(first + i * shape.size(), stored.pictures->At(places[i]), size);
    }
  });
  const at::Tensor table = stored.levels.Table().to(stored.device).flatten();
  at::Tensor index = bytes.to(stored.device).to(at::kInt);
  index.add_((at::arange(shape.channels, index.options()) * 256).view({1, shape.channels, 1}));
  const at::Tensor out =
      table.index_select(0, index.flatten()).view({count, shape.channels, shape.height, shape.width});
  for (const std::int64_t row : absent) out.select(0, row).fill_(std::numeric_limits<double>::quiet_NaN());
  return out;
}

}  // namespace

StoredImages::StoredImages(std::shared_ptr<const storage::DecodedImages> decoded, const ImageShape& of,
                           const PixelScale& scale, at::Device where, storage::ImageSet files)
    : pictures(std::move(decoded)), set(std::move(files)), shape(of), levels(of.channels, scale), device(where) {}

Examples::Examples(at::Tensor images, at::Tensor image_labels)
    : labels(std::move(image_labels)), images_(std::move(images)) {
  RETORT_CHECK(images_.size(0) == labels.size(0));
}

Examples::Examples(std::shared_ptr<const StoredImages> images, std::vector<std::int64_t> places,
                   at::Tensor image_labels)
    : labels(std::move(image_labels)), stored_(std::move(images)), places_(std::move(places)) {
  RETORT_CHECK(static_cast<std::int64_t>(places_.size()) == labels.size(0));
}

at::Tensor Examples::Gathered(const std::int64_t* rows, std::int64_t count) const {
  std::vector<std::int64_t> places(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < places.size(); ++i) {
    RETORT_CHECK(rows[i] >= 0 && rows[i] < size());
    places[i] = places_[static_cast<std::size_t>(rows[i])];
  }
  return stored_->device.is_cpu() ? GatherOnHost(*stored_, places.data(), count)
                                  : GatherOnDevice(*stored_, places.data(), count);
}

at::Tensor Examples::Batch(const at::Tensor& rows) const {
  if (images_.defined()) return images_.index_select(0, rows.to(images_.device()));
  const at::Tensor host = OnHost(rows);
  return Gathered(host.const_data_ptr<std::int64_t>(), host.size(0));
}

Result<at::Tensor> Examples::FileBatch(const at::Tensor& rows, const BoxChoice& choose) const {
  RETORT_CHECK(HasFiles());
  const at::Tensor host = OnHost(rows);
  const storage::PreparationOptions& order = stored_->set.order;
  const storage::ImageSize size{stored_->shape.height, stored_->shape.width};
  const storage::ImageOptions options{order.limits, order.preprocessing.exif_orientation
                                                        ? storage::ExifOrientation::apply
                                                        : storage::ExifOrientation::ignore};
  at::Tensor out = at::empty({host.size(0), stored_->shape.channels, size.height, size.width}, at::kFloat);
  std::vector<Status> said(static_cast<std::size_t>(host.size(0)));
  at::parallel_for(0, host.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t place = places_[static_cast<std::size_t>(host.const_data_ptr<std::int64_t>()[k])];
      said[static_cast<std::size_t>(k)] = FillFromFile(
          *stored_, place, size, options, [&](const storage::ImageSize& s) { return choose(k, s); },
          out.mutable_data_ptr<float>() + k * stored_->shape.size());
    }
  });
  for (const Status& status : said) RETORT_RETURN_IF_ERROR(status);
  return out.to(stored_->device);
}

at::Tensor Examples::Range(std::int64_t first, std::int64_t count) const {
  if (images_.defined()) return images_.narrow(0, first, count);
  return Batch(at::arange(first, first + count, at::kLong));
}

std::string Examples::FindFile(std::int64_t row) const {
  if (stored_ == nullptr || stored_->set.source.where == nullptr) return "";
  const std::int64_t place = places_.at(static_cast<std::size_t>(row));
  return place < 0 ? "" : stored_->set.source.where(stored_->set.rows.at(static_cast<std::size_t>(place)));
}

std::int64_t Examples::RowsAtOnce() const {
  return std::max<std::int64_t>(1, kFloatsAtOnce / std::max<std::int64_t>(1, shape().size()));
}

ImageShape Examples::shape() const {
  if (images_.defined()) return {images_.size(1), images_.size(2), images_.size(3)};
  return stored_ != nullptr ? stored_->shape : ImageShape{0, 0, 0};
}

Examples Examples::Rows(const at::Tensor& rows) const {
  const at::Tensor chosen = labels.index_select(0, rows.to(labels.device()));
  if (images_.defined()) return {Batch(rows), chosen};
  const at::Tensor host = OnHost(rows);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < host.size(0); ++i)
    places.push_back(places_[static_cast<std::size_t>(host.const_data_ptr<std::int64_t>()[i])]);
  return {stored_, std::move(places), chosen};
}

Examples Examples::First(std::int64_t n) const {
  if (images_.defined()) return {images_.narrow(0, 0, n), labels.narrow(0, 0, n)};
  return {stored_, {places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(n)}, labels.narrow(0, 0, n)};
}

Examples Examples::Joined(const Examples& a, const Examples& b) {
  at::Tensor labels = at::cat({a.labels, b.labels});
  if (a.stored_ == nullptr || b.stored_ == nullptr || a.stored_->pictures != b.stored_->pictures)
    return {at::cat({a.Range(0, a.size()), b.Range(0, b.size())}), std::move(labels)};
  std::vector<std::int64_t> places = a.places_;
  places.insert(places.end(), b.places_.begin(), b.places_.end());
  return {a.stored_, std::move(places), std::move(labels)};
}

Examples Examples::Relabelled(at::Tensor other) const {
  RETORT_CHECK(other.size(0) == size());
  Examples out = *this;
  out.labels = std::move(other);
  return out;
}

Examples Examples::Without(const std::vector<std::int64_t>& rows) const {
  Examples out = *this;
  if (images_.defined()) out.images_ = images_.clone();
  for (const std::int64_t row : rows) {
    if (images_.defined())
      out.images_.select(0, row).fill_(std::numeric_limits<double>::quiet_NaN());
    else
      out.places_[static_cast<std::size_t>(row)] = -1;
  }
  return out;
}

Examples Examples::On(const at::Device& device) const {
  Examples out = *this;
  if (labels.defined()) out.labels = labels.to(device);
  if (images_.defined()) out.images_ = images_.to(device);
  if (stored_ != nullptr && stored_->device != device) {
    auto there = std::make_shared<StoredImages>(*stored_);
    there->device = device;
    out.stored_ = std::move(there);
  }
  return out;
}

}  // namespace retort::worker
