#include "worker/tensors/train_state.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "worker/gang/row_share.h"
#include "worker/tensors/tensor_codec.h"

namespace retort::worker {
namespace {

// Whether `blob` can be put into an entry of this shape.
bool Fits(const storage::TensorBlob& blob, const at::Tensor& tensor, bool by_rows) {
  const std::vector<std::int64_t> shape = tensor.sizes().vec();
  if (!by_rows) return blob.shape == shape;
  return blob.shape.size() == shape.size() && blob.shape[0] <= shape[0] &&
         std::equal(blob.shape.begin() + 1, blob.shape.end(), shape.begin() + 1);
}

}  // namespace

void TrainState::Add(const std::string& name, const at::Tensor& tensor) { entries_.push_back({name, tensor, nullptr}); }

void TrainState::AddRows(const std::string& name, const at::Tensor& tensor, std::int64_t* rows) {
  entries_.push_back({name, tensor, rows});
}

std::vector<storage::TensorBlob> TrainState::Save() const {
  std::vector<storage::TensorBlob> blobs;
  for (const Entry& entry : entries_) {
    const at::Tensor live = entry.rows == nullptr ? entry.tensor : entry.tensor.narrow(0, 0, *entry.rows);
    blobs.push_back(MakeTensorBlob(entry.name, live));
  }
  return blobs;
}

Status TrainState::Load(const std::vector<storage::TensorBlob>& blobs) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> values;
  for (const Entry& entry : entries_) {
    const auto found = std::find_if(blobs.begin(), blobs.end(), [&](const auto& b) { return b.name == entry.name; });
    if (found == blobs.end()) return DamageError("The checkpoint lacks '" + entry.name + "'.");
    RETORT_ASSIGN_OR_RETURN(at::Tensor value, MakeTensorFromBlob(*found));
    if (value.scalar_type() != entry.tensor.scalar_type() || !Fits(*found, entry.tensor, entry.rows != nullptr)) {
      return DamageError("The checkpoint holds '" + entry.name + "' in another shape or type.");
    }
    values.push_back(std::move(value));
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].rows != nullptr) *entries_[i].rows = values[i].size(0);
    entries_[i].tensor.narrow(0, 0, values[i].dim() == 0 ? 0 : values[i].size(0)).copy_(values[i]);
  }
  return {};
}

Status TrainState::BroadcastFromRoot(Collective& gang) {
  if (gang.size() == 1) return {};
  const at::NoGradGuard no_grad;
  for (const Entry& entry : entries_) {
    const at::Tensor live = entry.rows == nullptr ? entry.tensor : entry.tensor.narrow(0, 0, *entry.rows);
    RETORT_ASSIGN_OR_RETURN(const at::Tensor value, worker::BroadcastFromRoot(live, gang));
    if (entry.rows != nullptr) *entry.rows = value.size(0);
    if (gang.rank().value != 0) entry.tensor.narrow(0, 0, value.size(0)).copy_(value);
  }
  return {};
}

}  // namespace retort::worker
