// What names a data set, and the cache of it.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "experiments/spec/sha256.h"
#include "experiments/spec/spec_codec.h"
#include "storage/data/example_store.h"
#include "storage/idx_file.h"

namespace retort::storage {
namespace {

constexpr std::string_view kCacheHead = "retort-digests-1 ";
constexpr unsigned kMostThreads = 8;

void Text(Sha256& digest, std::string_view text) {
  digest.UpdateLength(text.size());
  digest.Update(text);
}

std::string PixelDigest(const ExampleStore& store) {
  Sha256 digest;
  Text(digest, "retort-pixels-1");
  for (const std::int64_t extent : {store.size(), store.channels(), store.height(), store.width()})
    digest.UpdateLength(static_cast<std::uint64_t>(extent));
  const std::vector<std::uint8_t>& pixels = store.pixels();
  digest.Update({reinterpret_cast<const char*>(pixels.data()), pixels.size()});
  return digest.FinishHex();
}

// Of every picture, in the order of `files`; reads several at once, and tells of it on the calling thread, in the
// end of all of them, however few were read there.
Result<std::vector<std::string>> FileDigests(const FileTree& tree, const std::vector<const TreeFile*>& files,
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
      digests[i] = Sha256Hex(*bytes);
      if (!tell) continue;
      const Status status = tell(told = static_cast<std::int64_t>(i) + 1, count);
      if (!status.ok()) return fail(status);
    }
  };
  std::vector<std::thread> threads;
  const unsigned wanted = std::min(kMostThreads, std::max(1U, std::thread::hardware_concurrency()));
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

Result<std::string> PictureDigest(const ExampleSet& set, const DigestProgress& progress) {
  std::vector<const TreeFile*> files;
  for (const auto* list : {&set.pictures, &set.left_out})
    for (const TreeFile& file : *list) files.push_back(&file);
  std::sort(files.begin(), files.end(),
            [](const TreeFile* a, const TreeFile* b) { return a->name < b->name; });
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> digests, FileDigests(*set.files, files, progress));
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
std::string ContentDigest(const std::string& examples, const ExampleSet& set) {
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
  for (const std::string& text : {data.path, data.reader, data.target, data.version, stamp})
    Text(digest, text);
  for (const auto* list : {&store.set().pictures, &store.set().left_out}) {
    digest.UpdateLength(list->size());
    for (const TreeFile& picture : *list) Text(digest, picture.name);
  }
  Text(digest, ContentDigest("", store.set()));  // how this program numbers and parts them
  return cache.folder + "/" + digest.FinishHex();
}

// "retort-digests-1 CONTENT EXAMPLES CHECK\n", where CHECK is the digest of what stands before it.
std::string EntryText(const DataDigests& digests) {
  const std::string text = std::string(kCacheHead) + digests.content + " " + digests.examples + " ";
  return text + Sha256Hex(text) + "\n";
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

Result<DataDigests> DigestsOf(Env& env, const DataSpec& data, const ExampleStore& store,
                              const DigestCache& cache, const DigestProgress& progress) {
  if (data.reader == "idx") {
    DataSpec inspected = data;
    RETORT_RETURN_IF_ERROR(InspectIdx(env, inspected));
    RETORT_ASSIGN_OR_RETURN(std::string unpacked, UnpackedDigest(env, inspected));
    return DataDigests{inspected.digest, std::move(unpacked)};
  }
  const std::string path = CachePath(data, store, cache);
  if (cache.read)
    if (auto known = ReadEntry(env, path)) return *std::move(known);
  DataDigests digests;
  if (store.encoded()) {
    RETORT_ASSIGN_OR_RETURN(digests.examples, PictureDigest(store.set(), progress));
  } else {
    digests.examples = PixelDigest(store);
  }
  digests.content = ContentDigest(digests.examples, store.set());
  WriteEntry(env, cache.folder, path, digests);
  return digests;
}

Status CheckUnchanged(Env& env, const DataSpec& data, const ExampleStore& store, const DigestCache& cache,
                      const DigestProgress& progress) {
  if (data.digest.empty() || data.reader == "idx") return {};  // those were compared as they were read
  RETORT_ASSIGN_OR_RETURN(const DataDigests found, DigestsOf(env, data, store, cache, progress));
  if (found.content == data.digest) return {};
  return DamageError("data." + data.name + ": the files in " + data.path +
                     " have changed since the trial was planned (digest " + found.content + ", planned " +
                     data.digest + "); put the old files back, or plan again");
}

}  // namespace retort::storage
