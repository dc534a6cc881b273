// What a plan has to know of a data set: its digest, its shape, and what its split leaves open.
#include <cmath>
#include <utility>

#include "storage/data/example_store.h"
#include "storage/data/split_lists.h"
#include "storage/idx_file.h"
#include "storage/presence.h"

namespace retort::storage {
namespace {

struct Share {
  const char* name;
  IndexRange& range;
  SplitSource& source;
};

std::string KeyOf(const DataSpec& data, const Share& share) {
  return "data." + data.name + ".split." + share.name;
}

Status ResolvePart(const DataSpec& data, const ExampleStore& store, Share& share) {
  std::string names;
  for (const DataPart& part : store.parts()) {
    names += (names.empty() ? "" : ", ") + part.name;
    if (part.name != share.source.part) continue;
    if (share.source.open_end) share.range.end = part.size();
    if (share.range.end <= part.size() && share.range.begin < share.range.end) return {};
    return UsageError(KeyOf(data, share) + " takes [" + std::to_string(share.range.begin) + ":" +
                      std::to_string(share.range.end) + "] of part \"" + part.name + "\", which holds " +
                      std::to_string(part.size()) + " examples in " + data.path);
  }
  return UsageError(KeyOf(data, share) + ": " + data.path + " has no part \"" + share.source.part +
                    "\"; it has " + (names.empty() ? "none" : names));
}

Status ResolveSplit(Env& env, DataSpec& data, const ExampleStore& store) {
  SplitSpec& split = data.split;
  Share shares[] = {{"train", split.train, split.train_source},
                    {"public", split.public_range, split.public_source},
                    {"test", split.test, split.test_source}};
  double sum = 0;
  for (Share& share : shares) {
    if (share.source.fraction > 0) {
      const double n = static_cast<double>(store.size());
      share.range.begin = static_cast<std::int64_t>(std::floor(sum * n + 1e-6));
      sum += share.source.fraction;
      share.range.end = static_cast<std::int64_t>(std::floor(sum * n + 1e-6));
      if (share.range.size() == 0)
        return UsageError(KeyOf(data, share) + " holds no example: it is a fraction of " +
                          std::to_string(store.size()));
    } else if (!share.source.part.empty()) {
      RETORT_RETURN_IF_ERROR(ResolvePart(data, store, share));
    } else if (!share.source.list.empty()) {
      const auto indices = ReadSplitList(env, share.source.list, store);
      if (!indices.ok())
        return Status(indices.status().code(), KeyOf(data, share) + ": " + indices.status().message());
      share.source.digest = DigestOfIndices(*indices);
      share.range = {0, static_cast<std::int64_t>(indices->size())};
    }
  }
  return {};
}

// A set whose lists are not there has no split that anybody could plan with.
Status CheckLists(Env& env, DataSpec& data) {
  SplitSpec& split = data.split;
  const Share shares[] = {{"train", split.train, split.train_source},
                          {"public", split.public_range, split.public_source},
                          {"test", split.test, split.test_source}};
  for (const Share& share : shares) {
    if (share.source.list.empty()) continue;
    RETORT_ASSIGN_OR_RETURN(const bool there, IsThere(env, share.source.list));
    if (!there)
      return UsageError(KeyOf(data, share) + ": the list '" + share.source.list +
                        "' is not there: write it, an index or a picture's name a line, or name another");
    RETORT_RETURN_IF_ERROR(env.OpenInput(share.source.list).status());
  }
  return {};
}

bool IsPlain(const SplitSpec& split) {
  return split.train_source == SplitSource() && split.public_source == SplitSource() &&
         split.test_source == SplitSource();
}

}  // namespace

Status InspectData(Env& env, DataSpec& data, const DigestCache& cache, DataNotes* notes) {
  const bool plain = IsPlain(data.split) && data.sensitive_classes.empty();
  if (data.reader == "idx" && plain) return InspectIdx(env, data);
  RETORT_RETURN_IF_ERROR(CheckLists(env, data));
  RETORT_ASSIGN_OR_RETURN(const auto store, OpenExamples(env, data));
  RETORT_ASSIGN_OR_RETURN(DataDigests digests, DigestsOf(env, data, *store, cache));
  data.digest = std::move(digests.content);
  data.examples = store->size();
  data.channels = store->channels();
  data.classes = store->classes();
  if (notes != nullptr) *notes = {store->class_names(), store->set().warnings};
  if (!store->encoded() || data.height == 0) {
    data.height = store->height();
    data.width = store->width();
  }
  if (plain) return {};
  RETORT_RETURN_IF_ERROR(ResolveSplit(env, data, *store));
  RETORT_ASSIGN_OR_RETURN(const SplitPlaces places, PlacesOf(env, data, *store));
  data.moved = data.split.public_range.size() - places.public_split.range.size();
  return {};
}

Result<std::string> UnpackedDigest(Env& env, const DataSpec& data, const DigestCache& cache) {
  if (data.reader == "idx") return UnpackedDigest(env, data);
  RETORT_ASSIGN_OR_RETURN(const auto store, OpenExamples(env, data));
  RETORT_ASSIGN_OR_RETURN(DataDigests digests, DigestsOf(env, data, *store, cache));
  return std::move(digests.examples);
}

}  // namespace retort::storage
