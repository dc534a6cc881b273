// Remembers released answers by the exact bytes of their query row: the same bytes never get fresh noise.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace retort::worker::release {

// What was released so far, for a checkpoint: u8 [rows, kDigestBytes] and i32 [rows, classes].
struct VoteMemory {
  at::Tensor digests;
  at::Tensor values;
};

inline constexpr std::int64_t kDigestBytes = 32;
// By which the memory knows a query: u8 [rows, kDigestBytes] on the CPU. inputs [rows, ...].
[[nodiscard]] at::Tensor QueryDigests(const at::Tensor& inputs);

// Of rows with equal bytes the first: i64 [distinct rows], growing, on the CPU. inputs [rows, ...].
[[nodiscard]] at::Tensor DistinctRows(const at::Tensor& inputs);

class AnswerMemory {
 public:
  explicit AnswerMemory(std::int64_t classes) : classes_(classes) {}

  // Distinct rows of `inputs` [rows, ...] that are not remembered yet.
  [[nodiscard]] std::int64_t Fresh(const at::Tensor& inputs) const;
  // i32 [rows, classes] on the CPU: for every row of `inputs` what is remembered, or what
  // draw(row, std::span<std::int32_t>) writes, once for equal rows.
  template <typename Draw>
  [[nodiscard]] at::Tensor Recall(const at::Tensor& inputs, const Draw& draw);

  [[nodiscard]] VoteMemory Save() const;
  // Replaces what is remembered.
  void Restore(const VoteMemory& memory);
  // Adds what the transcript holds: inputs [rows, ...] as queried, values i32 [rows, classes].
  void Remember(const at::Tensor& inputs, const at::Tensor& values);
  void Add(const VoteMemory& memory);

 private:
  using Entry = std::pair<std::vector<std::int32_t>*, bool>;  // where a row's answer lies; has it to be drawn?
  [[nodiscard]] std::vector<Entry> Find(const at::Tensor& inputs);
  [[nodiscard]] at::Tensor Gather(const std::vector<Entry>& entries) const;

  std::int64_t classes_;
  std::map<std::string, std::vector<std::int32_t>> remembered_;  // by digest of the row's bytes
};

template <typename Draw>
at::Tensor AnswerMemory::Recall(const at::Tensor& inputs, const Draw& draw) {
  const std::vector<Entry> entries = Find(inputs);
  for (std::size_t row = 0; row < entries.size(); ++row) {
    if (entries[row].second) draw(row, *entries[row].first);
  }
  return Gather(entries);
}

}  // namespace retort::worker::release
