#include "worker/distill/transfer_set.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <string>

namespace retort::worker {

TransferSet::TransferSet(std::int64_t batches, std::int64_t rows, at::Tensor images, std::int64_t classes)
    : rows_(rows),
      capacity_(batches * rows),
      images_(std::move(images)),
      targets_(at::empty({capacity_, classes}, images_.options().dtype(at::kFloat))),
      next_(at::zeros({1}, at::kLong)) {
  RETORT_CHECK(batches > 0 && rows > 0);
}

TransferSet::TransferSet(std::int64_t batches, std::int64_t rows, ImageShape image, std::int64_t classes,
                         at::Device device)
    : TransferSet(
          batches, rows,
          at::empty({batches * rows, image.channels, image.height, image.width}, at::device(device).dtype(at::kFloat)),
          classes) {}

TransferSet TransferSet::OfPlaces(std::int64_t batches, std::int64_t rows, std::int64_t classes, at::Device device) {
  return {batches, rows, at::empty({batches * rows}, at::device(device).dtype(at::kLong)), classes};
}

void TransferSet::Push(const at::Tensor& images, const at::Tensor& targets) {
  const at::NoGradGuard no_grad;
  auto& at_row = *next_.mutable_data_ptr<std::int64_t>();
  const std::int64_t rows = images.size(0);
  RETORT_CHECK(rows > 0 && rows <= rows_ && targets.size(0) == rows && at_row + rows <= capacity_);
  images_.narrow(0, at_row, rows).copy_(images);
  targets_.narrow(0, at_row, rows).copy_(targets);
  at_row = (at_row + rows) % capacity_;
  stored_ = std::min(stored_ + rows, capacity_);
  by_class_.clear();
}

at::Tensor TransferSet::Draw(std::int64_t count, const RngStream& stream) const {
  RETORT_CHECK(stored_ > 0);
  at::Tensor rows = at::empty({count}, at::kLong);
  auto* index = rows.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) index[i] = stream.Below(static_cast<std::uint64_t>(i), stored_);
  return rows;
}

at::Tensor TransferSet::DrawEvenly(std::int64_t count, const RngStream& stream) const {
  RETORT_CHECK(stored_ > 0);
  if (by_class_.empty()) {
    std::vector<std::vector<std::int64_t>> all(static_cast<std::size_t>(targets_.size(1)));
    const at::Tensor first = targets_.narrow(0, 0, stored_).argmax(1).cpu();
    const auto* label = first.const_data_ptr<std::int64_t>();
    for (std::int64_t row = 0; row < stored_; ++row) all[static_cast<std::size_t>(label[row])].push_back(row);
    for (auto& rows : all)
      if (!rows.empty()) by_class_.push_back(std::move(rows));
  }
  at::Tensor rows = at::empty({count}, at::kLong);
  auto* index = rows.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto word = static_cast<std::uint64_t>(2 * i);
    const auto& of_class =
        by_class_[static_cast<std::size_t>(stream.Below(word, static_cast<std::int64_t>(by_class_.size())))];
    index[i] = of_class[static_cast<std::size_t>(stream.Below(word + 1, static_cast<std::int64_t>(of_class.size())))];
  }
  return rows;
}

std::pair<at::Tensor, at::Tensor> TransferSet::Take(const at::Tensor& rows) const {
  const at::Tensor here = rows.to(images_.device());
  return {images_.index_select(0, here), targets_.index_select(0, here)};
}

void TransferSet::Register(TrainState& state, const std::string& prefix) {
  state.AddRows(prefix + "images", images_, &stored_);
  state.AddRows(prefix + "targets", targets_, &stored_);
  state.Add(prefix + "next", next_);
}

}  // namespace retort::worker
