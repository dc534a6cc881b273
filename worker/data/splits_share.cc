#include "worker/data/splits_share.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace retort::worker {
namespace {

constexpr std::int64_t kAtOnce = 256;

using Hashed = std::pair<std::size_t, std::int64_t>;  // of the picture; its number

// Sorted.
std::vector<Hashed> HashesOf(const std::vector<std::int64_t>& rows,
                             const std::function<std::string_view(std::int64_t)>& picture) {
  std::vector<Hashed> hashes(rows.size());
  at::parallel_for(0, static_cast<std::int64_t>(rows.size()), kAtOnce, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      hashes[i] = {std::hash<std::string_view>()(picture(rows[i])), rows[i]};
  });
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

}  // namespace

bool SplitsShare(const SplitRows& rows, const std::function<std::string_view(std::int64_t)>& picture) {
  const std::vector<Hashed> hidden = HashesOf(rows.train, picture);
  for (const auto* split : {&rows.public_split, &rows.test}) {
    for (const auto& [hash, row] : HashesOf(*split, picture)) {
      const std::string_view shown = picture(row);
      auto same = std::lower_bound(hidden.begin(), hidden.end(), Hashed{hash, 0});
      for (; !shown.empty() && same != hidden.end() && same->first == hash; ++same)
        if (picture(same->second) == shown) return true;
    }
  }
  return false;
}

}  // namespace retort::worker
