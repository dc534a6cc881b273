// Remembers released answers by the exact bytes of their query row: the same bytes never get fresh noise.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <unordered_map>
#include <vector>

namespace retort::worker::release {

// What was released so far, for a checkpoint: u8 [rows, kDigestBytes] and i32 [rows, classes].
struct VoteMemory {
  at::Tensor digests;
  at::Tensor values;
};

inline constexpr std::int64_t kDigestBytes = 32;
using RowDigest = std::array<std::uint8_t, kDigestBytes>;
// Its bytes are as good as random.
struct RowDigestHash {
  std::size_t operator()(const RowDigest& digest) const {
    std::size_t hash = 0;
    std::memcpy(&hash, digest.data(), sizeof(hash));
    return hash;
  }
};

// By which the memory knows a query: u8 [rows, kDigestBytes] on the CPU. inputs [rows, ...].
[[nodiscard]] at::Tensor QueryDigests(const at::Tensor& inputs);

// Of rows with equal bytes the first: i64 [distinct rows], growing, on the CPU. inputs [rows, ...].
[[nodiscard]] at::Tensor FindDistinctRows(const at::Tensor& inputs);

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
  struct Entry {
    std::size_t place;  // of a row's answer in values_
    bool fresh;         // it has to be drawn
  };

  [[nodiscard]] std::span<std::int32_t> ValuesAt(std::size_t place) {
    return std::span(values_).subspan(place, static_cast<std::size_t>(classes_));
  }
  // Where the answer to a row lies, made room for where there is none.
  [[nodiscard]] Entry FindOne(const RowDigest& digest);
  [[nodiscard]] std::vector<Entry> Find(const at::Tensor& inputs);
  [[nodiscard]] at::Tensor Gather(const std::vector<Entry>& entries) const;

  std::int64_t classes_;
  std::unordered_map<RowDigest, std::size_t, RowDigestHash> places_;  // by digest of the row's bytes
  std::vector<std::int32_t> values_;
};

template <typename Draw>
at::Tensor AnswerMemory::Recall(const at::Tensor& inputs, const Draw& draw) {
  const std::vector<Entry> entries = Find(inputs);
  for (std::size_t row = 0; row < entries.size(); ++row) {
    if (entries[row].fresh) draw(row, ValuesAt(entries[row].place));
  }
  return Gather(entries);
}

}  // namespace retort::worker::release
