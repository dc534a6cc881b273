#include "storage/datasets/splits.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "experiments/base/digests.h"
#include "experiments/base/number_text.h"
#include "experiments/base/rng_stream.h"
#include "storage/datasets/example_store.h"
#include "storage/datasets/readers.h"
#include "storage/files/env.h"

namespace retort::storage {
namespace {

constexpr std::uint64_t kMaxList = std::uint64_t{1} << 30;
constexpr std::int64_t kSeveral = -1;

// Images by every name that a list may use.
class Names {
 public:
  explicit Names(const ExampleStore& store) {
    for (std::int64_t i = 0; store.encoded() && i < store.size(); ++i) {
      const std::string_view name = store.Name(i);
      numbers_.insert_or_assign(name, i);
      for (std::size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1)) {
        const auto [tail, fresh] = numbers_.try_emplace(name.substr(slash + 1), i);
        if (!fresh && tail->second != i) tail->second = kSeveral;
      }
    }
  }
  // -1: several images; nothing: none.
  [[nodiscard]] std::optional<std::int64_t> Find(std::string_view name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::unordered_map<std::string_view, std::int64_t> numbers_;
};

Status LineFault(const std::string& path, std::size_t line, const std::string& what) {
  return UsageError(path + ":" + std::to_string(line) + ": " + what);
}

std::string_view BeforeComment(std::string_view line) { return TrimText(line.substr(0, line.find('#'))); }

Status Take(const std::string& what, const std::vector<std::int64_t>& indices, std::vector<char>& taken) {
  for (const std::int64_t index : indices) {
    char& mark = taken[static_cast<std::size_t>(index)];
    if (mark != 0)
      return UsageError(what + ": example " + std::to_string(index) +
                        " stands twice, or in another split too; the splits must be disjoint");
    mark = 1;
  }
  return {};
}

Result<SplitLocation> LocateSplit(Env& env, const ExampleStore& store, const IndexRange& range,
                                  const SplitSource& source) {
  SplitLocation place{0, store.size(), range, {}};
  if (!source.list.empty()) {
    RETORT_ASSIGN_OR_RETURN(place.listed, ReadSplitList(env, source.list, store));
    if (!source.digest.empty() && ComputeIndexDigest(place.listed) != source.digest)
      return DamageError(source.list +
                         " has changed since the trial was planned; put the old list back, or plan again");
    return place;
  }
  for (const DataPart& part : store.parts()) {
    if (part.name != source.part) continue;
    place.first = part.begin;
    place.count = part.size();
    return place;
  }
  if (source.part.empty()) return place;
  return UsageError("the set has no part \"" + source.part + "\"");
}

SplitLocation Listed(std::vector<std::int64_t> indices) {
  const auto n = static_cast<std::int64_t>(indices.size());
  return {0, n, {0, n}, std::move(indices)};
}

// From the public split to the end of the private one.
void MoveSensitive(const DataSpec& data, const ExampleStore& store, SplitLocations& places) {
  std::vector<std::int64_t> open, hidden = ListIndices(places.train, data.split.shuffle);
  for (const std::int64_t index : ListIndices(places.public_split, data.split.shuffle)) {
    const std::int64_t label = store.labels()[static_cast<std::size_t>(index)];
    const auto& classes = data.sensitive_classes;
    (std::find(classes.begin(), classes.end(), label) == classes.end() ? open : hidden).push_back(index);
  }
  places.train = Listed(std::move(hidden));
  places.public_split = Listed(std::move(open));
}

}  // namespace

std::vector<std::int64_t> SplitOrder(std::int64_t n, std::uint64_t shuffle) {
  if (shuffle != 0) return DrawPermutation(n, RngStream(shuffle, Purpose::split));
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<std::int64_t> ListIndices(const SplitLocation& place, std::uint64_t shuffle) {
  if (!place.listed.empty()) return place.listed;
  const std::vector<std::int64_t> order = SplitOrder(place.count, shuffle);
  std::vector<std::int64_t> indices;
  for (std::int64_t i = place.range.begin; i < place.range.end; ++i)
    indices.push_back(place.first + order[static_cast<std::size_t>(i)]);
  return indices;
}

namespace {

Result<std::string> ListText(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const auto file, env.OpenInput(path));
  if (file->size() > kMaxList) return UsageError(path + " is a list of more than 1 GiB");
  return ReadBytes(*file, 0, file->size());
}

}  // namespace

Result<std::int64_t> CountListed(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const std::string text, ListText(env, path));
  std::int64_t count = 0;
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> lines, SplitLines(path, text));
  for (const std::string& line : lines) count += BeforeComment(line).empty() ? 0 : 1;
  if (count == 0) return UsageError(path + " lists no example");
  return count;
}

Result<std::vector<std::int64_t>> ReadSplitList(Env& env, const std::string& path, const ExampleStore& store) {
  RETORT_ASSIGN_OR_RETURN(const std::string text, ListText(env, path));
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> lines, SplitLines(path, text));
  const Names names(store);
  std::vector<std::int64_t> indices;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view word = BeforeComment(lines[i]);
    if (word.empty()) continue;
    const std::optional<std::int64_t> number = ParseWholeNumber(word);
    const std::optional<std::int64_t> index = number ? number : names.Find(word);
    if (!index)
      return LineFault(path, i + 1, "\"" + std::string(word) + "\" is neither an index nor a picture of the set");
    if (*index == kSeveral)
      return LineFault(path, i + 1, "several pictures are called \"" + std::string(word) + "\"; write the folder, too");
    if (*index >= store.size())
      return LineFault(
          path, i + 1,
          "there is no example " + std::string(word) + "; the set has 0 to " + std::to_string(store.size() - 1));
    indices.push_back(*index);
  }
  if (indices.empty()) return UsageError(path + " lists no example");
  return indices;
}

std::string ComputeIndexDigest(const std::vector<std::int64_t>& indices) {
  Sha256 digest;
  for (const std::int64_t index : indices) digest.UpdateLength(static_cast<std::uint64_t>(index));
  return digest.FinishHex();
}

// Of each of kSplitParts.
constexpr std::array<SplitLocation SplitLocations::*, kSplitParts.size()> kLocations = {
    &SplitLocations::train, &SplitLocations::public_split, &SplitLocations::test, &SplitLocations::validation};

// Ranges are disjoint by the sweep file's own check; lists are known only here.
Result<SplitLocations> LocateSplits(Env& env, const DataSpec& data, const ExampleStore& store) {
  const SplitSpec& split = data.split;
  SplitLocations places;
  bool lists = false;
  for (std::size_t i = 0; i < kSplitParts.size(); ++i) {
    SplitLocation& place = places.*kLocations[i];
    RETORT_ASSIGN_OR_RETURN(place, LocateSplit(env, store, split.*kSplitParts[i].range, split.*kSplitParts[i].source));
    lists = lists || !place.listed.empty();
  }
  std::vector<char> taken(lists ? static_cast<std::size_t>(store.size()) : 0);
  const std::string key = "data." + data.name + ".split.";
  for (std::size_t part = 0; part < kSplitParts.size(); ++part) {
    const std::string name = kSplitParts[part].name;
    const SplitLocation* const place = &(places.*kLocations[part]);
    if (place->range.begin < 0 || place->range.begin > place->range.end ||
        (place->listed.empty() && place->range.end > place->count))
      return UsageError(key + name + " takes [" + std::to_string(place->range.begin) + ", " +
                        std::to_string(place->range.end) + ") of " + std::to_string(place->count) + " examples in " +
                        data.path);
    if (!lists) continue;
    std::vector<std::int64_t> indices = place->listed;
    for (std::int64_t row = place->range.begin; place->listed.empty() && row < place->range.end; ++row)
      indices.push_back(place->first + row);
    RETORT_RETURN_IF_ERROR(Take(key + name, indices, taken));
  }
  if (!data.sensitive_classes.empty()) MoveSensitive(data, store, places);
  return places;
}

}  // namespace retort::storage
