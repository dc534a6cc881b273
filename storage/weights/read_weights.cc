#include <algorithm>
#include <future>
#include <utility>

#include "experiments/spec/sha256.h"
#include "storage/weights/class_names.h"
#include "storage/weights/containers.h"
#include "storage/weights/state_dict.h"
#include "storage/weights/tar_members.h"
#include "storage/within_memory.h"
#include "storage/zip_file.h"

namespace retort::storage {
namespace {

constexpr std::size_t kHead = 512, kPiece = 1 << 20;

Result<std::string> DigestOf(const InputFile& file) {
  Sha256 hash;
  std::string piece(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, file.size())), '\0');
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

Result<std::string> HeadOf(const InputFile& file) {
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(kHead, file.size())), '\0');
  RETORT_RETURN_IF_ERROR(file.ReadAt(0, head.size(), head.data()));
  return head;
}

Result<StoredState> Locate(const std::shared_ptr<const InputFile>& file, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const std::string head, HeadOf(*file));
  if (LooksLikeZip(head)) return ReadZip(file, path);
  if (LooksLikeTar(head)) return ReadTorchTar(*file, path);
  // Behind the length of a safetensors header stands its brace; there a legacy file has a byte of its magic
  // number.
  if (head.size() > 8 && head[8] == '{') return ReadSafetensors(*file, path);
  if (head.size() > 1 && head[0] == '\x80') return ReadTorchLegacy(*file, path);
  return Refused(path + ": offset 0: neither .pth (zip, legacy or tar) nor safetensors nor .npz begins like this" +
                 InsteadOfWeights(head));
}

Result<StateDict> Load(const std::shared_ptr<const InputFile>& file, const std::string& path,
                       bool non_finite) {
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
  return WithinMemory("the weights '" + path + "'", [&] { return Read(env, path, options); });
}

Result<std::vector<std::string>> ReadClassNames(Env& env, const std::string& path) {
  return WithinMemory("the weights '" + path + "'", [&]() -> Result<std::vector<std::string>> {
    RETORT_ASSIGN_OR_RETURN(std::unique_ptr<InputFile> opened, env.OpenInput(path));
    RETORT_ASSIGN_OR_RETURN(StoredState state, Locate(std::shared_ptr<const InputFile>(std::move(opened)), path));
    return std::move(state.class_names);
  });
}

Status CheckWeightsFile(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(std::unique_ptr<InputFile> opened, env.OpenInput(path));
  const std::shared_ptr<const InputFile> file = std::move(opened);
  return WithinMemory("the weights '" + path + "'", [&] { return Locate(file, path); }).status();
}

Status CheckScriptFile(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> file, env.OpenInput(path));
  RETORT_ASSIGN_OR_RETURN(const std::string head, HeadOf(*file));
  if (LooksLikeZip(head)) return {};
  return Refused(path + " is no TorchScript module (torch.jit.save writes one)" + InsteadOfWeights(head));
}

Result<std::string> FileDigest(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> file, env.OpenInput(path));
  return DigestOf(*file);
}

}  // namespace retort::storage
