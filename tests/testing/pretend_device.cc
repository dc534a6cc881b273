#include "tests/testing/pretend_device.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
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
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <ios>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace retort::testing {
namespace {

constexpr at::DeviceType kPretend = at::DeviceType::PrivateUse1;
constexpr std::size_t kArena = std::size_t{1} << 32;  // address space; memory is taken as it is written

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

  // `pool`: whose block this is besides that of the tensor that it is given to; 0: nobody's.
  char* Take(std::size_t bytes, std::int64_t pool) {
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
    blocks_[address] = {size, ++births_, pool, true};
    return address;
  }

  void Give(char* address) {
    const std::lock_guard lock(mutex_);
    Block& block = blocks_.at(address);
    block.held = false;
    if (block.pool == 0) free_[block.size].push_back(address);
  }

  // Tensors hold blocks of the pool still. Autograd's thread lets go of its last ones a moment after the step.
  [[nodiscard]] bool HoldsPool(std::int64_t pool) {
    const auto holds = [&] {
      const std::lock_guard lock(mutex_);
      return std::any_of(blocks_.begin(), blocks_.end(),
                         [&](const auto& block) { return block.second.pool == pool && block.second.held; });
    };
    for (int i = 0; i < 500 && holds(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return holds();
  }

  // The bytes of the blocks of a pool become ones, which as numbers are none.
  void Scribble(std::int64_t pool) {
    const std::lock_guard lock(mutex_);
    for (const auto& [address, block] : blocks_)
      if (block.pool == pool) std::memset(Opened(address), 0xff, block.size);
  }

  void EndPool(std::int64_t pool) {
    const std::lock_guard lock(mutex_);
    for (auto& [address, block] : blocks_) {
      if (block.pool != pool) continue;
      block.pool = 0;
      if (!block.held) free_[block.size].push_back(address);
    }
  }

  // Which of its lives the block is in that holds `address`; 0: in none, or it belongs to a pool.
  [[nodiscard]] std::int64_t FindBirth(const void* address) {
    const std::lock_guard lock(mutex_);
    auto found = blocks_.upper_bound(const_cast<char*>(static_cast<const char*>(address)));
    if (found == blocks_.begin()) return 0;
    const Block& block = std::prev(found)->second;
    return block.held && block.pool == 0 ? block.birth : 0;
  }

  // What every block that belongs to no pool and is held has in it, by its address.
  using Contents = std::map<char*, std::vector<char>>;
  [[nodiscard]] Contents Save() {
    const std::lock_guard lock(mutex_);
    Contents contents;
    for (const auto& [address, block] : blocks_)
      if (block.held && block.pool == 0) contents[address].assign(Opened(address), Opened(address) + block.size);
    return contents;
  }
  void Restore(const Contents& contents) const {
    for (const auto& [address, bytes] : contents) std::copy(bytes.begin(), bytes.end(), Opened(address));
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

  struct Block {
    std::size_t size = 0;
    std::int64_t birth = 0;  // how many blocks had been given out
    std::int64_t pool = 0;
    bool held = false;  // by a tensor
  };
  char *sealed_ = nullptr, *open_ = nullptr;
  std::mutex mutex_;
  std::size_t used_ = 0;
  std::int64_t births_ = 0;
  std::map<std::size_t, std::vector<char*>> free_;  // by size
  std::map<char*, Block> blocks_;
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

// What a graph does, operation by operation.
struct Tape {
  struct Operation {
    std::string what;  // it, the numbers it was given by the host, and where its tensors lie
    std::function<void()> run;
  };
  std::int64_t pool = 0;
  std::vector<Operation> operations;
  std::map<const void*, std::int64_t> births;  // of the blocks that it uses and that are not its own
};

// Writes down what the device is told while a step is recorded.
class Recorder {
 public:
  static Recorder& One() {
    static Recorder* recorder = new Recorder;
    return *recorder;
  }

  [[nodiscard]] bool active() const { return tape_ != nullptr; }
  // Of new blocks.
  [[nodiscard]] std::int64_t pool() const {
    const Tape* tape = tape_;
    return tape != nullptr ? tape->pool : 0;
  }
  void Begin(Tape* tape) { tape_ = tape; }
  void End() { tape_ = nullptr; }

  void Note(std::string what, std::function<void()> run) {
    const std::lock_guard lock(mutex_);
    tape_.load()->operations.push_back({std::move(what), std::move(run)});
  }
  // The tensor's block, where it is not of the tape's pool, has to live on as long as the tape.
  void Uses(const at::Tensor& tensor) {
    const std::lock_guard lock(mutex_);
    const void* address = tensor.const_data_ptr();
    if (const std::int64_t birth = TheArena().FindBirth(address); birth > 0) tape_.load()->births[address] = birth;
  }

  // Throws where a step is being recorded that the host must not look into.
  void Refuse(const std::string& what) const { TORCH_CHECK(!active(), "in a recorded step: ", what); }

 private:
  std::atomic<Tape*> tape_{nullptr};
  std::mutex mutex_;
};

// Copies between the host and the device are a kernel's own for as long as it lives.
class KernelScope {
 public:
  KernelScope() { ++Depth(); }
  ~KernelScope() { --Depth(); }
  KernelScope(const KernelScope&) = delete;
  KernelScope& operator=(const KernelScope&) = delete;
  static bool Active() { return Depth() > 0; }

 private:
  static int& Depth() {
    thread_local int depth = 0;
    return depth;
  }
};

struct PretendAllocator final : c10::Allocator {
  c10::DataPtr allocate(std::size_t bytes) override {
    const at::Device device(kPretend, CurrentIndex());
    if (bytes == 0) return {nullptr, device};
    char* address = TheArena().Take(bytes, Recorder::One().pool());
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
  const KernelScope copies;
  return result.defined() ? result.to(device) : result;
}

// Text that differs wherever the tensor that a kernel is given would lie elsewhere or be another number.
std::string Describe(const at::Tensor& tensor) {
  if (!tensor.defined()) return "none";
  std::ostringstream text;
  text << tensor.scalar_type() << tensor.sizes() << tensor.strides();
  if (!IsPretend(tensor)) {
    text << " = " << std::hexfloat << tensor.item().toDouble();
  } else if (TheArena().FindBirth(tensor.const_data_ptr()) > 0) {
    text << " at " << tensor.const_data_ptr();
  }
  return text.str();
}

std::string Describe(const c10::IValue& value) {
  if (value.isTensor()) return Describe(value.toTensor());
  std::ostringstream text;
  text << std::hexfloat;
  if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) text << Describe(tensor) << ' ';
  } else if (value.isOptionalTensorList()) {
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector())
      text << Describe(tensor.value_or(at::Tensor())) << ' ';
  } else if (value.isDouble()) {
    text << value.toDouble();
  } else {
    text << value;
  }
  return text.str();
}

// In a recorded step: notes which blocks the arguments lie in.
void NoteUses(const c10::IValue& value) {
  const auto note = [](const at::Tensor& tensor) {
    if (IsPretend(tensor) && tensor.numel() > 0) Recorder::One().Uses(tensor);
  };
  if (value.isTensor()) note(value.toTensor());
  if (value.isTensorList())
    for (const at::Tensor& tensor : value.toTensorVector()) note(tensor);
  if (value.isOptionalTensorList())
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) note(tensor.value_or(at::Tensor()));
}

// What an operation of a recorded step is told, and how it is done again.
void NoteCall(const std::string& name, const std::vector<c10::IValue>& given, std::function<void()> run) {
  std::string what = name + "(";
  for (const c10::IValue& value : given) {
    NoteUses(value);
    what += (what.back() == '(' ? "" : ", ") + Describe(value);
  }
  Recorder::One().Note(what + ")", std::move(run));
}

// Refuses operations whose results have a shape that the host can only know by reading.
void RefuseUnknownShapes(const c10::OperatorHandle& operation, const std::vector<c10::IValue>& given) {
  if (!Recorder::One().active()) return;
  const std::string name = c10::toString(operation.schema().operator_name());
  const bool picks = name.starts_with("aten::index.Tensor");
  const bool masks = std::any_of(given.begin(), given.end(), [](const c10::IValue& value) {
    if (!value.isOptionalTensorList()) return false;
    const auto tensors = value.toOptionalTensorVector();
    return std::any_of(tensors.begin(), tensors.end(), [](const auto& t) {
      return t && (t->scalar_type() == at::kBool || t->scalar_type() == at::kByte);
    });
  });
  if (masks ||
      (!picks && (operation.hasTag(at::Tag::dynamic_output_shape) || operation.hasTag(at::Tag::data_dependent_output))))
    Recorder::One().Refuse(name + " has a result whose shape depends on what it reads");
}

// An operation may give its output another size. Returns whether it did.
bool TakeSize(const at::Tensor& output, const at::Tensor& written) {
  if (output.sizes() == written.sizes()) return false;
  const KernelScope copies;
  const at::Tensor grown = written.to(output.device());
  output.unsafeGetTensorImpl()->set_storage_keep_dtype(grown.storage());
  output.unsafeGetTensorImpl()->set_sizes_and_strides(grown.sizes(), grown.strides(), grown.storage_offset());
  return true;
}

// A number of the host as a recorded step keeps it: with the value that it has now.
c10::IValue Frozen(const c10::IValue& opened, const c10::IValue& given) {
  return given.isTensor() && given.toTensor().defined() && !IsPretend(given.toTensor()) ? opened.toTensor().clone()
                                                                                        : opened;
}

// Any operation, by the CPU's kernel.
void RunOnHost(const c10::OperatorHandle& operation, torch::jit::Stack* stack) {
  const c10::FunctionSchema& schema = operation.schema();
  const std::size_t begin = stack->size() - schema.arguments().size();
  const std::vector<c10::IValue> given(stack->begin() + static_cast<std::ptrdiff_t>(begin), stack->end());
  Arguments arguments(c10::toString(schema.operator_name()));
  for (std::size_t i = begin; i < stack->size(); ++i) (*stack)[i] = arguments.ForHost((*stack)[i]);
  const at::Device device = arguments.Check();
  RefuseUnknownShapes(operation, given);
  const bool recorded = Recorder::One().active();
  if (recorded)
    for (std::size_t i = begin; i < stack->size(); ++i) (*stack)[i] = Frozen((*stack)[i], given[i - begin]);
  const std::vector<c10::IValue> opened(stack->begin() + static_cast<std::ptrdiff_t>(begin), stack->end());
  std::vector<std::pair<std::size_t, at::Tensor>> written;  // results by their places, and where they lie
  ++Operations();
  operation.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  const std::size_t results = stack->size() - schema.returns().size();
  for (std::size_t i = 0; i < schema.returns().size(); ++i) {
    c10::IValue& value = (*stack)[results + i];
    const c10::AliasInfo* alias = schema.returns()[i].alias_info();
    if (alias != nullptr) {
      const auto argument = std::find_if(schema.arguments().begin(), schema.arguments().end(), [&](const auto& of) {
        return of.alias_info() != nullptr && *of.alias_info() == *alias;
      });
      TORCH_CHECK(alias->isWrite() && argument != schema.arguments().end(), schema.operator_name(),
                  ": the pretend device knows no such view");
      const auto at = static_cast<std::size_t>(argument - schema.arguments().begin());
      if (TakeSize(given[at].toTensor(), opened[at].toTensor())) written.emplace_back(i, Opened(given[at].toTensor()));
      value = given[at];
    } else if (value.isTensor()) {
      value = OnPretend(value.toTensor(), device);
      if (value.toTensor().defined()) written.emplace_back(i, Opened(value.toTensor()));
    } else {
      TORCH_CHECK(!value.isTensorList(), schema.operator_name(), ": the pretend device returns no lists");
    }
  }
  if (recorded)
    NoteCall(c10::toString(schema.operator_name()), given, [operation, opened, written] {
      torch::jit::Stack again(opened.begin(), opened.end());
      operation.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &again);
      for (const auto& [place, to] : written) to.copy_(again[place].toTensor());
    });
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
  const bool kernel = KernelScope::Active();
  if (!kernel && !IsPretend(to)) Recorder::One().Refuse("the host reads a tensor");
  if (!kernel && !IsPretend(from)) Recorder::One().Refuse("the host writes a tensor");
  if (non_blocking && CurrentStream() != 0 && IsPretend(from) && !IsPretend(to)) {
    TORCH_CHECK(from.is_contiguous() && to.is_contiguous() && from.dtype() == to.dtype(), "no such late copy");
    // The memory is not held: a copy that outlives its tensor finds what lies there then.
    LateCopies::All().Add([bytes = from.nbytes(), source = TheArena().Opened(from.const_data_ptr()), to] {
      std::copy_n(source, bytes, static_cast<char*>(to.mutable_data_ptr()));
    });
    return to;
  }
  const at::Tensor source = IsPretend(from) ? Opened(from) : from, target = IsPretend(to) ? Opened(to) : to;
  target.copy_(source);
  if (!kernel && Recorder::One().active())
    NoteCall("aten::_copy_from", {from, to}, [source, target] { target.copy_(source); });
  return to;
}

at::Scalar OneNumber(const at::Tensor& tensor) {
  ++Operations();
  Recorder::One().Refuse("the host reads a number");
  return at::native::_local_scalar_dense_cpu(Opened(tensor));
}

at::Tensor View(const at::Tensor& tensor, at::IntArrayRef sizes) { return at::native::view(tensor, sizes); }

at::Tensor ViewAsReal(const at::Tensor& tensor) { return at::native::view_as_real(tensor); }

at::Tensor ViewAsComplex(const at::Tensor& tensor) { return at::native::view_as_complex(tensor); }

at::Tensor ViewAs(const at::Tensor& tensor, at::ScalarType type) { return at::native::view_dtype(tensor, type); }

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
  const auto compute = [x = Opened(input), w = Opened(weight), added, stride = stride.vec(), padding = padding.vec(),
                        dilation = dilation.vec(), transposed, output_padding = output_padding.vec(), groups] {
    if (!added.defined())
      return at::convolution(x, w, {}, stride, padding, dilation, transposed, output_padding, groups);
    return at::convolution(x, w, Opened(added), stride, padding, dilation, transposed, output_padding, groups);
  };
  const at::Tensor result = OnPretend(compute(), input.device());
  if (Recorder::One().active())
    NoteCall("convolution", {input, weight, added, stride, padding, dilation},
             [compute, to = Opened(result)] { to.copy_(compute()); });
  return result;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> ConvolutionBackward(const at::Tensor& gradient, const at::Tensor& input,
                                                                   const at::Tensor& weight, at::IntArrayRef stride,
                                                                   at::IntArrayRef padding, at::IntArrayRef dilation,
                                                                   bool transposed, at::IntArrayRef output_padding,
                                                                   std::int64_t groups, std::array<bool, 3> mask) {
  CheckTogether({gradient, input, weight}, "convolution_backward");
  const std::vector<std::int64_t> bias = {weight.size(transposed ? 1 : 0)};
  const auto compute = [g = Opened(gradient), x = Opened(input), w = Opened(weight), bias, stride = stride.vec(),
                        padding = padding.vec(), dilation = dilation.vec(), transposed,
                        output_padding = output_padding.vec(), groups, mask] {
    const auto [of_input, of_weight, of_bias] =
        at::convolution_backward(g, x, w, bias, stride, padding, dilation, transposed, output_padding, groups, mask);
    return std::vector<at::Tensor>{of_input, of_weight, of_bias};
  };
  std::vector<at::Tensor> results;
  for (const at::Tensor& result : compute()) results.push_back(OnPretend(result, input.device()));
  if (Recorder::One().active()) {
    std::vector<at::Tensor> places;
    for (const at::Tensor& result : results) places.push_back(result.defined() ? Opened(result) : result);
    NoteCall("convolution_backward", {gradient, input, weight, stride, padding, dilation}, [compute, places] {
      const std::vector<at::Tensor> again = compute();
      for (std::size_t i = 0; i < places.size(); ++i)
        if (places[i].defined()) places[i].copy_(again[i]);
    });
  }
  return {results[0], results[1], results[2]};
}

// Rounded correctly, as CUDA's is. LibTorch's for the CPU may be that of a library that rounds otherwise.
at::Tensor& SquareRoot(const at::Tensor& tensor, at::Tensor& out) {
  CheckTogether({tensor, out}, "sqrt");
  TORCH_CHECK(tensor.is_contiguous() && out.is_contiguous() && out.sizes() == tensor.sizes());
  const auto compute = [source = Opened(tensor), target = Opened(out)] {
    AT_DISPATCH_FLOATING_TYPES(source.scalar_type(), "sqrt", [&] {
      const auto* from = source.const_data_ptr<scalar_t>();
      std::transform(from, from + source.numel(), target.data_ptr<scalar_t>(),
                     [](scalar_t value) { return std::sqrt(value); });
    });
  };
  compute();
  if (Recorder::One().active()) NoteCall("aten::sqrt", {tensor, out}, compute);
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
    Recorder::One().Refuse("noise is drawn");
    ++calls;
    at::Tensor here = Opened(out);
    return host.FillLatticeNormal(key, stream, scale, here);
  }
  Status NormaliseAndNoise(const at::Tensor& gradient, const worker::noise::LatticeRows& rows,
                           const worker::noise::NoiseKey& key, worker::noise::StreamId stream,
                           at::Tensor& values) override {
    TORCH_CHECK(gradient.device().type() == kPretend && values.device() == gradient.device(),
                "noise for another device");
    Recorder::One().Refuse("noise is drawn");
    ++calls;
    at::Tensor here = Opened(values);
    return host.NormaliseAndNoise(Opened(gradient), rows, key, stream, here);
  }
  worker::noise::HostNoise host;
  std::atomic<std::int64_t> calls{0};
};

class PretendGraph final : public worker::DeviceGraph {
 public:
  explicit PretendGraph(bool checked) : checked_(checked) { tape_.pool = NextPool(); }
  ~PretendGraph() override { TheArena().EndPool(tape_.pool); }
  PretendGraph(const PretendGraph&) = delete;
  PretendGraph& operator=(const PretendGraph&) = delete;

  // Nothing is done: the memory of everybody else is as it was.
  Status Record(const std::function<Status()>& body) {
    const Arena::Contents before = TheArena().Save();
    const Status said = RunRecorded(body, tape_);
    TheArena().Restore(before);
    if (!said.ok()) return said;
    if (TheArena().HoldsPool(tape_.pool)) return Refused("in a recorded step: a tensor that it made outlasts it");
    return {};
  }

  Status Replay(const std::function<Status()>& body) override {
    for (const auto& [address, birth] : tape_.births)
      if (TheArena().FindBirth(address) != birth) return Refused("a recorded step uses memory that was given back");
    const Arena::Contents before = checked_ ? TheArena().Save() : Arena::Contents();
    RunTape();
    return checked_ ? Compare(before, body) : Status();
  }

 private:
  static std::int64_t NextPool() {
    static std::int64_t pools = 0;
    return ++pools;
  }

  static Status RunRecorded(const std::function<Status()>& body, Tape& tape) {
    Recorder::One().Begin(&tape);
    Status said;
    try {
      said = body();
    } catch (const c10::Error& error) {
      said = Refused(error.what_without_backtrace());
    }
    Recorder::One().End();
    return said;
  }

  void RunTape() {
    const at::NoGradGuard no_grad;
    TheArena().Scribble(tape_.pool);
    for (const Tape::Operation& operation : tape_.operations) operation.run();
    TheArena().Scribble(tape_.pool);
  }

  // Does the step once more as it is, and compares what it was told and what it left.
  Status Compare(const Arena::Contents& before, const std::function<Status()>& body) {
    const Arena::Contents replayed = TheArena().Save();
    TheArena().Restore(before);
    Tape again;
    again.pool = NextPool();
    const Status said = RunRecorded(body, again);
    const Arena::Contents done = TheArena().Save();
    TheArena().EndPool(again.pool);
    TheArena().Restore(replayed);
    if (!said.ok()) return said;
    const std::size_t common = std::min(again.operations.size(), tape_.operations.size());
    for (std::size_t i = 0; i < common; ++i) {
      const std::string &was = tape_.operations[i].what, &is = again.operations[i].what;
      if (was != is) return Refused("a recorded step is stale: it does " + was + ", and should do " + is);
    }
    if (again.operations.size() != tape_.operations.size())
      return Refused("a recorded step is stale: it does " + std::to_string(tape_.operations.size()) +
                     " operations, and should do " + std::to_string(again.operations.size()));
    for (const auto& [address, bytes] : replayed)
      if (const auto found = done.find(address); found != done.end() && found->second != bytes)
        return Refused("a recorded step is stale: it leaves other numbers");
    return {};
  }

  Tape tape_;
  bool checked_;
};

struct PretendGraphs final : worker::GraphDevice {
  static PretendGraphs& One() {
    static PretendGraphs graphs;
    return graphs;
  }
  Result<std::unique_ptr<worker::DeviceGraph>> Record(const std::function<Status()>& body) override {
    auto graph = std::make_unique<PretendGraph>(checked);
    RETORT_RETURN_IF_ERROR(graph->Record(body));
    return std::unique_ptr<worker::DeviceGraph>(std::move(graph));
  }
  void Upload(const at::Tensor& from, const at::Tensor& to) override { to.copy_(from); }
  bool checked = false;
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
  library.impl("view.dtype", &ViewAs);
  library.impl("view_as_real", &ViewAsReal);
  library.impl("view_as_complex", &ViewAsComplex);
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
      return worker::OpenDevice{PretendDevice(ordinal), &PretendNoise::One(), nullptr, &PretendGraphs::One()};
  return EnvironmentError("There is no pretend device '" + name + "'.");
}

std::int64_t PretendNoises() { return PretendNoise::One().calls; }

std::int64_t PretendOperations() { return Operations(); }

worker::GraphDevice& PretendGraphDevice() { return PretendGraphs::One(); }

void CheckPretendReplays(bool check) { PretendGraphs::One().checked = check; }

}  // namespace retort::testing
