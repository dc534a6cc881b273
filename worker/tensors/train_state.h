// Everything that a resumed trial needs, as named tensors that are updated in place.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "storage/formats/tensor_blob.h"
#include "worker/gang/collective.h"

namespace retort::worker {

// Holds references to the owners' memory (a Tensor is a handle); the owners outlive it or share it.
// Counter-based random numbers need no entry.
class TrainState {
 public:
  void Add(const std::string& name, const at::Tensor& tensor);
  // Only the first *rows rows are saved; loading sets *rows. `rows` outlives this object.
  void AddRows(const std::string& name, const at::Tensor& tensor, std::int64_t* rows);

  [[nodiscard]] std::vector<storage::TensorBlob> Save() const;
  // Error: damage, naming the tensor that is missing or of another shape; nothing is changed then.
  [[nodiscard]] Status Load(const std::vector<storage::TensorBlob>& blobs);
  // Every member's state becomes gang rank 0's.
  [[nodiscard]] Status BroadcastFromRoot(Collective& gang);

 private:
  struct Entry {
    std::string name;
    at::Tensor tensor;
    std::int64_t* rows;  // null: the whole tensor
  };
  std::vector<Entry> entries_;
};

}  // namespace retort::worker
