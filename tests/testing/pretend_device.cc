#include "tests/testing/pretend_device.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/Allocator.h>
#include <c10/core/DeviceType.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <sys/mman.h>
#include <torch/library.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace retort::testing {
namespace {

constexpr at::DeviceType kPretend = at::DeviceType::PrivateUse1;
constexpr std::size_t kArena = std::size_t{1} << 30;  // address space; memory is taken as it is written

// One piece of memory that is mapped twice: at addresses that tensors carry, where nobody may read, and at
// addresses for the kernels.
class Arena {
 public:
  Arena() {
    const int file = ::memfd_create("pretend-device", MFD_CLOEXEC);
    TORCH_CHECK(file >= 0 && ::ftruncate(file, static_cast<off_t>(kArena)) == 0, "no memory file");
    sealed_ = Map(file, PROT_NONE);
    open_ = Map(file, PROT_READ | PROT_WRITE);
    ::close(file);
  }

  char* Take(std::size_t bytes) {
    const std::size_t size = std::bit_ceil(std::max<std::size_t>(bytes, 64));
    const std::lock_guard lock(mutex_);
    std::vector<char*>& free = free_[size];
    char* address = nullptr;
    if (free.empty()) {
      TORCH_CHECK(used_ + size <= kArena, "The pretend device is out of memory.");
      address = sealed_ + used_;
      used_ += size;
    } else {
      address = free.back();
      free.pop_back();
    }
    sizes_[address] = size;
    return address;
  }

  void Give(char* address) {
    const std::lock_guard lock(mutex_);
    free_[sizes_.at(address)].push_back(address);
  }

  // Where a kernel finds what a tensor has at `address`.
  [[nodiscard]] char* Opened(const void* address) const {
    return open_ + (static_cast<const char*>(address) - sealed_);
  }

 private:
  static char* Map(int file, int protection) {
    void* mapped = ::mmap(nullptr, kArena, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
    TORCH_CHECK(mapped != MAP_FAILED, "no address space for the pretend device");
    return static_cast<char*>(mapped);
  }

  char *sealed_ = nullptr, *open_ = nullptr;
  std::mutex mutex_;
  std::size_t used_ = 0;
  std::map<std::size_t, std::vector<char*>> free_;  // by size
  std::map<char*, std::size_t> sizes_;
};

// LibTorch's registries are the process's, and outlive every scope.
Arena& TheArena() {
  static Arena* arena = new Arena;
  return *arena;
}

std::atomic<std::int64_t>& Operations() {
  static std::atomic<std::int64_t> count{0};
  return count;
}

at::DeviceIndex& CurrentIndex() {
  thread_local at::DeviceIndex index = 0;
  return index;
}

c10::StreamId& CurrentStream() {
  thread_local c10::StreamId stream = 0;
  return stream;
}

// Copies to the host on a stream of their own: made when somebody waits for an event of it, and not before.
struct LateCopies {
  std::mutex mutex;
  std::vector<std::function<void()>> copies;
  static LateCopies& All() {
    static LateCopies* all = new LateCopies;
    return *all;
  }
  void Add(std::function<void()> copy) {
    const std::lock_guard lock(mutex);
    copies.push_back(std::move(copy));
  }
  void Make() {
    const std::lock_guard lock(mutex);
    for (const std::function<void()>& copy : copies) copy();
    copies.clear();
  }
};

struct PretendAllocator final : c10::Allocator {
  c10::DataPtr allocate(std::size_t bytes) override {
    const at::Device device(kPretend, CurrentIndex());
    if (bytes == 0) return {nullptr, device};
    char* address = TheArena().Take(bytes);
    return {address, address, &Free, device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &Free; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::copy_n(TheArena().Opened(from), bytes, TheArena().Opened(to));
  }
  static void Free(void* address) { TheArena().Give(static_cast<char*>(address)); }
};

struct PretendGuard final : c10::impl::DeviceGuardImplInterface {
  at::DeviceType type() const override { return kPretend; }
  at::Device exchangeDevice(at::Device device) const override {
    const at::Device before = getDevice();
    setDevice(device);
    return before;
  }
  at::Device getDevice() const override { return {kPretend, CurrentIndex()}; }
  void setDevice(at::Device device) const override {
    TORCH_CHECK(device.type() == kPretend && device.index() < kPretendDevices, "no such pretend device");
    if (device.index() >= 0) CurrentIndex() = device.index();
  }
  void uncheckedSetDevice(at::Device device) const noexcept override {
    if (device.index() >= 0) CurrentIndex() = device.index();
  }
  c10::Stream getStream(at::Device device) const override {
    return c10::Stream(c10::Stream::UNSAFE, device, CurrentStream());
  }
  c10::Stream getStreamFromGlobalPool(at::Device device, bool) const override {
    return c10::Stream(c10::Stream::UNSAFE, device, 1);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    return c10::Stream(c10::Stream::UNSAFE, stream.device(), std::exchange(CurrentStream(), stream.id()));
  }
  void record(void** event, const c10::Stream&, at::DeviceIndex, c10::EventFlag) const override {
    static int recorded = 0;
    *event = &recorded;
  }
  void block(void*, const c10::Stream&) const override {}
  void synchronizeEvent(void*) const override { LateCopies::All().Make(); }
  at::DeviceIndex deviceCount() const noexcept override { return kPretendDevices; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
};

struct PretendHooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(at::DeviceIndex) const override { return true; }
};

// The tensor's bytes as a tensor of the CPU, for the length of one kernel.
at::Tensor Opened(const at::Tensor& tensor) {
  const at::TensorOptions options = tensor.options().device(at::kCPU);
  if (tensor.numel() == 0) return at::empty_strided(tensor.sizes(), tensor.strides(), options);
  return at::from_blob(TheArena().Opened(tensor.const_data_ptr()), tensor.sizes(), tensor.strides(), options);
}

bool IsPretend(const at::Tensor& tensor) { return tensor.defined() && tensor.device().type() == kPretend; }

// The arguments of one operation: which device they are on, and what a kernel of the CPU is given for them.
class Arguments {
 public:
  explicit Arguments(std::string operation) : operation_(std::move(operation)) {}

  [[nodiscard]] c10::IValue ForHost(const c10::IValue& value) {
    if (value.isTensor()) return Host(value.toTensor());
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(Host(tensor));
      return list;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector())
        list.push_back(tensor ? std::optional(Host(*tensor)) : std::nullopt);
      return list;
    }
    if (value.isDevice() && value.toDevice().type() == kPretend) {
      Meet(value.toDevice());
      return at::Device(at::kCPU);
    }
    return value;
  }

  // Refuses what a real device refuses; else the device of the results.
  [[nodiscard]] at::Device Check() const {
    TORCH_CHECK(device_.has_value(), operation_, " has nothing to do with a pretend device");
    TORCH_CHECK(!host_, operation_, ": the pretend device was given a tensor of the CPU");
    return *device_;
  }

 private:
  void Meet(at::Device device) {
    TORCH_CHECK(!device_ || *device_ == device, operation_, ": tensors of different pretend devices");
    device_ = device;
  }

  at::Tensor Host(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    if (!IsPretend(tensor)) {
      host_ = host_ || tensor.dim() > 0;
      return tensor;
    }
    Meet(tensor.device());
    return Opened(tensor);
  }

  std::string operation_;
  std::optional<at::Device> device_;
  bool host_ = false;
};

at::Tensor OnPretend(const at::Tensor& result, at::Device device) {
  return result.defined() ? result.to(device) : result;
}

// An operation may give its output another size.
void TakeSize(const at::Tensor& output, const at::Tensor& written) {
  if (output.sizes() == written.sizes()) return;
  const at::Tensor grown = written.to(output.device());
  output.unsafeGetTensorImpl()->set_storage_keep_dtype(grown.storage());
  output.unsafeGetTensorImpl()->set_sizes_and_strides(grown.sizes(), grown.strides(), grown.storage_offset());
}

// Any operation, by the CPU's kernel.
void RunOnHost(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  const c10::FunctionSchema& schema = operation.schema();
  const std::size_t begin = stack->size() - schema.arguments().size();
  const std::vector<c10::IValue> given(stack->begin() + static_cast<std::ptrdiff_t>(begin), stack->end());
  Arguments arguments(c10::toString(schema.operator_name()));
  for (std::size_t i = begin; i < stack->size(); ++i) (*stack)[i] = arguments.ForHost((*stack)[i]);
  const at::Device device = arguments.Check();
  const std::vector<c10::IValue> opened(stack->begin() + static_cast<std::ptrdiff_t>(begin), stack->end());
  ++Operations();
  operation.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  const std::size_t results = stack->size() - schema.returns().size();
  for (std::size_t i = 0; i < schema.returns().size(); ++i) {
    c10::IValue& value = (*stack)[results + i];
    const c10::AliasInfo* alias = schema.returns()[i].alias_info();
    if (alias != nullptr) {
      const auto written = std::find_if(
          schema.arguments().begin(), schema.arguments().end(),
          [&](const auto& argument) { return argument.alias_info() != nullptr && *argument.alias_info() == *alias; });
      TORCH_CHECK(alias->isWrite() && written != schema.arguments().end(), schema.operator_name(),
                  ": the pretend device knows no such view");
      const auto at = static_cast<std::size_t>(written - schema.arguments().begin());
      TakeSize(given[at].toTensor(), opened[at].toTensor());
      value = given[at];
    } else if (value.isTensor()) {
      value = OnPretend(value.toTensor(), device);
    } else {
      TORCH_CHECK(!value.isTensorList(), schema.operator_name(), ": the pretend device returns no lists");
    }
  }
}

at::Tensor Empty(at::IntArrayRef sizes, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                 std::optional<at::Device> device, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return at::detail::empty_generic(sizes, c10::GetAllocator(kPretend),
                                   c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), c10::dtype_or_default(type),
                                   format);
}

at::Tensor EmptyStrided(at::IntArrayRef sizes, at::IntArrayRef strides, std::optional<at::ScalarType> type,
                        std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>) {
  const c10::DeviceGuard guard(c10::device_or_default(device));
  return at::detail::empty_strided_generic(sizes, strides, c10::GetAllocator(kPretend),
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           c10::dtype_or_default(type));
}

// Between any two devices.
at::Tensor CopyFrom(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  ++Operations();
  if (non_blocking && CurrentStream() != 0 && IsPretend(from) && !IsPretend(to)) {
    TORCH_CHECK(from.is_contiguous() && to.is_contiguous() && from.dtype() == to.dtype(), "no such late copy");
    // The memory is not held: a copy that outlives its tensor finds what lies there then.
    LateCopies::All().Add([bytes = from.nbytes(), source = TheArena().Opened(from.const_data_ptr()), to] {
      std::copy_n(source, bytes, static_cast<char*>(to.mutable_data_ptr()));
    });
    return to;
  }
  (IsPretend(to) ? Opened(to) : to).copy_(IsPretend(from) ? Opened(from) : from);
  return to;
}

at::Scalar OneNumber(const at::Tensor& tensor) {
  ++Operations();
  return at::native::_local_scalar_dense_cpu(Opened(tensor));
}

at::Tensor View(const at::Tensor& tensor, at::IntArrayRef sizes) { return at::native::view(tensor, sizes); }

at::Tensor AsStrided(const at::Tensor& tensor, at::IntArrayRef sizes, at::IntArrayRef strides,
                     std::optional<std::int64_t> offset) {
  return at::native::as_strided_tensorimpl(tensor, sizes, strides, offset);
}

at::Tensor ReshapeAlias(const at::Tensor& tensor, at::IntArrayRef sizes, at::IntArrayRef strides) {
  return at::native::_reshape_alias(tensor, sizes, strides);
}

void CheckTogether(std::initializer_list<at::Tensor> tensors, const char* operation) {
  Arguments arguments(operation);
  for (const at::Tensor& tensor : tensors) static_cast<void>(arguments.ForHost(tensor));
  static_cast<void>(arguments.Check());
  ++Operations();
}

at::Tensor Convolution(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                       at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                       at::IntArrayRef output_padding, std::int64_t groups) {
  const at::Tensor added = bias.value_or(at::Tensor());
  CheckTogether({input, weight, added}, "convolution");
  const std::optional<at::Tensor> opened = added.defined() ? std::optional(Opened(added)) : std::nullopt;
  return OnPretend(at::convolution(Opened(input), Opened(weight), opened, stride, padding, dilation, transposed,
                                   output_padding, groups),
                   input.device());
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> ConvolutionBackward(const at::Tensor& gradient, const at::Tensor& input,
                                                                   const at::Tensor& weight, at::IntArrayRef stride,
                                                                   at::IntArrayRef padding, at::IntArrayRef dilation,
                                                                   bool transposed, at::IntArrayRef output_padding,
                                                                   std::int64_t groups, std::array<bool, 3> mask) {
  CheckTogether({gradient, input, weight}, "convolution_backward");
  const std::vector<std::int64_t> bias = {weight.size(transposed ? 1 : 0)};
  const auto [of_input, of_weight, of_bias] =
      at::convolution_backward(Opened(gradient), Opened(input), Opened(weight), bias, stride, padding, dilation,
                               transposed, output_padding, groups, mask);
  return {OnPretend(of_input, input.device()), OnPretend(of_weight, input.device()),
          OnPretend(of_bias, input.device())};
}

// Rounded correctly, as CUDA's is. LibTorch's for the CPU may be that of a library that rounds otherwise.
at::Tensor& SquareRoot(const at::Tensor& tensor, at::Tensor& out) {
  CheckTogether({tensor, out}, "sqrt");
  TORCH_CHECK(tensor.is_contiguous() && out.is_contiguous() && out.sizes() == tensor.sizes());
  AT_DISPATCH_FLOATING_TYPES(tensor.scalar_type(), "sqrt", [&] {
    const auto* from = reinterpret_cast<const scalar_t*>(TheArena().Opened(tensor.const_data_ptr()));
    auto* to = reinterpret_cast<scalar_t*>(TheArena().Opened(out.const_data_ptr()));
    std::transform(from, from + tensor.numel(), to, [](scalar_t value) { return std::sqrt(value); });
  });
  return out;
}

PretendAllocator* TheAllocator() {
  static PretendAllocator* allocator = new PretendAllocator;
  return allocator;
}

REGISTER_ALLOCATOR(c10::DeviceType::PrivateUse1, TheAllocator())
C10_REGISTER_GUARD_IMPL(PrivateUse1, PretendGuard)
// Autograd asks which kind of device has streams.
// As a plug-in's: the CPU's kernels on the device's memory.
struct PretendNoise final : worker::noise::NoiseKernels {
  static PretendNoise& One() {
    static PretendNoise noise;
    return noise;
  }
  Status FillLatticeNormal(const worker::noise::NoiseKey& key, worker::noise::StreamId stream, double scale,
                           at::Tensor& out) override {
    TORCH_CHECK(out.device().type() == kPretend, "noise for another device");
    ++calls;
    at::Tensor here = Opened(out);
    return host.FillLatticeNormal(key, stream, scale, here);
  }
  Status NormaliseAndNoise(const at::Tensor& gradient, const worker::noise::LatticeRows& rows,
                           const worker::noise::NoiseKey& key, worker::noise::StreamId stream,
                           at::Tensor& values) override {
    TORCH_CHECK(gradient.device().type() == kPretend && values.device() == gradient.device(),
                "noise for another device");
    ++calls;
    at::Tensor here = Opened(values);
    return host.NormaliseAndNoise(Opened(gradient), rows, key, stream, here);
  }
  worker::noise::HostNoise host;
  std::atomic<std::int64_t> calls{0};
};

[[maybe_unused]] const bool kNamed = [] {
  c10::register_privateuse1_backend("pretend");
  at::RegisterPrivateUse1HooksInterface(new PretendHooks);
  return true;
}();

}  // namespace

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&RunOnHost>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", &Empty);
  library.impl("empty_strided", &EmptyStrided);
  library.impl("_copy_from", &CopyFrom);
  library.impl("_local_scalar_dense", &OneNumber);
  library.impl("view", &View);
  library.impl("as_strided", &AsStrided);
  library.impl("_reshape_alias", &ReshapeAlias);
  library.impl("sqrt.out", &SquareRoot);
  library.impl("convolution_overrideable", &Convolution);
  library.impl("convolution_backward_overrideable", &ConvolutionBackward);
}

Result<worker::OpenDevice> OpenPretend(const std::string& name) {
  if (name == "cpu") return worker::OpenDevice{};
  for (int ordinal = 0; ordinal < kPretendDevices; ++ordinal)
    if (name == "pretend:" + std::to_string(ordinal))
      return worker::OpenDevice{PretendDevice(ordinal), &PretendNoise::One(), nullptr};
  return EnvironmentError("There is no pretend device '" + name + "'.");
}

std::int64_t PretendNoises() { return PretendNoise::One().calls; }

std::int64_t PretendOperations() { return Operations(); }

}  // namespace retort::testing
