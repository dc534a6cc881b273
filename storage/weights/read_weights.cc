#include "storage/weights/read_weights.h"

#include <algorithm>
#include <future>
#include <utility>

#include "experiments/base/digests.h"
#include "storage/files/env.h"
#include "storage/files/read_limits.h"
#include "storage/formats/npy_file.h"
#include "storage/formats/tar_archive.h"
#include "storage/formats/zip_archive.h"
#include "storage/weights/class_names.h"
#include "storage/weights/safetensors.h"
#include "storage/weights/torch_file.h"

namespace retort::storage {
namespace {

Result<ElementType> TypeOf(const std::string& where, DType type) {
  switch (type) {
    case DType::f32:
      return ElementType::f32;
    case DType::f64:
      return ElementType::f64;
    case DType::i32:
      return ElementType::i32;
    case DType::i64:
      return ElementType::i64;
    case DType::u32:
      return ElementType::u32;
    case DType::u64:
      return ElementType::u64;
    case DType::u8:
      return ElementType::u8;
  }
  return Refused(where + ": an element type that no weights have");
}

std::vector<std::int64_t> RowMajor(const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<std::int64_t>(shape[i], 1);
  return strides;
}

// numpy.savez and savez_compressed: an array for each tensor.
Result<StoredState> ReadNpzState(std::shared_ptr<const InputFile> file, const std::string& name) {
  const std::uint64_t most = MaxUnpackedSize(file->size());
  RETORT_ASSIGN_OR_RETURN(ZipFile zip, ZipFile::Open(std::move(file), name));
  const NpzFile arrays(std::move(zip));
  StoredState state;
  state.container = "npz";
  std::string bytes;
  for (const std::string& array : arrays.names()) {
    const std::string where = name + ": " + array;
    if (array.empty() || array.size() > kMaxTensorNameBytes)
      return Refused(where + ": a tensor's name is empty or longer than 1024 bytes");
    RETORT_ASSIGN_OR_RETURN(const TensorBlob blob, arrays.Read(array, most - bytes.size()));
    RETORT_ASSIGN_OR_RETURN(const ElementType type, TypeOf(where, blob.dtype));
    state.tensors.push_back({array, state.storages.size(), 0, blob.shape, RowMajor(blob.shape), bytes.size()});
    state.storages.push_back({type, bytes.size(), blob.bytes.size() / ByteSize(type), std::nullopt});
    bytes.append(reinterpret_cast<const char*>(blob.bytes.data()), blob.bytes.size());
  }
  state.unpacked = MakeMemoryFile(name + ", unpacked", std::move(bytes));
  return state;
}

constexpr std::size_t kHead = 512, kDigestPiece = 1 << 20;

Result<std::string> DigestOf(const InputFile& file) {
  Sha256 hash;
  std::string piece(static_cast<std::size_t>(std::min<std::uint64_t>(kDigestPiece, file.size())), '\0');
  for (std::uint64_t at = 0; at < file.size();) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), file.size() - at));
    RETORT_RETURN_IF_ERROR(file.ReadAt(at, size, piece.data()));
    hash.Update({piece.data(), size});
    at += size;
  }
  return hash.FinishHex();
}

// torch.save's archive has a pickle, numpy's has arrays alone.
Result<StoredState> ReadZip(const std::shared_ptr<const InputFile>& file, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const ZipFile zip, ZipFile::Open(file, path));
  const auto& entries = zip.entries();
  const bool arrays = !entries.empty() && std::all_of(entries.begin(), entries.end(), [](const ZipEntry& entry) {
    return entry.name.ends_with(".npy");
  });
  return arrays ? ReadNpzState(file, path) : ReadTorchZip(file, path);
}

// What lies where a file of weights should, and how to come by that; empty where it is none of these.
std::string InsteadOfWeights(std::string_view head) {
  if (head.empty()) return ": the file is empty";
  if (head.starts_with("version https://git-lfs"))
    return ": it is the pointer of Git LFS to the file; `git lfs pull` fetches that";
  const std::size_t begin = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (begin != std::string_view::npos && head[begin] == '<')
    return ": it is a web page, perhaps what a server said in place of the file; fetch that again";
  return "";
}

Result<std::string> ReadHead(const InputFile& file) {
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(kHead, file.size())), '\0');
  RETORT_RETURN_IF_ERROR(file.ReadAt(0, head.size(), head.data()));
  return head;
}

Result<StoredState> Locate(const std::shared_ptr<const InputFile>& file, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const std::string head, ReadHead(*file));
  if (LooksLikeZip(head)) return ReadZip(file, path);
  if (LooksLikeTar(head)) return ReadTorchTar(*file, path);
  // Behind the length of a safetensors header stands its brace; there a legacy file has a byte of its magic
  // number.
  if (head.size() > 8 && head[8] == '{') return ReadSafetensors(*file, path);
  if (head.size() > 1 && head[0] == '\x80') return ReadTorchLegacy(*file, path);
  return Refused(path + ": offset 0: neither .pth (zip, legacy or tar) nor safetensors nor .npz begins like this" +
                 InsteadOfWeights(head));
}

Result<StateDict> Load(const std::shared_ptr<const InputFile>& file, const std::string& path, bool non_finite) {
  RETORT_ASSIGN_OR_RETURN(StoredState state, Locate(file, path));
  StateDict dict;
  RETORT_ASSIGN_OR_RETURN(dict.tensors, LoadTensors(state.unpacked ? *state.unpacked : *file, path, state, non_finite));
  dict.container = std::move(state.container);
  dict.path = std::move(state.path);
  dict.left_out = std::move(state.left_out);
  return dict;
}

}  // namespace

namespace {

Result<StateDict> Read(Env& env, const std::string& path, const WeightsOptions& options) {
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<InputFile> opened, env.OpenInput(path));
  const std::shared_ptr<const InputFile> file = std::move(opened);
  std::future<Result<std::string>> digest;
  if (options.digest) digest = std::async([&file] { return DigestOf(*file); });
  Result<StateDict> dict = Load(file, path, options.non_finite);
  if (!options.digest) return dict;
  Result<std::string> hex = digest.get();
  if (!dict.ok()) return dict;
  if (!hex.ok()) return hex.status();
  dict->digest = std::move(hex).value();
  return dict;
}

}  // namespace

Result<StateDict> ReadWeights(Env& env, const std::string& path, const WeightsOptions& options) {
  return ReadWithinMemory("the weights '" + path + "'", [&] { return Read(env, path, options); });
}

Result<std::vector<std::string>> ReadClassNames(Env& env, const std::string& path) {
  return ReadWithinMemory("the weights '" + path + "'", [&]() -> Result<std::vector<std::string>> {
    RETORT_ASSIGN_OR_RETURN(std::unique_ptr<InputFile> opened, env.OpenInput(path));
    RETORT_ASSIGN_OR_RETURN(StoredState state, Locate(std::shared_ptr<const InputFile>(std::move(opened)), path));
    return std::move(state.class_names);
  });
}

Status CheckWeightsFile(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<InputFile> opened, env.OpenInput(path));
  const std::shared_ptr<const InputFile> file = std::move(opened);
  return ReadWithinMemory("the weights '" + path + "'", [&] { return Locate(file, path); }).status();
}

Status CheckScriptFile(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> file, env.OpenInput(path));
  RETORT_ASSIGN_OR_RETURN(const std::string head, ReadHead(*file));
  if (LooksLikeZip(head)) return {};
  return Refused(path + " is no TorchScript module (torch.jit.save writes one)" + InsteadOfWeights(head));
}

Result<std::string> FileDigest(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> file, env.OpenInput(path));
  return DigestOf(*file);
}

}  // namespace retort::storage
