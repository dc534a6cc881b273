#include "storage/datasets/idx_file.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "experiments/base/digests.h"
#include "storage/files/path_status.h"
#include "storage/files/read_limits.h"
#include "storage/formats/byte_codec.h"
#include "storage/formats/deflate.h"

namespace retort::storage {
namespace {

constexpr std::uint32_t kImageMagic = 0x00000803;  // unsigned bytes, 3 dimensions
constexpr std::uint32_t kLabelMagic = 0x00000801;  // unsigned bytes, 1 dimension
constexpr std::size_t kImageHeader = 16, kLabelHeader = 8;
constexpr std::uint64_t kMaxBytes = std::uint64_t{16} << 30;

bool IsGzip(const std::string& file) { return file.ends_with(".gz"); }

Status Damaged(const std::string& file, const std::string& what) {
  return DamageError(file + ": " + what + "; fetch the file again");
}

// At most `limit` bytes of a gzip stream's contents, of which room is made for `expected`. `complete` when its end was
// reached and its checksum held.
template <class Bytes>
Result<Bytes> Inflate(const std::string& file, std::string_view bytes, std::size_t limit, std::size_t expected,
                      bool& complete) {
  Inflater inflater(DeflateWrapping::gzip);
  RETORT_RETURN_IF_ERROR(inflater.ready());
  Bytes out;
  out.reserve(expected);
  std::array<char, 1 << 16> buffer{};
  std::size_t given = 0;
  Inflater::State state = Inflater::State::more;
  while (state == Inflater::State::more && out.size() < limit) {
    if (inflater.unread() == 0) {
      const std::size_t piece = std::min<std::size_t>(bytes.size() - given, 1U << 30);
      inflater.Feed(bytes.substr(given, piece));
      given += piece;
    }
    std::size_t made = 0;
    state = inflater.Next(buffer.data(), std::min(buffer.size(), limit - out.size()), made);
    out.insert(out.end(), buffer.data(), buffer.data() + made);
  }
  const bool rest = inflater.unread() > 0 || given < bytes.size();
  if (state == Inflater::State::starved) return Damaged(file, "truncated inside its gzip stream");
  if (state == Inflater::State::broken) return Damaged(file, "not a sound gzip file");
  complete = state == Inflater::State::ended;
  if (complete && rest) return Damaged(file, "has bytes behind its gzip stream");
  return out;
}

std::uint32_t BigEndian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = (value << 8) | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

struct IdxHeader {
  std::int64_t count = 0, height = 0, width = 0;
  std::uint64_t payload = 0;
};

Result<IdxHeader> ParseHeader(const std::string& file, std::string_view contents, bool images) {
  const std::size_t size = images ? kImageHeader : kLabelHeader;
  const std::uint32_t expected = images ? kImageMagic : kLabelMagic;
  if (contents.size() < 4) return Damaged(file, "truncated inside its header");
  const std::uint32_t magic = BigEndian(contents, 0);
  if (magic != expected) {
    return Damaged(file, "starts with 0x" + FormatHex(contents.substr(0, 4)) + ", and an IDX file of " +
                             (images ? "images" : "labels") + " starts with " + (images ? "0x00000803" : "0x00000801"));
  }
  if (contents.size() < size) return Damaged(file, "truncated inside its header");
  IdxHeader header;
  header.count = BigEndian(contents, 4);
  header.height = images ? BigEndian(contents, 8) : 1;
  header.width = images ? BigEndian(contents, 12) : 1;
  if (header.count == 0 || header.height == 0 || header.width == 0) return Damaged(file, "holds no example");
  if (header.height > 65535 || header.width > 65535)
    return Damaged(file, "says its images are larger than 65535 pixels");
  header.payload = static_cast<std::uint64_t>(header.count) * static_cast<std::uint64_t>(header.height) *
                   static_cast<std::uint64_t>(header.width);
  if (header.payload > kMaxBytes) return Damaged(file, "says it holds more than 16 GiB");
  return header;
}

Status CheckSize(const std::string& file, const IdxHeader& header, std::uint64_t expected, std::uint64_t found) {
  if (found == expected) return {};
  const std::string sizes = std::to_string(found) + " bytes where its header of " + std::to_string(header.count) +
                            " examples makes " + std::to_string(expected);
  return Damaged(file, (found < expected ? "truncated: " : "has trailing bytes: ") + sizes);
}

struct Contents {
  IdxHeader header;
  std::vector<std::uint8_t> bytes;  // behind the header
};

// The header of a gzipped file, which says no more than its packed bytes are unpacked to.
Result<IdxHeader> PeekPacked(const std::string& file, std::string_view packed, bool images) {
  const std::size_t head = images ? kImageHeader : kLabelHeader;
  bool complete = false;
  RETORT_ASSIGN_OR_RETURN(const auto first, Inflate<std::string>(file, packed, head, head, complete));
  RETORT_ASSIGN_OR_RETURN(IdxHeader header, ParseHeader(file, first, images));
  RETORT_RETURN_IF_ERROR(CheckUnpackedSize(file, head + header.payload, packed.size()));
  return header;
}

// As many bytes as its header makes are unpacked, and one, which would be too many.
Result<Contents> ParsePacked(const std::string& file, std::string_view packed, bool images) {
  const std::size_t head = images ? kImageHeader : kLabelHeader;
  RETORT_ASSIGN_OR_RETURN(const IdxHeader header, PeekPacked(file, packed, images));
  const std::uint64_t all = head + header.payload;
  bool complete = false;
  RETORT_ASSIGN_OR_RETURN(auto bytes, Inflate<std::vector<std::uint8_t>>(file, packed, all + 1, all + 1, complete));
  if (bytes.size() > all)
    return Damaged(file, "has trailing bytes: more than the " + std::to_string(all) + " that its header of " +
                             std::to_string(header.count) + " examples makes");
  RETORT_RETURN_IF_ERROR(CheckSize(file, header, all, bytes.size()));
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(head));
  return Contents{header, std::move(bytes)};
}

Result<Contents> ParseContents(const std::string& file, std::string_view stored, bool images) {
  if (IsGzip(file)) return ParsePacked(file, stored, images);
  RETORT_ASSIGN_OR_RETURN(const IdxHeader header, ParseHeader(file, stored, images));
  const std::size_t head = images ? kImageHeader : kLabelHeader;
  RETORT_RETURN_IF_ERROR(CheckSize(file, header, head + header.payload, stored.size()));
  return Contents{header, {stored.begin() + head, stored.end()}};
}

// The header alone; the size of the contents by the file's size or the gzip trailer (modulo 2^32).
Result<IdxHeader> PeekImages(const std::string& file, std::string_view stored) {
  if (!IsGzip(file)) {
    RETORT_ASSIGN_OR_RETURN(const IdxHeader header, ParseHeader(file, stored, true));
    RETORT_RETURN_IF_ERROR(CheckSize(file, header, kImageHeader + header.payload, stored.size()));
    return header;
  }
  RETORT_ASSIGN_OR_RETURN(const IdxHeader header, PeekPacked(file, stored, true));
  std::uint32_t trailer = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    trailer |= std::uint32_t{static_cast<unsigned char>(stored[stored.size() - 4 + i])} << (8 * i);
  }
  if (trailer != static_cast<std::uint32_t>(kImageHeader + header.payload)) {
    return Damaged(file, "truncated or with trailing bytes: its gzip trailer says " + std::to_string(trailer) +
                             " bytes where its header of " + std::to_string(header.count) + " examples makes " +
                             std::to_string(kImageHeader + header.payload));
  }
  return header;
}

struct StoredFile {
  std::string path;
  std::string bytes;
};
struct StoredPair {
  StoredFile images, labels;
};

// Empty when neither the plain nor the gzipped file exists.
Result<std::string> FindFile(Env& env, const std::string& folder, const std::string& name) {
  for (const char* suffix : {"", ".gz"}) {
    std::string path = folder + "/" + name + suffix;
    RETORT_ASSIGN_OR_RETURN(const bool there, PathExists(env, path));
    if (there) return path;
  }
  return std::string();
}

bool HoldsNothing(const StoredPair& pair) {
  const auto is_bare = [](const std::string& bytes, std::uint32_t magic, std::size_t header) {
    return bytes.size() == header && BigEndian(bytes, 0) == magic && BigEndian(bytes, 4) == 0;
  };
  return is_bare(pair.images.bytes, kImageMagic, kImageHeader) && is_bare(pair.labels.bytes, kLabelMagic, kLabelHeader);
}

Result<std::vector<StoredPair>> ReadPairs(Env& env, const DataSpec& data) {
  RETORT_ASSIGN_OR_RETURN(const bool there, PathExists(env, data.path));
  if (!there) {
    return EnvironmentError("data." + data.name + ": the folder " + data.path +
                            " does not exist; put the IDX files there, or set the path to where they are");
  }
  std::vector<StoredPair> pairs;
  for (const std::string part : {"train", "t10k"}) {
    RETORT_ASSIGN_OR_RETURN(std::string images, FindFile(env, data.path, part + "-images-idx3-ubyte"));
    RETORT_ASSIGN_OR_RETURN(std::string labels, FindFile(env, data.path, part + "-labels-idx1-ubyte"));
    if (images.empty() && labels.empty()) continue;
    if (images.empty() || labels.empty()) {
      const std::string missing = part + (images.empty() ? "-images-idx3-ubyte" : "-labels-idx1-ubyte");
      return EnvironmentError("data." + data.name + ": " + (images.empty() ? labels : images) +
                              " is there, but the file that goes with it is missing: " + data.path + "/" + missing +
                              " or " + missing + ".gz");
    }
    StoredPair pair;
    RETORT_ASSIGN_OR_RETURN(pair.images.bytes, env.ReadFile(images));
    RETORT_ASSIGN_OR_RETURN(pair.labels.bytes, env.ReadFile(labels));
    pair.images.path = std::move(images);
    pair.labels.path = std::move(labels);
    pairs.push_back(std::move(pair));
  }
  if (pairs.size() == 2 && HoldsNothing(pairs.back())) pairs.pop_back();
  if (pairs.empty()) {
    return EnvironmentError("data." + data.name + ": " + data.path +
                            " holds no IDX files; expected train-images-idx3-ubyte and train-labels-idx1-ubyte, or "
                            "t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, plain or with .gz");
  }
  return pairs;
}

std::string ComputePairsDigest(const std::vector<StoredPair>& pairs) {
  Sha256 digest;
  for (const StoredPair& pair : pairs) {
    for (const StoredFile* file : {&pair.images, &pair.labels}) {
      digest.UpdateLength(file->bytes.size());
      digest.Update(file->bytes);
    }
  }
  return digest.FinishHex();
}

Status CheckLabels(const std::string& file, const std::vector<std::uint8_t>& labels, std::int64_t images_found,
                   const std::string& images_file, std::int64_t classes) {
  if (static_cast<std::int64_t>(labels.size()) != images_found) {
    return DamageError(file + " holds " + std::to_string(labels.size()) + " labels, and " + images_file + " holds " +
                       std::to_string(images_found) + " images; the two files do not belong together");
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < classes) continue;
    return DamageError(file + ": label " + std::to_string(labels[i]) + " of example " + std::to_string(i) +
                       " is outside 0 to " + std::to_string(classes - 1) +
                       "; set classes in the [data] table if the set has more");
  }
  return {};
}

Status CheckShape(const StoredFile& file, std::int64_t height, std::int64_t width, const IdxHeader& header) {
  if (height == 0 || (height == header.height && width == header.width)) return {};
  return DamageError(file.path + ": images of " + std::to_string(header.height) + "x" + std::to_string(header.width) +
                     ", and those before are " + std::to_string(height) + "x" + std::to_string(width));
}

}  // namespace

Result<IdxImages> ParseIdxImages(const std::string& file, std::string_view bytes) {
  RETORT_ASSIGN_OR_RETURN(Contents contents, ParseContents(file, bytes, true));
  return IdxImages{contents.header.count, contents.header.height, contents.header.width, std::move(contents.bytes)};
}

Result<std::vector<std::uint8_t>> ParseIdxLabels(const std::string& file, std::string_view bytes) {
  RETORT_ASSIGN_OR_RETURN(Contents contents, ParseContents(file, bytes, false));
  return std::move(contents.bytes);
}

namespace {

Status Inspect(Env& env, DataSpec& data) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<StoredPair> pairs, ReadPairs(env, data));
  std::int64_t examples = 0, height = 0, width = 0;
  for (const StoredPair& pair : pairs) {
    RETORT_ASSIGN_OR_RETURN(const IdxHeader header, PeekImages(pair.images.path, pair.images.bytes));
    RETORT_RETURN_IF_ERROR(CheckShape(pair.images, height, width, header));
    RETORT_ASSIGN_OR_RETURN(const auto labels, ParseIdxLabels(pair.labels.path, pair.labels.bytes));
    RETORT_RETURN_IF_ERROR(CheckLabels(pair.labels.path, labels, header.count, pair.images.path, data.classes));
    examples += header.count;
    height = header.height;
    width = header.width;
  }
  data.digest = ComputePairsDigest(pairs);
  data.examples = examples;
  data.channels = 1;
  data.height = height;
  data.width = width;
  return {};
}

Result<std::string> DigestOfUnpacked(Env& env, const DataSpec& data) {
  RETORT_ASSIGN_OR_RETURN(std::vector<StoredPair> pairs, ReadPairs(env, data));
  for (StoredPair& pair : pairs) {
    for (StoredFile* file : {&pair.images, &pair.labels}) {
      if (!IsGzip(file->path)) continue;
      RETORT_RETURN_IF_ERROR(PeekPacked(file->path, file->bytes, file == &pair.images).status());
      bool complete = false;
      const std::uint64_t most = ComputeMaxUnpackedSize(file->bytes.size());
      RETORT_ASSIGN_OR_RETURN(auto unpacked, Inflate<std::string>(file->path, file->bytes, most, 0, complete));
      if (!complete) return CheckUnpackedSize(file->path, most + 1, file->bytes.size());
      file->bytes = std::move(unpacked);
    }
  }
  return ComputePairsDigest(pairs);
}

Result<IdxData> Load(Env& env, const DataSpec& data) {
  RETORT_ASSIGN_OR_RETURN(const std::vector<StoredPair> pairs, ReadPairs(env, data));
  const std::string digest = ComputePairsDigest(pairs);
  if (!data.digest.empty() && digest != data.digest) {
    return DamageError("data." + data.name + ": the files in " + data.path +
                       " have changed since the trial was planned (digest " + digest + ", planned " + data.digest +
                       "); put the old files back, or plan again");
  }
  IdxData loaded;
  for (const StoredPair& pair : pairs) {
    RETORT_ASSIGN_OR_RETURN(IdxImages images, ParseIdxImages(pair.images.path, pair.images.bytes));
    const IdxHeader header{images.count, images.height, images.width, 0};
    RETORT_RETURN_IF_ERROR(CheckShape(pair.images, loaded.height, loaded.width, header));
    RETORT_ASSIGN_OR_RETURN(const auto labels, ParseIdxLabels(pair.labels.path, pair.labels.bytes));
    RETORT_RETURN_IF_ERROR(CheckLabels(pair.labels.path, labels, images.count, pair.images.path, data.classes));
    loaded.examples += images.count;
    if (pair.images.path.find("/train-images-idx3-ubyte") != std::string::npos) loaded.train = images.count;
    loaded.height = images.height;
    loaded.width = images.width;
    if (loaded.pixels.empty()) {
      loaded.pixels = std::move(images.pixels);
    } else {
      loaded.pixels.insert(loaded.pixels.end(), images.pixels.begin(), images.pixels.end());
    }
    loaded.labels.insert(loaded.labels.end(), labels.begin(), labels.end());
  }
  return loaded;
}

}  // namespace

Status InspectIdx(Env& env, DataSpec& data) {
  return ReadWithinMemory("the IDX files in '" + data.path + "'", [&] { return Inspect(env, data); });
}

Result<std::string> ComputeUnpackedDigest(Env& env, const DataSpec& data) {
  return ReadWithinMemory("the IDX files in '" + data.path + "'", [&] { return DigestOfUnpacked(env, data); });
}

Result<IdxData> LoadIdx(Env& env, const DataSpec& data) {
  return ReadWithinMemory("the IDX files in '" + data.path + "'", [&] { return Load(env, data); });
}

}  // namespace retort::storage
