#include "worker/methods/asked_pictures.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include "experiments/spec/status.h"
#include "worker/release/answer_memory.h"

namespace retort::worker {

AskedPictures::AskedPictures(std::int64_t capacity) : digests_(at::empty({capacity}, at::kLong)) {}

at::Tensor AskedPictures::Again(const at::Tensor& pictures) {
  const at::NoGradGuard no_grad;
  const std::int64_t rows = pictures.size(0);
  RETORT_CHECK(rows_ + rows <= digests_.size(0));
  auto* digests = digests_.mutable_data_ptr<std::int64_t>();
  for (; known_ < rows_; ++known_) asked_.insert(digests[known_]);
  const at::Tensor found = release::QueryDigests(pictures).view(at::kLong).contiguous();
  at::Tensor again = at::empty({rows}, at::kBool);
  for (std::int64_t i = 0; i < rows; ++i, ++known_) {
    digests[known_] = found.const_data_ptr<std::int64_t>()[i * found.size(1)];
    again.mutable_data_ptr<bool>()[i] = !asked_.insert(digests[known_]).second;
  }
  rows_ = known_;
  return again;
}

void AskedPictures::Register(TrainState& state, const std::string& prefix) {
  state.AddRows(prefix + "digests", digests_, &rows_);
}

}  // namespace retort::worker
