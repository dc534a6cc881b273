#include "worker/data/split_overlap.h"

#include <ATen/Parallel.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace retort::worker {

namespace {

// Calls visit(row, the bytes of its values) until it returns false.
template <typename Visit>
void EachImage(const Examples& examples, const Visit& visit) {
  for (std::int64_t first = 0; first < examples.size();) {
    const std::int64_t rows = std::min(examples.RowsAtOnce(), examples.size() - first);
    const at::Tensor part = examples.Range(first, rows).cpu().contiguous();
    const auto bytes = static_cast<std::size_t>(part.numel() / rows) * sizeof(float);
    const auto* values = static_cast<const char*>(part.const_data_ptr());
    for (std::int64_t i = 0; i < rows; ++i)
      if (!visit(first + i, std::string_view(values + static_cast<std::size_t>(i) * bytes, bytes))) return;
    first += rows;
  }
}

bool IsMissing(std::string_view image) {
  float value = 0;
  std::memcpy(&value, image.data(), sizeof(value));
  return value != value;
}

std::string FileIn(const Examples& examples, std::int64_t row) {
  const std::string where = examples.FindFile(row);
  return where.empty() ? where : " ('" + where + "')";
}

// Error: environment, where an image of `open`, the split called `name`, is also in `hidden`. `why` says why it must
// not be.
Status RequireDisjoint(const Examples& hidden, const Examples& open, const std::string& name, const std::string& why) {
  const std::optional<SharedRows> shared = FindFirstShared(hidden, open);
  if (!shared) return {};
  return EnvironmentError("Picture " + std::to_string(shared->b) + " of the " + name + " split" +
                          FileIn(open, shared->b) + " is picture " + std::to_string(shared->a) + " of the private one" +
                          FileIn(hidden, shared->a) + ": " + why +
                          " Take it out of one of them, by a list of the pictures of each split.");
}

}  // namespace

std::optional<SharedRows> FindFirstShared(const Examples& a, const Examples& b) {
  std::unordered_multimap<std::size_t, std::int64_t> rows;
  EachImage(a, [&rows](std::int64_t row, std::string_view image) {
    if (!IsMissing(image)) rows.emplace(std::hash<std::string_view>()(image), row);
    return true;
  });
  std::optional<SharedRows> shared;
  EachImage(b, [&](std::int64_t row, std::string_view image) {
    const auto [first, last] = rows.equal_range(std::hash<std::string_view>()(image));
    for (auto other = first; other != last && !shared; ++other) {
      EachImage(a.Rows(at::full({1}, other->second, at::kLong)), [&](std::int64_t, std::string_view same) {
        if (same == image) shared = {other->second, row};
        return true;
      });
    }
    return !shared;
  });
  return shared;
}

std::vector<std::int64_t> ListShared(const Examples& a, const Examples& b) {
  std::unordered_set<std::size_t> images;
  EachImage(b, [&images](std::int64_t, std::string_view image) {
    if (!IsMissing(image)) images.insert(std::hash<std::string_view>()(image));
    return true;
  });
  std::vector<std::int64_t> rows;
  if (images.empty()) return rows;
  EachImage(a, [&](std::int64_t row, std::string_view image) {
    if (!IsMissing(image) && images.contains(std::hash<std::string_view>()(image))) rows.push_back(row);
    return true;
  });
  return rows;
}

Status RequireApart(const Dataset& data) {
  return RequireDisjoint(data.train, data.public_split, "public", "a public picture must be nobody's.");
}

Status RequireTestApart(const Dataset& data) {
  return RequireDisjoint(data.train, data.test, "test",
                         "what is measured on it would be of a private example, without a charge.");
}

namespace {

constexpr std::int64_t kRowsOfOneTask = 256;

using Hashed = std::pair<std::size_t, std::int64_t>;  // of the image; its number

// Sorted.
std::vector<Hashed> ComputeHashes(const std::vector<std::int64_t>& rows,
                                  const std::function<std::string_view(std::int64_t)>& image) {
  std::vector<Hashed> hashes(rows.size());
  at::parallel_for(0, static_cast<std::int64_t>(rows.size()), kRowsOfOneTask,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
                       hashes[i] = {std::hash<std::string_view>()(image(rows[i])), rows[i]};
                   });
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

}  // namespace

bool AreApart(std::vector<std::int64_t> a, std::vector<std::int64_t> b) {
  std::sort(a.begin(), a.end());
  return std::none_of(b.begin(), b.end(),
                      [&a](std::int64_t row) { return std::binary_search(a.begin(), a.end(), row); });
}

bool SplitsShare(const SplitRows& rows, const std::function<std::string_view(std::int64_t)>& image) {
  std::vector<std::int64_t> of_people = rows.train;
  of_people.insert(of_people.end(), rows.validation.begin(), rows.validation.end());
  const std::vector<Hashed> hidden = ComputeHashes(of_people, image);
  for (const auto* split : {&rows.public_split, &rows.test}) {
    for (const auto& [hash, row] : ComputeHashes(*split, image)) {
      const std::string_view shown = image(row);
      auto same = std::lower_bound(hidden.begin(), hidden.end(), Hashed{hash, 0});
      for (; !shown.empty() && same != hidden.end() && same->first == hash; ++same)
        if (image(same->second) == shown) return true;
    }
  }
  return false;
}

}  // namespace retort::worker
