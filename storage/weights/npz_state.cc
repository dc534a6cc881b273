// numpy's .npz, an array a tensor.
#include <algorithm>
#include <utility>

#include "storage/input_files.h"
#include "storage/npy_file.h"
#include "storage/unpacked_size.h"
#include "storage/weights/containers.h"

namespace retort::storage {
namespace {

constexpr std::size_t kMostName = 1024;

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

}  // namespace

Result<StoredState> ReadNpzState(std::shared_ptr<const InputFile> file, const std::string& name) {
  const std::uint64_t most = MostUnpacked(file->size());
  RETORT_ASSIGN_OR_RETURN(ZipFile zip, ZipFile::Open(std::move(file), name));
  const NpzFile arrays(std::move(zip));
  StoredState state;
  state.container = "npz";
  std::string bytes;
  for (const std::string& array : arrays.names()) {
    const std::string where = name + ": " + array;
    if (array.empty() || array.size() > kMostName)
      return Refused(where + ": a tensor's name is empty or longer than 1024 bytes");
    RETORT_ASSIGN_OR_RETURN(const TensorBlob blob, arrays.Read(array, most - bytes.size()));
    RETORT_ASSIGN_OR_RETURN(const ElementType type, TypeOf(where, blob.dtype));
    state.tensors.push_back({array, state.storages.size(), 0, blob.shape, RowMajor(blob.shape), bytes.size()});
    state.storages.push_back({type, bytes.size(), blob.bytes.size() / ByteSize(type), std::nullopt});
    bytes.append(reinterpret_cast<const char*>(blob.bytes.data()), blob.bytes.size());
  }
  state.unpacked = FileInMemory(name + ", unpacked", std::move(bytes));
  return state;
}

}  // namespace retort::storage
