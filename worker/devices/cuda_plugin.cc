#include "worker/devices/cuda_plugin.h"

#include <dlfcn.h>
#include <torch/version.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "worker/cuda/plugin_abi.h"

namespace retort::worker {
namespace {

// Holds a copy of the key for the length of one call.
class KeyedStream {
 public:
  KeyedStream(const noise::NoiseKey& key, noise::StreamId stream) {
    std::copy(key.bytes().begin(), key.bytes().end(), stream_.key);
    const auto nonce = noise::MakeNonce(stream);
    std::copy(nonce.begin(), nonce.end(), stream_.nonce);
  }
  ~KeyedStream() { noise::Wipe(&stream_, sizeof(stream_)); }
  KeyedStream(const KeyedStream&) = delete;
  KeyedStream& operator=(const KeyedStream&) = delete;
  [[nodiscard]] const RetortNormalStream* get() const { return &stream_; }

 private:
  RetortNormalStream stream_{};
};

Status FromPlugin(int code, const RetortCudaError& error) {
  return code == 0 ? Status() : EnvironmentError(error.text);
}

void CheckOnDevice(const at::Tensor& tensor, at::ScalarType type) {
  RETORT_CHECK(tensor.is_cuda() && tensor.is_contiguous() && tensor.scalar_type() == type);
}

class LoadedPlugin final : public CudaPlugin {
 public:
  LoadedPlugin(const RetortCudaAbi* abi, int devices) : abi_(abi), devices_(devices) {}

  int device_count() const override { return devices_; }

  Result<std::unique_ptr<Collective>> JoinNcclGang(const GangMembership& membership, int device) override {
    RetortCudaError error{};
    void* collective = nullptr;
    RETORT_RETURN_IF_ERROR(FromPlugin(abi_->join_nccl(&membership, device, &collective, &error), error));
    return std::unique_ptr<Collective>(static_cast<Collective*>(collective));
  }

  Result<std::unique_ptr<GraphDevice>> OpenGraphDevice(int device) override {
    RetortCudaError error{};
    void* opened = nullptr;
    RETORT_RETURN_IF_ERROR(FromPlugin(abi_->open_graph_device(device, &opened, &error), error));
    return std::unique_ptr<GraphDevice>(static_cast<GraphDevice*>(opened));
  }

  Status ReleaseMemory() override {
    RetortCudaError error{};
    return FromPlugin(abi_->release_memory(&error), error);
  }

  Status FillLatticeNormal(const noise::NoiseKey& key, noise::StreamId stream, double scale, at::Tensor& out) override {
    CheckOnDevice(out, at::kDouble);
    const KeyedStream keyed(key, stream);
    RetortCudaError error{};
    return FromPlugin(
        abi_->fill_lattice_normal(keyed.get(), scale, out.data_ptr<double>(), out.numel(), out.get_device(), &error),
        error);
  }

  Status NormaliseAndNoise(const at::Tensor& gradient, const noise::LatticeRows& rows, const noise::NoiseKey& key,
                           noise::StreamId stream, at::Tensor& values) override {
    CheckOnDevice(gradient, at::kFloat);
    CheckOnDevice(values, at::kFloat);
    RETORT_CHECK(gradient.dim() == 2 && gradient.sizes() == values.sizes());
    const KeyedStream keyed(key, stream);
    RetortCudaError error{};
    const RetortLatticeRows lattice{rows.step, rows.target, rows.longest, rows.floor, rows.scale};
    const int code =
        abi_->normalise_and_noise(gradient.const_data_ptr<float>(), gradient.size(0), gradient.size(1), &lattice,
                                  keyed.get(), values.data_ptr<float>(), values.get_device(), &error);
    return FromPlugin(code, error);
  }

 private:
  const RetortCudaAbi* abi_;
  int devices_;
};

}  // namespace

Result<std::unique_ptr<CudaPlugin>> LoadCudaPlugin(const std::string& path) {
  // Global: torch's CUDA libraries register themselves with libtorch_cpu's symbols.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    const char* error = dlerror();
    const std::string reason = error != nullptr ? error : path;
    const bool absent = reason.ends_with("cannot open shared object file: No such file or directory");
    return EnvironmentError("No GPU support: " + reason + (absent ? std::string("; ") + kCudaRemedy : std::string()));
  }
  void* symbol = dlsym(library, RETORT_CUDA_ENTRY);
  if (symbol == nullptr) return EnvironmentError("No GPU support: " + path + " is not Retort's CUDA library.");
  const RetortCudaAbi* abi = reinterpret_cast<const RetortCudaAbi* (*)()>(symbol)();
  if (abi->version != RETORT_CUDA_ABI_VERSION || std::strcmp(abi->torch, TORCH_VERSION) != 0) {
    return EnvironmentError("No GPU support: " + path + " was built for torch " + abi->torch + " and border version " +
                            std::to_string(abi->version) + ", this program for torch " TORCH_VERSION " and version " +
                            std::to_string(RETORT_CUDA_ABI_VERSION) + ": build both again.");
  }
  RetortCudaError error{};
  int devices = 0;
  RETORT_RETURN_IF_ERROR(FromPlugin(abi->device_count(&devices, &error), error));
  if (devices < 1) return EnvironmentError("No GPU support: the driver shows no device.");
  return std::unique_ptr<CudaPlugin>(std::make_unique<LoadedPlugin>(abi, devices));
}

}  // namespace retort::worker
