#include "storage/datasets/data_inspection.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "experiments/base/digests.h"
#include "experiments/base/environment.h"
#include "experiments/methods/spec_codec.h"
#include "storage/datasets/idx_file.h"
#include "storage/datasets/splits.h"
#include "storage/files/path_status.h"

namespace retort::storage {
namespace {

constexpr std::string_view kCacheHead = "retort-digests-1 ";
constexpr unsigned kMaxThreads = 8;

void Text(Sha256& digest, std::string_view text) {
  digest.UpdateLength(text.size());
  digest.Update(text);
}

std::string ComputePixelsDigest(const ExampleStore& store) {
  Sha256 digest;
  Text(digest, "retort-pixels-1");
  for (const std::int64_t extent : {store.size(), store.channels(), store.height(), store.width()})
    digest.UpdateLength(static_cast<std::uint64_t>(extent));
  const std::vector<std::uint8_t>& pixels = store.pixels();
  digest.Update({reinterpret_cast<const char*>(pixels.data()), pixels.size()});
  return digest.FinishHex();
}

// Of every image, in the order of `files`; reads several at once, and tells of it on the calling thread, in the
// end of all of them, however few were read there.
Result<std::vector<std::string>> ComputeFileDigests(const FileTree& tree, const std::vector<const TreeFile*>& files,
                                                    const DigestProgress& progress) {
  std::vector<std::string> digests(files.size());
  const auto count = static_cast<std::int64_t>(files.size());
  std::int64_t told = 0;
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  Status failure;
  std::atomic<bool> failed{false};
  const auto fail = [&](const Status& why) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!failed.exchange(true)) failure = why;
  };
  const auto work = [&](const DigestProgress& tell) {
    for (std::size_t i = next++; i < files.size() && !failed; i = next++) {
      const Result<std::string> bytes = tree.Read(*files[i]);
      if (!bytes.ok()) return fail(bytes.status());
      digests[i] = ComputeSha256Hex(*bytes);
      if (!tell) continue;
      const Status status = tell(told = static_cast<std::int64_t>(i) + 1, count);
      if (!status.ok()) return fail(status);
    }
  };
  std::vector<std::thread> threads;
  const unsigned wanted = std::min(kMaxThreads, std::max(1U, std::thread::hardware_concurrency()));
  for (unsigned i = 1; i < wanted && i < files.size(); ++i) threads.emplace_back(work, nullptr);
  work(progress);
  for (std::thread& thread : threads) thread.join();
  if (!failure.ok()) return failure;
  if (progress && told != count) RETORT_RETURN_IF_ERROR(progress(count, count));
  return digests;
}

// How many letters of all names are the same folders, which depend on how the set was packed.
std::size_t CommonFolder(const std::vector<const TreeFile*>& files) {
  const std::string& first = files.front()->name;
  const std::string& last = files.back()->name;  // sorted: what these two share, all do
  std::size_t same = 0;
  while (same < first.size() && same < last.size() && first[same] == last[same]) ++same;
  const std::size_t slash = first.rfind('/', same == 0 ? 0 : same - 1);
  return slash == std::string::npos || slash >= same ? 0 : slash + 1;
}

Result<std::string> ComputeImagesDigest(const ExampleSet& set, const DigestProgress& progress) {
  std::vector<const TreeFile*> files;
  for (const auto* list : {&set.pictures, &set.left_out})
    for (const TreeFile& file : *list) files.push_back(&file);
  std::sort(files.begin(), files.end(), [](const TreeFile* a, const TreeFile* b) { return a->name < b->name; });
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> digests, ComputeFileDigests(*set.files, files, progress));
  const std::size_t common = CommonFolder(files);
  Sha256 digest;
  Text(digest, "retort-pictures-1");
  for (std::size_t i = 0; i < files.size(); ++i) {
    Text(digest, std::string_view(files[i]->name).substr(common));
    Text(digest, digests[i]);
  }
  return digest.FinishHex();
}

// The examples, then which is which.
std::string ComputeContentDigest(const std::string& examples, const ExampleSet& set) {
  Sha256 digest;
  Text(digest, "retort-data-1");
  Text(digest, examples);
  digest.UpdateLength(static_cast<std::uint64_t>(set.classes));
  std::string labels;
  for (const std::int64_t label : set.labels)
    for (int shift = 0; shift < 32; shift += 8) labels += static_cast<char>((label >> shift) & 255);
  Text(digest, labels);
  for (const DataPart& part : set.parts) {
    Text(digest, part.name);
    digest.UpdateLength(static_cast<std::uint64_t>(part.end));
  }
  return digest.FinishHex();
}

// Of the cache's entry for this state of these files; empty when there can be none.
std::string CachePath(const DataSpec& data, const ExampleStore& store, const DigestCache& cache) {
  if (cache.folder.empty() || !store.encoded()) return "";
  const std::string stamp = store.set().files->Stamp();
  if (stamp.empty()) return "";
  Sha256 digest;
  for (const std::string& text : {data.path, data.reader, data.target, data.version, stamp}) Text(digest, text);
  for (const auto* list : {&store.set().pictures, &store.set().left_out}) {
    digest.UpdateLength(list->size());
    for (const TreeFile& image : *list) Text(digest, image.name);
  }
  Text(digest, ComputeContentDigest("", store.set()));  // how this program numbers and parts them
  return cache.folder + "/" + digest.FinishHex();
}

// "retort-digests-1 CONTENT EXAMPLES CHECK\n", where CHECK is the digest of what stands before it.
std::string EntryText(const DataDigests& digests) {
  const std::string text = std::string(kCacheHead) + digests.content + " " + digests.examples + " ";
  return text + ComputeSha256Hex(text) + "\n";
}

std::optional<DataDigests> ReadEntry(Env& env, const std::string& path) {
  if (path.empty() || !env.Exists(path)) return std::nullopt;
  const Result<std::string> text = env.ReadSmallFile(path, 4096);
  if (!text.ok() || text->size() != kCacheHead.size() + 3 * 65) return std::nullopt;
  DataDigests digests{text->substr(kCacheHead.size(), 64), text->substr(kCacheHead.size() + 65, 64)};
  if (*text != EntryText(digests)) return std::nullopt;  // damaged: counted anew
  return digests;
}

// A cache that cannot be written costs time and nothing else.
void WriteEntry(Env& env, const std::string& folder, const std::string& path, const DataDigests& digests) {
  if (path.empty() || !env.CreateDirectories(folder).ok()) return;
  (void)env.WriteFileAtomically(path, EntryText(digests)).ok();
}

}  // namespace

Result<DataDigests> ComputeDataDigests(Env& env, const DataSpec& data, const ExampleStore& store,
                                       const DigestCache& cache, const DigestProgress& progress) {
  if (data.reader == "idx") {
    DataSpec inspected = data;
    RETORT_RETURN_IF_ERROR(InspectIdx(env, inspected));
    RETORT_ASSIGN_OR_RETURN(std::string unpacked, ComputeUnpackedDigest(env, inspected));
    return DataDigests{inspected.digest, std::move(unpacked)};
  }
  const std::string path = CachePath(data, store, cache);
  if (cache.read)
    if (auto known = ReadEntry(env, path)) return *std::move(known);
  DataDigests digests;
  if (store.encoded()) {
    RETORT_ASSIGN_OR_RETURN(digests.examples, ComputeImagesDigest(store.set(), progress));
  } else {
    digests.examples = ComputePixelsDigest(store);
  }
  digests.content = ComputeContentDigest(digests.examples, store.set());
  WriteEntry(env, cache.folder, path, digests);
  return digests;
}

Status CheckUnchanged(Env& env, const DataSpec& data, const ExampleStore& store, const DigestCache& cache,
                      const DigestProgress& progress) {
  if (data.digest.empty() || data.reader == "idx") return {};  // those were compared as they were read
  RETORT_ASSIGN_OR_RETURN(const DataDigests found, ComputeDataDigests(env, data, store, cache, progress));
  if (found.content == data.digest) return {};
  return DamageError("data." + data.name + ": the files in " + data.path +
                     " have changed since the trial was planned (digest " + found.content + ", planned " + data.digest +
                     "); put the old files back, or plan again");
}

// What a plan has to know of a data set: its digest, its shape, and what its split leaves open.
namespace {

struct Share {
  const char* name;
  IndexRange& range;
  SplitSource& source;
};

std::string SplitKey(const DataSpec& data, const std::string& part) { return "data." + data.name + ".split." + part; }

Status ResolvePart(const DataSpec& data, const ExampleStore& store, Share& share) {
  std::string names;
  for (const DataPart& part : store.parts()) {
    names += (names.empty() ? "" : ", ") + part.name;
    if (part.name != share.source.part) continue;
    if (share.source.open_end) share.range.end = part.size();
    if (share.range.end <= part.size() && share.range.begin < share.range.end) return {};
    return UsageError(SplitKey(data, share.name) + " takes [" + std::to_string(share.range.begin) + ":" +
                      std::to_string(share.range.end) + "] of part \"" + part.name + "\", which holds " +
                      std::to_string(part.size()) + " examples in " + data.path);
  }
  return UsageError(SplitKey(data, share.name) + ": " + data.path + " has no part \"" + share.source.part +
                    "\"; it has " + (names.empty() ? "none" : names));
}

Status ResolveSplit(Env& env, DataSpec& data, const ExampleStore& store) {
  SplitSpec& split = data.split;
  double sum = 0;
  for (const SplitPart& part : kSplitParts) {
    Share share{part.name, split.*part.range, split.*part.source};
    if (share.source.fraction > 0) {
      const double n = static_cast<double>(store.size());
      share.range.begin = static_cast<std::int64_t>(std::floor(sum * n + 1e-6));
      sum += share.source.fraction;
      share.range.end = static_cast<std::int64_t>(std::floor(sum * n + 1e-6));
      if (share.range.size() == 0)
        return UsageError(SplitKey(data, share.name) + " holds no example: it is a fraction of " +
                          std::to_string(store.size()));
    } else if (!share.source.part.empty()) {
      RETORT_RETURN_IF_ERROR(ResolvePart(data, store, share));
    } else if (!share.source.list.empty()) {
      const auto indices = ReadSplitList(env, share.source.list, store);
      if (!indices.ok())
        return Status(indices.status().code(), SplitKey(data, share.name) + ": " + indices.status().message());
      share.source.digest = ComputeIndexDigest(*indices);
      share.range = {0, static_cast<std::int64_t>(indices->size())};
    }
  }
  return {};
}

// A set whose lists are not there has no split that anybody could plan with.
Status CheckLists(Env& env, const DataSpec& data) {
  for (const SplitPart& part : kSplitParts) {
    const std::string& list = (data.split.*part.source).list;
    if (list.empty()) continue;
    RETORT_ASSIGN_OR_RETURN(const bool there, PathExists(env, list));
    if (!there)
      return UsageError(SplitKey(data, part.name) + ": the list '" + list +
                        "' is not there: write it, an index or a picture's name a line, or name another");
    RETORT_RETURN_IF_ERROR(env.OpenInput(list).status());
  }
  return {};
}

bool IsPlain(const SplitSpec& split) {
  return std::ranges::all_of(kSplitParts, [&](const SplitPart& part) { return split.*part.source == SplitSource(); });
}

}  // namespace

Status InspectData(Env& env, DataSpec& data, const DigestCache& cache, DataNotes* notes) {
  const bool plain = IsPlain(data.split) && data.sensitive_classes.empty();
  if (data.reader == "idx" && plain) return InspectIdx(env, data);
  RETORT_RETURN_IF_ERROR(CheckLists(env, data));
  RETORT_ASSIGN_OR_RETURN(const auto store, OpenExamples(env, data));
  RETORT_ASSIGN_OR_RETURN(DataDigests digests, ComputeDataDigests(env, data, *store, cache));
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
  RETORT_ASSIGN_OR_RETURN(const SplitLocations places, LocateSplits(env, data, *store));
  data.moved = data.split.public_range.size() - places.public_split.range.size();
  return {};
}

DigestCache FindDigestCache() {
  const std::string caches = FindCacheFolder();
  return {caches.empty() ? "" : caches + "/data"};
}

Result<std::string> ComputeUnpackedDigest(Env& env, const DataSpec& data, const DigestCache& cache) {
  if (data.reader == "idx") return ComputeUnpackedDigest(env, data);
  RETORT_ASSIGN_OR_RETURN(const auto store, OpenExamples(env, data));
  RETORT_ASSIGN_OR_RETURN(DataDigests digests, ComputeDataDigests(env, data, *store, cache));
  return std::move(digests.examples);
}

}  // namespace retort::storage
