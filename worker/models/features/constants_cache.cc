#include "worker/models/features/constants_cache.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/ops/empty.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "experiments/base/digests.h"
#include "experiments/base/environment.h"
#include "worker/models/layer_text.h"

namespace retort::worker {
namespace {

constexpr std::string_view kEnding = ".constants", kMagic = "RTCONST1";
constexpr std::size_t kDigestDigits = 64;

bool HasConstants(LayerKind kind) { return kind == LayerKind::patches || kind == LayerKind::whiten; }

std::vector<Layer> UpToLastConstants(std::vector<Layer> layers) {
  while (!layers.empty() && !HasConstants(layers.back().kind)) layers.pop_back();
  return layers;
}

}  // namespace

ConstantsCache::ConstantsCache(storage::Env& env, std::string folder, std::size_t limit)
    : env_(env), folder_(std::move(folder)), limit_(limit) {}

ConstantsCache FindConstantsCache() {
  const std::string caches = FindCacheFolder();
  return {storage::PosixEnv(), caches.empty() ? "" : caches + "/features"};
}

std::string ConstantsCache::FindKey(const std::vector<Layer>& layers, const ImageShape& images) const {
  if (folder_.empty()) return "";
  const Result<std::string> program = env_.ReadFile("/proc/self/exe");
  if (!program.ok()) return "";
  Sha256 key;
  const std::string text = FormatLayers(UpToLastConstants(layers));
  const std::string instructions = at::get_cpu_capability();
  for (const std::string_view part : {std::string_view(*program), std::string_view(text),
                                      std::string_view(TORCH_VERSION), std::string_view(instructions)}) {
    key.UpdateLength(part.size());
    key.Update(part);
  }
  for (const std::int64_t side : {images.channels, images.height, images.width})
    key.UpdateLength(static_cast<std::uint64_t>(side));
  key.UpdateLength(static_cast<std::uint64_t>(at::get_num_threads()));
  return key.FinishHex();
}

std::string ConstantsCache::FindPath(const std::string& key) const {
  return folder_ + "/" + key + std::string(kEnding);
}

std::optional<at::Tensor> ConstantsCache::Read(const std::string& key, std::int64_t values) const {
  if (folder_.empty() || key.empty()) return std::nullopt;
  const std::string path = FindPath(key);
  const std::uint64_t bytes = static_cast<std::uint64_t>(values) * sizeof(float);
  const Result<std::string> file = env_.ReadSmallFile(path, kMagic.size() + kDigestDigits + bytes);
  if (!file.ok()) return std::nullopt;
  const std::string_view whole = *file;
  if (whole.size() == kMagic.size() + kDigestDigits + bytes && whole.starts_with(kMagic)) {
    const std::string_view digest = whole.substr(kMagic.size(), kDigestDigits),
                           held = whole.substr(kMagic.size() + kDigestDigits);
    if (ComputeSha256Hex(held) == digest) {
      at::Tensor constants = at::empty({values}, at::kFloat);
      std::memcpy(constants.mutable_data_ptr<float>(), held.data(), held.size());
      return constants;
    }
  }
  static_cast<void>(env_.Remove(path).ok());
  return std::nullopt;
}

void ConstantsCache::Keep(const std::string& key, const at::Tensor& constants) const {
  if (folder_.empty() || key.empty()) return;
  RETORT_CHECK(constants.is_cpu() && constants.is_contiguous() && constants.scalar_type() == at::kFloat);
  const std::string_view held(static_cast<const char*>(constants.const_data_ptr()), constants.nbytes());
  const std::string file = std::string(kMagic) + ComputeSha256Hex(held) + std::string(held);
  if (!env_.CreateDirectories(folder_).ok() || !env_.WriteFileAtomically(FindPath(key), file).ok()) return;
  RemoveOldest();
}

void ConstantsCache::RemoveOldest() const {
  const Result<std::vector<std::string>> names = env_.List(folder_);
  if (!names.ok()) return;
  std::vector<std::pair<std::int64_t, std::string>> files;  // when it was written, and its path
  for (const std::string& name : *names) {
    const std::string path = folder_ + "/" + name;
    if (!name.ends_with(kEnding)) continue;
    if (const Result<storage::FileStamp> stamp = env_.Stamp(path); stamp.ok())
      files.emplace_back(stamp->modified, path);
  }
  std::sort(files.rbegin(), files.rend());
  for (std::size_t k = limit_; k < files.size(); ++k) static_cast<void>(env_.Remove(files[k].second).ok());
}

}  // namespace retort::worker
