#include "storage/datasets/mark_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include "experiments/base/digests.h"
#include "experiments/methods/spec_codec.h"
#include "storage/files/atomic_file.h"
#include "storage/files/env.h"
#include "storage/files/path_status.h"
#include "storage/formats/byte_codec.h"

namespace retort::storage {
namespace {

constexpr std::string_view kMagic = "RTMARKS\n";
constexpr std::uint32_t kVersion = 1;
constexpr std::string_view kEnding = ".marks";
constexpr std::uint64_t kMaxMarkBytes = std::uint64_t{2} << 30;
constexpr std::uint64_t kMaxKeyBytes = 4096;
constexpr int kTries = 100, kTriesOfOpening = 1200;
constexpr auto kPause = std::chrono::milliseconds(50);

std::string KeyPath(const std::string& root) { return GetMarksFolder(root) + "/key"; }

void PutMarks(ByteWriter& out, const std::vector<ExampleMark>& marks) {
  out.U64(marks.size());
  out.Raw({reinterpret_cast<const char*>(marks.data()), marks.size() * sizeof(ExampleMark)});
}

// Nothing where they are not sorted, or not there.
bool TakeMarks(ByteReader& reader, std::vector<ExampleMark>& marks) {
  const std::uint64_t count = reader.U64();
  if (count > kMaxMarkBytes / sizeof(ExampleMark)) return false;
  const std::string_view bytes = reader.Raw(count * sizeof(ExampleMark));
  if (!reader.ok()) return false;
  marks.resize(static_cast<std::size_t>(count));
  if (count > 0) std::memcpy(marks.data(), bytes.data(), bytes.size());
  return std::adjacent_find(marks.begin(), marks.end(), std::greater_equal<>()) == marks.end();
}

std::vector<ExampleMark> Marked(const MarkKey& key, const std::vector<ExampleDigest>& digests) {
  std::vector<ExampleMark> marks;
  marks.reserve(digests.size());
  for (const ExampleDigest& digest : digests) marks.push_back(key.ComputeMark(digest));
  std::sort(marks.begin(), marks.end());
  marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
  return marks;
}

// Another sweep of the root may be making its key just now.
Result<std::unique_ptr<FileLock>> LockIn(Env& env, const std::string& root, const char* name, int tries) {
  for (int tried = 1;; ++tried) {
    Result<std::unique_ptr<FileLock>> lock = env.Lock(GetMarksFolder(root) + "/" + name);
    if (lock.ok() || tried == tries) return lock;
    std::this_thread::sleep_for(kPause);
  }
}

Result<std::unique_ptr<FileLock>> LockMarks(Env& env, const std::string& root) {
  return LockIn(env, root, "lock", kTries);
}

// 0600 from the first byte on.
Status WriteSecret(Env& env, const std::string& path, const std::string& bytes) {
  return env.PublishFile(path, [&](const std::string& temporary) -> Status {
    const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return FileError(errno, "create", path);
    Status status =
        ::fchmod(file, 0600) == 0 ? WriteAll(file, bytes, path) : FileError(errno, "keep others from", path);
    if (::close(file) != 0 && status.ok()) status = FileError(errno, "write", path);
    return status;
  });
}

Result<MarkKey> ReadKey(Env& env, const std::string& root) {
  const Result<std::string> bytes = env.ReadSmallFile(KeyPath(root), kMaxKeyBytes);
  if (!bytes.ok())
    return EnvironmentError(
        "the key that tells private examples in " + root + " apart cannot be read (" + bytes.status().message() +
        "), so nobody can say what of them is spent: run as the user who made it, or give this sweep "
        "a folder in another results root with --results");
  return MarkKey::Parse(*bytes, KeyPath(root));
}

}  // namespace

std::string GetMarksFolder(const std::string& root) { return root + "/private-examples"; }

std::string SplitName(const DataSpec& data) {
  ByteWriter out;
  for (const std::string& text : {data.reader, data.target, data.version}) out.Text(text);
  out.U64(data.split.shuffle);
  for (const SplitPart& part : kSplitParts) {
    if (part.range == &SplitSpec::validation && data.ValidationExamples() == 0) continue;
    const IndexRange& range = data.split.*part.range;
    const SplitSource& source = data.split.*part.source;
    out.I64(range.begin);
    out.I64(range.end);
    out.Text(source.part);
    out.Text(source.digest);
  }
  for (const std::int64_t label : data.sensitive_classes) out.I64(label);
  return ComputeSha256Hex(out.bytes()).substr(0, 16);
}

DataMarks MakeMarks(const MarkKey& key, const std::string& unpacked, const DataSpec& data,
                    const SplitDigests& digests) {
  return {unpacked, SplitName(data), Marked(key, digests.hidden), Marked(key, digests.shown)};
}

std::int64_t CountShared(const std::vector<ExampleMark>& a, const std::vector<ExampleMark>& b) {
  std::int64_t shared = 0;
  for (auto i = a.begin(), k = b.begin(); i != a.end() && k != b.end();) {
    if (*i == *k) ++shared;
    *i < *k ? ++i : ++k;
  }
  return shared;
}

std::string EncodeMarks(const std::string& root, const DataMarks& marks) {
  ByteWriter out;
  out.Raw(kMagic);
  out.U32(kVersion);
  for (const std::string& text : {root, marks.data, marks.split}) out.Text(text);
  PutMarks(out, marks.hidden);
  PutMarks(out, marks.shown);
  const std::uint32_t crc = ComputeCrc32c(out.bytes());
  out.U32(crc);
  return std::move(out).Take();
}

Result<DataMarks> DecodeMarks(std::string_view bytes, const std::string& path, std::string& root) {
  DataMarks marks;
  const Status damaged = DamageError("'" + path +
                                     "' holds no whole marks of examples: bring it back from a copy; without "
                                     "one, remove it and run the sweeps of its data again, which makes it anew");
  if (bytes.size() < kMagic.size() + 8) return damaged;
  ByteReader reader(bytes);
  if (reader.Raw(kMagic.size()) != kMagic) return damaged;
  if (const std::uint32_t version = reader.U32(); version != kVersion)
    return UsageError("'" + path + "' has version " + std::to_string(version) + ", and this retort reads version " +
                      std::to_string(kVersion) + ": use the retort that wrote it");
  for (std::string* text : {&root, &marks.data, &marks.split}) *text = reader.Text();
  if (!TakeMarks(reader, marks.hidden) || !TakeMarks(reader, marks.shown)) return damaged;
  const std::uint32_t crc = reader.U32();
  if (!reader.ok() || !reader.AtEnd() || crc != ComputeCrc32c(bytes.substr(0, bytes.size() - 4))) return damaged;
  return marks;
}

Result<RootMarks> ReadMarks(Env& env, const std::string& root) {
  RootMarks marks;
  RETORT_ASSIGN_OR_RETURN(const bool there, PathExists(env, GetMarksFolder(root)));
  if (!there) return marks;
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string> names, env.List(GetMarksFolder(root)));
  for (const std::string& name : names) {
    if (!name.ends_with(kEnding)) continue;
    const std::string path = GetMarksFolder(root) + "/" + name;
    RETORT_ASSIGN_OR_RETURN(const std::string bytes, env.ReadSmallFile(path, kMaxMarkBytes));
    std::string made_in;
    RETORT_ASSIGN_OR_RETURN(DataMarks set, DecodeMarks(bytes, path, made_in));
    if (!marks.root.empty() && made_in != marks.root)
      return DamageError("'" + path +
                         "' was made with another key than its neighbours, so that nobody can say which "
                         "examples they share: it belongs to another results root; take it back there");
    marks.root = made_in;
    marks.sets.push_back(std::move(set));
  }
  return marks;
}

Result<std::optional<MarkKey>> FindMarkKey(Env& env, const std::string& root) {
  RETORT_ASSIGN_OR_RETURN(const RootMarks marks, ReadMarks(env, root));
  const std::string path = KeyPath(root);
  RETORT_ASSIGN_OR_RETURN(const bool there, PathExists(env, path));
  if (!there && marks.root.empty()) return std::optional<MarkKey>();
  if (!there)
    return EnvironmentError(
        "the key " + path +
        ", which tells private examples apart, is gone, so nobody can say which of "
        "them the sweeps beside it have spent: bring it back from a copy, or give this sweep a folder "
        "in another results root with --results");
  RETORT_ASSIGN_OR_RETURN(const MarkKey key, ReadKey(env, root));
  if (!marks.root.empty() && key.Name() != marks.root)
    return DamageError("the key " + path +
                       " is not the one that the marks beside it were made with: bring the right one "
                       "back from a copy");
  return std::optional(key);
}

Result<MarkKey> OpenMarkKey(Env& env, const std::string& root) {
  RETORT_RETURN_IF_ERROR(env.CreateDirectories(GetMarksFolder(root)));
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<FileLock> lock, LockMarks(env, root));
  RETORT_ASSIGN_OR_RETURN(const std::optional<MarkKey> known, FindMarkKey(env, root));
  if (known) return *known;
  const MarkKey drawn = MarkKey::Draw();
  RETORT_RETURN_IF_ERROR(WriteSecret(env, KeyPath(root), drawn.Bytes()));
  return drawn;
}

Result<std::unique_ptr<FileLock>> LockOpening(Env& env, const std::string& root) {
  return LockIn(env, root, "opening", kTriesOfOpening);
}

Status StoreMarks(Env& env, const std::string& root, const MarkKey& key, const DataMarks& marks) {
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<FileLock> lock, LockMarks(env, root));
  return env.WriteFileAtomically(GetMarksFolder(root) + "/" + marks.data + "-" + marks.split + std::string(kEnding),
                                 EncodeMarks(key.Name(), marks));
}

}  // namespace retort::storage
