#include "worker/data/shared_pictures.h"

#include <ATen/ops/full.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace retort::worker {
namespace {

// Calls visit(row, the bytes of its values) until that is false.
template <typename Visit>
void EachPicture(const Examples& examples, const Visit& visit) {
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

bool IsMissing(std::string_view picture) {
  float value = 0;
  std::memcpy(&value, picture.data(), sizeof(value));
  return value != value;
}

std::string FileIn(const Examples& examples, std::int64_t row) {
  const std::string where = examples.FileOf(row);
  return where.empty() ? where : " ('" + where + "')";
}

// `why` a picture of `open`, the split of that name, must not be private.
Status RequireNoneOf(const Examples& hidden, const Examples& open, const std::string& name, const std::string& why) {
  const std::optional<SharedPicture> shared = FirstShared(hidden, open);
  if (!shared) return {};
  return EnvironmentError("Picture " + std::to_string(shared->b) + " of the " + name + " split" + FileIn(open, shared->b) +
                          " is picture " + std::to_string(shared->a) + " of the private one" + FileIn(hidden, shared->a) +
                          ": " + why + " Take it out of one of them, by a list of the pictures of each split.");
}

}  // namespace

std::optional<SharedPicture> FirstShared(const Examples& a, const Examples& b) {
  std::unordered_multimap<std::size_t, std::int64_t> rows;
  EachPicture(a, [&rows](std::int64_t row, std::string_view picture) {
    if (!IsMissing(picture)) rows.emplace(std::hash<std::string_view>()(picture), row);
    return true;
  });
  std::optional<SharedPicture> shared;
  EachPicture(b, [&](std::int64_t row, std::string_view picture) {
    const auto [first, last] = rows.equal_range(std::hash<std::string_view>()(picture));
    for (auto other = first; other != last && !shared; ++other) {
      EachPicture(a.Rows(at::full({1}, other->second, at::kLong)), [&](std::int64_t, std::string_view same) {
        if (same == picture) shared = {other->second, row};
        return true;
      });
    }
    return !shared;
  });
  return shared;
}

Status RequireApart(const Dataset& data) {
  return RequireNoneOf(data.train, data.public_split, "public", "a public picture must be nobody's.");
}

Status RequireTestApart(const Dataset& data) {
  return RequireNoneOf(data.train, data.test, "test", "what is measured on it would be of a private example, without a charge.");
}

}  // namespace retort::worker
