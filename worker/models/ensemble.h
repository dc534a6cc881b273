// The members of an ensemble: many softmax regressions of one shape, trained and evaluated together, or any networks.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "experiments/base/status.h"
#include "storage/formats/tensor_blob.h"
#include "worker/gang/row_share.h"
#include "worker/models/arenas.h"
#include "worker/models/model_registry.h"
#include "worker/models/network.h"

namespace retort::worker {

// Member m classifies by weight[m] x + bias[m]; one tensor holds all members.
class LogisticEnsemble {
 public:
  LogisticEnsemble(std::int64_t members, ImageShape input, std::int64_t classes, const RngStream& stream,
                   at::Device device = at::kCPU);

  [[nodiscard]] std::int64_t members() const { return members_; }
  [[nodiscard]] std::int64_t classes() const { return classes_; }
  // Members first, first + 1, ... each on its own rows: [count, rows, pixels] -> [count, rows, classes].
  [[nodiscard]] at::Tensor ForwardOwn(const at::Tensor& images, std::int64_t first = 0) const;
  // Members [first, first + count) on the same rows: [rows, C, H, W] -> [count, rows, classes].
  [[nodiscard]] at::Tensor ForwardShared(const at::Tensor& images, std::int64_t first, std::int64_t count) const;
  // Every member.
  [[nodiscard]] at::Tensor ForwardShared(const at::Tensor& images) const { return ForwardShared(images, 0, members_); }
  // "weight" [members, classes, pixels] and "bias" [members, classes].
  [[nodiscard]] ParameterArena& parameters() { return parameters_; }

 private:
  std::int64_t members_, classes_, pixels_;
  ParameterArena parameters_;
};

// Members that can be evaluated, however their parameters are stored.
class Ensemble {
 public:
  virtual ~Ensemble() = default;
  // Every member that was loaded, on the same rows: [rows, C, H, W] -> [members, rows, classes] f32.
  [[nodiscard]] virtual at::Tensor Forward(const at::Tensor& images) const = 0;
  // The same, and the inputs of the batch norms of all of them.
  [[nodiscard]] virtual at::Tensor ForwardWithNorms(const at::Tensor& images,
                                                    std::vector<BatchNormInput>& norms) const = 0;
};

// Names of member m's state: prefix + "m/" + the network's own.
[[nodiscard]] std::string FormatMemberPrefix(const std::string& prefix, std::int64_t member);

// Those of `share` among `members` of the network that is named, from what an ensemble's trial left: tensors of
// all members together (LogisticEnsemble), one network with prefix + "heads" f32 [members, classes, values], the
// weights of each member's last layer, or the state of one after the other. Error: damage, naming what is missing or of
// another shape; usage, as MakeNetwork.
[[nodiscard]] Result<std::unique_ptr<Ensemble>> LoadEnsemble(const NetworkChoice& network, std::int64_t members,
                                                             ImageShape input, std::int64_t classes,
                                                             const std::string& prefix,
                                                             const std::vector<storage::TensorBlob>& blobs,
                                                             RowShare share, at::Device device = at::kCPU);

// Indices of each member's shard: member m holds order[m], order[m + n], ...; every shard has
// floor(examples / members) of them. Disjoint, and fixed by index: a changed example stays in its shard.
// i64 [members, shard size].
[[nodiscard]] at::Tensor MakeDisjointShards(std::int64_t examples, std::int64_t members);

// Checks that no example is in two shards, on which claims about members rest. `shards` i64 [members, shard size].
// Error: refused, naming an index outside [0, examples) or one that is there twice.
[[nodiscard]] Status CheckDisjoint(const at::Tensor& shards, std::int64_t examples);

}  // namespace retort::worker
