#include "worker/release/answer_memory.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <set>

#include "experiments/base/status.h"
#include "worker/noise/noise_key.h"

namespace retort::worker::release {
namespace {

// A digest of each row's bytes.
std::vector<std::string> RowDigests(const at::Tensor& inputs) {
  const at::Tensor rows = inputs.detach().cpu().contiguous();
  std::vector<std::string> digests(static_cast<std::size_t>(rows.size(0)));
  if (digests.empty()) return digests;
  const std::size_t bytes = rows.nbytes() / digests.size();
  const auto* data = static_cast<const std::uint8_t*>(rows.const_data_ptr());
  for (std::string& digest : digests) {
    digest = noise::Digest({data, bytes});
    data += bytes;
  }
  return digests;
}

}  // namespace

at::Tensor QueryDigests(const at::Tensor& inputs) {
  at::Tensor digests = at::empty({inputs.size(0), kDigestBytes}, at::kByte);
  auto* out = digests.data_ptr<std::uint8_t>();
  for (const std::string& digest : RowDigests(inputs)) out = std::copy(digest.begin(), digest.end(), out);
  return digests;
}

at::Tensor DistinctRows(const at::Tensor& inputs) {
  std::set<std::string> seen;
  std::vector<std::int64_t> first;
  std::int64_t row = 0;
  for (std::string& digest : RowDigests(inputs)) {
    if (seen.insert(std::move(digest)).second) first.push_back(row);
    ++row;
  }
  return at::tensor(first, at::kLong);
}

std::int64_t AnswerMemory::Fresh(const at::Tensor& inputs) const {
  std::set<std::string> fresh;
  for (std::string& digest : RowDigests(inputs)) {
    if (!remembered_.contains(digest)) fresh.insert(std::move(digest));
  }
  return static_cast<std::int64_t>(fresh.size());
}

std::vector<AnswerMemory::Entry> AnswerMemory::Find(const at::Tensor& inputs) {
  std::vector<Entry> entries;
  for (const std::string& digest : RowDigests(inputs)) {
    auto [entry, fresh] = remembered_.try_emplace(digest);
    if (fresh) entry->second.resize(static_cast<std::size_t>(classes_));
    entries.emplace_back(&entry->second, fresh);
  }
  return entries;
}

at::Tensor AnswerMemory::Gather(const std::vector<Entry>& entries) const {
  at::Tensor values = at::empty({static_cast<std::int64_t>(entries.size()), classes_}, at::kInt);
  auto* out = values.data_ptr<std::int32_t>();
  for (const Entry& entry : entries) out = std::copy(entry.first->begin(), entry.first->end(), out);
  return values;
}

VoteMemory AnswerMemory::Save() const {
  const auto rows = static_cast<std::int64_t>(remembered_.size());
  VoteMemory memory{at::empty({rows, kDigestBytes}, at::kByte), at::empty({rows, classes_}, at::kInt)};
  auto* digest = memory.digests.data_ptr<std::uint8_t>();
  auto* value = memory.values.data_ptr<std::int32_t>();
  for (const auto& [key, released] : remembered_) {
    digest = std::copy(key.begin(), key.end(), digest);
    value = std::copy(released.begin(), released.end(), value);
  }
  return memory;
}

void AnswerMemory::Restore(const VoteMemory& memory) {
  remembered_.clear();
  Add(memory);
}

void AnswerMemory::Add(const VoteMemory& memory) {
  const at::Tensor digests = memory.digests.contiguous();
  const at::Tensor values = memory.values.cpu().contiguous();
  RETORT_CHECK(digests.size(1) == kDigestBytes && values.size(1) == classes_ && values.size(0) == digests.size(0));
  const auto* digest = digests.const_data_ptr<std::uint8_t>();
  const auto* value = values.const_data_ptr<std::int32_t>();
  for (std::int64_t row = 0; row < digests.size(0); ++row, digest += kDigestBytes, value += classes_) {
    remembered_[std::string(digest, digest + kDigestBytes)].assign(value, value + classes_);
  }
}

void AnswerMemory::Remember(const at::Tensor& inputs, const at::Tensor& values) { Add({QueryDigests(inputs), values}); }

}  // namespace retort::worker::release
