#include "storage/weights/stored_state.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <future>
#include <set>
#include <utility>

#include "storage/formats/byte_codec.h"

namespace retort::storage {
namespace {

struct TypeName {
  ElementType type;
  std::size_t bytes;
  std::string_view torch, safetensors;
};
constexpr std::array kElementTypes = {TypeName{ElementType::f64, 8, "DoubleStorage", "F64"},
                                      TypeName{ElementType::f32, 4, "FloatStorage", "F32"},
                                      TypeName{ElementType::f16, 2, "HalfStorage", "F16"},
                                      TypeName{ElementType::bf16, 2, "BFloat16Storage", "BF16"},
                                      TypeName{ElementType::i64, 8, "LongStorage", "I64"},
                                      TypeName{ElementType::i32, 4, "IntStorage", "I32"},
                                      TypeName{ElementType::i16, 2, "ShortStorage", "I16"},
                                      TypeName{ElementType::i8, 1, "CharStorage", "I8"},
                                      TypeName{ElementType::u64, 8, "", "U64"},
                                      TypeName{ElementType::u32, 4, "", "U32"},
                                      TypeName{ElementType::u16, 2, "", "U16"},
                                      TypeName{ElementType::u8, 1, "ByteStorage", "U8"},
                                      TypeName{ElementType::boolean, 1, "BoolStorage", "BOOL"}};

constexpr std::uint32_t kExponent = 0x7F800000;
constexpr std::size_t kBlock = 4096;  // elements at a time, through a buffer that stays in the cache

// IEEE half precision, by way of a product that normalises what is subnormal.
std::uint32_t HalfToFloatBits(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16U, rest = half & 0x7FFFU;
  if (rest >= 0x7C00U) return sign | kExponent | ((rest & 0x3FFU) << 13U);
  const float scaled = std::bit_cast<float>(rest << 13U) * 0x1p112F;
  return sign | std::bit_cast<std::uint32_t>(scaled);
}

template <typename In, typename Out, typename F>
void AppendEach(std::string_view bytes, std::vector<std::uint8_t>& out, F convert) {
  std::array<In, kBlock> in;
  std::array<Out, kBlock> made;
  while (!bytes.empty()) {
    const std::size_t count = std::min(kBlock, bytes.size() / sizeof(In));
    std::memcpy(in.data(), bytes.data(), count * sizeof(In));
    for (std::size_t i = 0; i < count; ++i) made[i] = convert(in[i]);
    const auto* begin = reinterpret_cast<const std::uint8_t*>(made.data());
    out.insert(out.end(), begin, begin + count * sizeof(Out));
    bytes.remove_prefix(count * sizeof(In));
  }
}

template <typename In>
void AppendIntegers(std::string_view bytes, std::vector<std::uint8_t>& out) {
  AppendEach<In, std::int64_t>(bytes, out, [](In value) { return static_cast<std::int64_t>(value); });
}

bool AllFinite(const std::uint8_t* floats, std::size_t bytes) {
  std::uint32_t bad = 0;
  for (std::size_t at = 0; at < bytes; at += 4) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, floats + at, 4);
    bad |= static_cast<std::uint32_t>((bits & kExponent) == kExponent);
  }
  return bad == 0;
}

void AppendFloats(ElementType type, std::string_view bytes, std::vector<std::uint8_t>& out) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  if (type == ElementType::f32) {
    out.insert(out.end(), begin, begin + bytes.size());
  } else if (type == ElementType::f64) {
    AppendEach<double, float>(bytes, out, [](double value) { return static_cast<float>(value); });
  } else if (type == ElementType::f16) {
    AppendEach<std::uint16_t, std::uint32_t>(bytes, out, &HalfToFloatBits);
  } else {
    AppendEach<std::uint16_t, std::uint32_t>(
        bytes, out, [](std::uint16_t value) { return static_cast<std::uint32_t>(value) << 16U; });
  }
}

void AppendWhole(ElementType type, std::string_view bytes, std::vector<std::uint8_t>& out) {
  switch (type) {
    case ElementType::i64:
    case ElementType::u64:
      return AppendIntegers<std::int64_t>(bytes, out);
    case ElementType::i32:
      return AppendIntegers<std::int32_t>(bytes, out);
    case ElementType::i16:
      return AppendIntegers<std::int16_t>(bytes, out);
    case ElementType::i8:
      return AppendIntegers<std::int8_t>(bytes, out);
    case ElementType::u32:
      return AppendIntegers<std::uint32_t>(bytes, out);
    case ElementType::u16:
      return AppendIntegers<std::uint16_t>(bytes, out);
    case ElementType::u8:
      return AppendIntegers<std::uint8_t>(bytes, out);
    default:
      AppendEach<std::uint8_t, std::int64_t>(bytes, out, [](std::uint8_t value) { return std::int64_t{value != 0}; });
  }
}

}  // namespace

std::size_t ComputeByteSize(ElementType type) { return kElementTypes[static_cast<std::size_t>(type)].bytes; }

bool IsFloating(ElementType type) { return type <= ElementType::bf16; }

DType GetLoadedType(ElementType type) { return IsFloating(type) ? DType::f32 : DType::i64; }

std::optional<ElementType> ParseTorchStorageType(std::string_view name) {
  for (const TypeName& entry : kElementTypes)
    if (!entry.torch.empty() && entry.torch == name) return entry.type;
  return std::nullopt;
}

std::optional<ElementType> ParseSafetensorsType(std::string_view name) {
  for (const TypeName& entry : kElementTypes)
    if (entry.safetensors == name) return entry.type;
  return std::nullopt;
}

Converted AppendConverted(ElementType type, std::string_view bytes, std::vector<std::uint8_t>& out) {
  const std::size_t before = out.size();
  Converted saw;
  if (IsFloating(type)) {
    AppendFloats(type, bytes, out);
    saw.finite = AllFinite(out.data() + before, out.size() - before);
    return saw;
  }
  AppendWhole(type, bytes, out);
  if (type != ElementType::u64) return saw;
  for (std::size_t at = before + 7; at < out.size(); at += 8) saw.in_range = saw.in_range && out[at] < 0x80;
  return saw;
}

namespace {

constexpr std::size_t kPiece = 256 << 10;
constexpr std::uint64_t kMaxGrowth = 16, kSlack = 1 << 20;
constexpr std::uint64_t kWorthAThread = 16 << 20;  // bytes of all storages

std::string Where(const std::string& file, const StoredTensor& tensor) {
  return file + ": offset " + std::to_string(tensor.at) + ": the tensor '" + tensor.name + "' ";
}

// Number of elements; the view lies inside `count` elements of its storage.
Result<std::uint64_t> CheckView(const std::string& file, const StoredTensor& tensor, const StoredStorage& storage) {
  const auto refuse = [&](const char* what) { return DamageError(Where(file, tensor) + what); };
  if (tensor.shape.size() != tensor.strides.size() || tensor.shape.size() > kMaxTensorExtents)
    return refuse("has no sound shape: sizes and strides must be equally many, at most 64");
  std::uint64_t elements = 1, last = static_cast<std::uint64_t>(tensor.first);
  if (tensor.first < 0) return refuse("begins before its storage");
  for (const std::int64_t extent : tensor.shape) {
    if (extent < 0 || __builtin_mul_overflow(elements, static_cast<std::uint64_t>(extent), &elements))
      return refuse("has an impossible shape");
  }
  if (!ComputeTensorBytes(GetLoadedType(storage.type), tensor.shape)) return refuse("has an impossible shape");
  if (elements == 0) return elements;
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    std::uint64_t reach = 0;
    if (tensor.strides[i] < 0 ||
        __builtin_mul_overflow(static_cast<std::uint64_t>(tensor.shape[i] - 1),
                               static_cast<std::uint64_t>(tensor.strides[i]), &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return refuse("has negative or overflowing strides");
  }
  if (last >= storage.count) return refuse("reaches beyond its storage");
  return elements;
}

Status CheckState(const InputFile& file, const std::string& name, const StoredState& state) {
  for (const StoredStorage& storage : state.storages)
    if (storage.offset > file.size() || storage.count > (file.size() - storage.offset) / ComputeByteSize(storage.type))
      return DamageError(name + ": offset " + std::to_string(storage.offset) + ": a storage of " +
                         std::to_string(storage.count) + " elements reaches beyond the file's " +
                         std::to_string(file.size()) + " bytes: it was cut short");
  const std::uint64_t most =
      file.size() > (~std::uint64_t{0} - kSlack) / kMaxGrowth ? ~std::uint64_t{0} : kMaxGrowth * file.size() + kSlack;
  std::uint64_t total = 0;
  std::set<std::string_view> names;
  for (const StoredTensor& tensor : state.tensors) {
    const StoredStorage& storage = state.storages[tensor.storage];
    RETORT_ASSIGN_OR_RETURN(const std::uint64_t elements, CheckView(name, tensor, storage));
    const std::uint64_t bytes = ComputeByteSize(GetLoadedType(storage.type));
    if (elements > (most - total) / bytes)
      return Refused(Where(name, tensor) + "would bring the memory taken beyond 16 times the file's size");
    total += elements * bytes;
    if (!names.insert(tensor.name).second) return Refused(Where(name, tensor) + "is there twice");
  }
  return {};
}

bool IsRowMajor(const StoredTensor& tensor) {
  std::uint64_t expected = 1;  // may wrap round for a tensor without elements
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] != 1 && static_cast<std::uint64_t>(tensor.strides[i]) != expected) return false;
    expected *= static_cast<std::uint64_t>(tensor.shape[i]);
  }
  return true;
}

std::uint64_t Elements(const StoredTensor& tensor) {
  std::uint64_t count = 1;
  for (const std::int64_t extent : tensor.shape) count *= static_cast<std::uint64_t>(extent);
  return count;
}

// Storages that one thread reads, one after the other; their tensors belong to it meanwhile.
class StorageReader {
 public:
  StorageReader(const InputFile& file, const std::string& name, const StoredState& state, bool non_finite,
                std::vector<TensorBlob>& blobs)
      : file_(file), name_(name), state_(state), non_finite_(non_finite), blobs_(blobs) {}

  // Most storages belong to one tensor that is all of it: it is converted as it is read. Of others the
  // elements are read first.
  Status LoadStorage(const StoredStorage& storage, const std::vector<std::size_t>& users) {
    const StoredTensor& only = state_.tensors[users.front()];
    if (users.size() == 1 && IsRowMajor(only) && only.first == 0 && Elements(only) == storage.count) {
      blobs_[users.front()].bytes.reserve(storage.count * ComputeByteSize(GetLoadedType(storage.type)));
      return ReadPieces(
          storage, [&](std::string_view piece) { return Append(users.front(), storage.type, piece); }, only);
    }
    std::string elements;
    elements.reserve(storage.count * ComputeByteSize(storage.type));
    RETORT_RETURN_IF_ERROR(ReadPieces(
        storage,
        [&](std::string_view piece) -> Status {
          elements += piece;
          return {};
        },
        only));
    for (const std::size_t user : users) RETORT_RETURN_IF_ERROR(Gather(user, storage.type, elements));
    return {};
  }

 private:
  template <typename Take>
  Status ReadPieces(const StoredStorage& storage, const Take& take, const StoredTensor& tensor) {
    std::uint32_t crc = 0;
    const std::uint64_t bytes = storage.count * ComputeByteSize(storage.type);
    for (std::uint64_t done = 0; done < bytes;) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, bytes - done));
      RETORT_RETURN_IF_ERROR(file_.ReadAt(storage.offset + done, size, buffer_.data()));
      if (storage.crc) crc = ExtendCrc32(crc, {buffer_.data(), size});
      RETORT_RETURN_IF_ERROR(take({buffer_.data(), size}));
      done += size;
    }
    if (!storage.crc || *storage.crc == crc) return {};
    return DamageError(name_ + ": offset " + std::to_string(storage.offset) + ": the values of the tensor '" +
                       tensor.name + "' fail their checksum: fetch the file again");
  }

  Status Append(std::size_t user, ElementType type, std::string_view bytes) {
    const Converted saw = AppendConverted(type, bytes, blobs_[user].bytes);
    const StoredTensor& tensor = state_.tensors[user];
    if (!saw.in_range) return Refused(Where(name_, tensor) + "holds an integer beyond 63 bits");
    if (saw.finite || non_finite_) return {};
    return Refused(Where(name_, tensor) +
                   "holds NaN or infinity (or a float64 beyond float32): these weights are broken");
  }

  // Rows along the last extent are copied at once where they lie together.
  Status Gather(std::size_t user, ElementType type, std::string_view elements) {
    const StoredTensor& tensor = state_.tensors[user];
    const std::uint64_t count = Elements(tensor);
    const std::size_t size = ComputeByteSize(type);
    if (count == 0) return {};
    blobs_[user].bytes.reserve(count * ComputeByteSize(GetLoadedType(type)));
    if (IsRowMajor(tensor))
      return Append(user, type, elements.substr(static_cast<std::size_t>(tensor.first) * size, count * size));
    std::vector<std::int64_t> index(tensor.shape.size(), 0);
    std::string gathered;
    std::int64_t at = tensor.first;
    for (std::uint64_t done = 0; done < count; ++done) {
      gathered += elements.substr(static_cast<std::size_t>(at) * size, size);
      if (gathered.size() >= kPiece || done + 1 == count) {
        RETORT_RETURN_IF_ERROR(Append(user, type, gathered));
        gathered.clear();
      }
      for (std::size_t axis = index.size(); axis-- > 0;) {
        at += tensor.strides[axis];
        if (++index[axis] < tensor.shape[axis]) break;
        at -= tensor.strides[axis] * tensor.shape[axis];
        index[axis] = 0;
      }
    }
    return {};
  }

  const InputFile& file_;
  const std::string& name_;
  const StoredState& state_;
  const bool non_finite_;
  std::vector<TensorBlob>& blobs_;
  std::vector<char> buffer_ = std::vector<char>(kPiece);
};

// Two threads take storages in the order of the file: most of the time goes into fresh pages and checksums.
class Loading {
 public:
  Loading(const InputFile& file, const std::string& name, const StoredState& state, bool non_finite)
      : file_(file),
        name_(name),
        state_(state),
        non_finite_(non_finite),
        blobs_(state.tensors.size()),
        users_(state.storages.size()),
        statuses_(state.storages.size()) {}

  Result<std::vector<TensorBlob>> Load() {
    for (std::size_t i = 0; i < state_.tensors.size(); ++i) {
      const StoredTensor& tensor = state_.tensors[i];
      blobs_[i].name = tensor.name;
      blobs_[i].shape = tensor.shape;
      blobs_[i].dtype = GetLoadedType(state_.storages[tensor.storage].type);
      users_[tensor.storage].push_back(i);
    }
    std::uint64_t bytes = 0;
    for (const StoredStorage& storage : state_.storages) bytes += storage.count * ComputeByteSize(storage.type);
    std::future<void> beside;
    if (bytes >= kWorthAThread) beside = std::async([this] { Take(); });
    Take();
    if (beside.valid()) beside.get();
    for (Status& status : statuses_)
      if (!status.ok()) return std::move(status);
    return std::move(blobs_);
  }

 private:
  // After one that fails none is taken. Those taken before are finished, so that always the same failure is
  // told: the first of the file.
  void Take() {
    StorageReader reader(file_, name_, state_, non_finite_, blobs_);
    for (std::size_t s = next_++; s < users_.size(); s = next_++) {
      if (users_[s].empty()) continue;
      statuses_[s] = reader.LoadStorage(state_.storages[s], users_[s]);
      if (!statuses_[s].ok()) next_ = users_.size();
    }
  }

  const InputFile& file_;
  const std::string& name_;
  const StoredState& state_;
  const bool non_finite_;
  std::vector<TensorBlob> blobs_;
  std::vector<std::vector<std::size_t>> users_;  // tensors of each storage
  std::vector<Status> statuses_;                 // of each storage
  std::atomic<std::size_t> next_{0};
};

}  // namespace

Result<std::vector<TensorBlob>> LoadTensors(const InputFile& file, const std::string& name, const StoredState& state,
                                            bool non_finite) {
  RETORT_RETURN_IF_ERROR(CheckState(file, name, state));
  return Loading(file, name, state, non_finite).Load();
}

}  // namespace retort::storage
