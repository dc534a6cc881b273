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
  const auto* digests = digests_.const_data_ptr<std::int64_t>();
  for (; known_ < rows_; ++known_) asked_.insert(digests[known_]);
  const at::Tensor found = release::QueryDigests(pictures).view(at::kLong).contiguous();
  const at::Tensor again = at::empty({rows}, at::kBool);
  std::unordered_set<std::int64_t> among;
  newest_.clear();
  for (std::int64_t i = 0; i < rows; ++i) {
    newest_.push_back(found.const_data_ptr<std::int64_t>()[i * found.size(1)]);
    again.mutable_data_ptr<bool>()[i] = asked_.count(newest_.back()) > 0 || !among.insert(newest_.back()).second;
  }
  return again;
}

void AskedPictures::Remember() {
  RETORT_CHECK(rows_ + static_cast<std::int64_t>(newest_.size()) <= digests_.size(0));
  auto* digests = digests_.mutable_data_ptr<std::int64_t>();
  for (const std::int64_t digest : newest_) digests[rows_++] = digest;
  newest_.clear();
}

void AskedPictures::Register(TrainState& state, const std::string& prefix) {
  state.AddRows(prefix + "digests", digests_, &rows_);
}

}  // namespace retort::worker
