#include "worker/release/answer_memory.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "experiments/base/status.h"
#include "worker/noise/noise_key.h"

namespace retort::worker::release {
namespace {

// A digest of each row's bytes.
std::vector<RowDigest> RowDigests(const at::Tensor& inputs) {
  const at::Tensor rows = inputs.detach().cpu().contiguous();
  std::vector<RowDigest> digests(static_cast<std::size_t>(rows.size(0)));
  if (digests.empty()) return digests;
  const std::size_t bytes = rows.nbytes() / digests.size();
  const auto* data = static_cast<const std::uint8_t*>(rows.const_data_ptr());
  for (RowDigest& digest : digests) {
    const std::string made = noise::Digest({data, bytes});
    RETORT_CHECK(made.size() == digest.size());
    std::copy(made.begin(), made.end(), digest.begin());
    data += bytes;
  }
  return digests;
}

}  // namespace

at::Tensor QueryDigests(const at::Tensor& inputs) {
  at::Tensor digests = at::empty({inputs.size(0), kDigestBytes}, at::kByte);
  auto* out = digests.data_ptr<std::uint8_t>();
  for (const RowDigest& digest : RowDigests(inputs)) out = std::copy(digest.begin(), digest.end(), out);
  return digests;
}

at::Tensor FindDistinctRows(const at::Tensor& inputs) {
  std::unordered_set<RowDigest, RowDigestHash> seen;
  std::vector<std::int64_t> first;
  std::int64_t row = 0;
  for (const RowDigest& digest : RowDigests(inputs)) {
    if (seen.insert(digest).second) first.push_back(row);
    ++row;
  }
  return at::tensor(first, at::kLong);
}

std::int64_t AnswerMemory::Fresh(const at::Tensor& inputs) const {
  std::unordered_set<RowDigest, RowDigestHash> fresh;
  for (const RowDigest& digest : RowDigests(inputs)) {
    if (!places_.contains(digest)) fresh.insert(digest);
  }
  return static_cast<std::int64_t>(fresh.size());
}

AnswerMemory::Entry AnswerMemory::FindOne(const RowDigest& digest) {
  const auto [entry, fresh] = places_.try_emplace(digest, values_.size());
  if (fresh) values_.resize(values_.size() + static_cast<std::size_t>(classes_));
  return {entry->second, fresh};
}

std::vector<AnswerMemory::Entry> AnswerMemory::Find(const at::Tensor& inputs) {
  std::vector<Entry> entries;
  for (const RowDigest& digest : RowDigests(inputs)) entries.push_back(FindOne(digest));
  return entries;
}

at::Tensor AnswerMemory::Gather(const std::vector<Entry>& entries) const {
  at::Tensor values = at::empty({static_cast<std::int64_t>(entries.size()), classes_}, at::kInt);
  auto* out = values.data_ptr<std::int32_t>();
  for (const Entry& entry : entries) out = std::copy_n(values_.data() + entry.place, classes_, out);
  return values;
}

// In the order of the digests: equal memories have equal bytes.
VoteMemory AnswerMemory::Save() const {
  std::vector<std::pair<RowDigest, std::size_t>> sorted(places_.begin(), places_.end());
  std::sort(sorted.begin(), sorted.end());
  const auto rows = static_cast<std::int64_t>(sorted.size());
  VoteMemory memory{at::empty({rows, kDigestBytes}, at::kByte), at::empty({rows, classes_}, at::kInt)};
  auto* digest = memory.digests.data_ptr<std::uint8_t>();
  auto* value = memory.values.data_ptr<std::int32_t>();
  for (const auto& [key, place] : sorted) {
    digest = std::copy(key.begin(), key.end(), digest);
    value = std::copy_n(values_.data() + place, classes_, value);
  }
  return memory;
}

void AnswerMemory::Restore(const VoteMemory& memory) {
  places_.clear();
  values_.clear();
  Add(memory);
}

void AnswerMemory::Add(const VoteMemory& memory) {
  const at::Tensor digests = memory.digests.contiguous();
  const at::Tensor values = memory.values.cpu().contiguous();
  RETORT_CHECK(digests.size(1) == kDigestBytes && values.size(1) == classes_ && values.size(0) == digests.size(0));
  const auto* digest = digests.const_data_ptr<std::uint8_t>();
  const auto* value = values.const_data_ptr<std::int32_t>();
  for (std::int64_t row = 0; row < digests.size(0); ++row, digest += kDigestBytes, value += classes_) {
    RowDigest key;
    std::copy_n(digest, kDigestBytes, key.begin());
    std::copy_n(value, classes_, ValuesAt(FindOne(key).place).begin());
  }
}

void AnswerMemory::Remember(const at::Tensor& inputs, const at::Tensor& values) { Add({QueryDigests(inputs), values}); }

}  // namespace retort::worker::release
