#include "storage/weights/write_weights.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "experiments/base/json.h"
#include "storage/formats/byte_codec.h"
#include "storage/formats/zip_archive.h"

namespace retort::storage {
namespace {

constexpr std::uint32_t kAlignment = 64;

struct WrittenType {
  DType dtype;
  std::string_view torch, safetensors;
};
constexpr WrittenType kWrittenTypes[] = {{DType::f32, "FloatStorage", "F32"},
                                         {DType::f64, "DoubleStorage", "F64"},
                                         {DType::i32, "IntStorage", "I32"},
                                         {DType::i64, "LongStorage", "I64"},
                                         {DType::u8, "ByteStorage", "U8"}};

const WrittenType* FindWrittenType(DType dtype) {
  for (const WrittenType& type : kWrittenTypes)
    if (type.dtype == dtype) return &type;
  return nullptr;
}

Status Check(const std::vector<TensorBlob>& tensors) {
  std::set<std::string_view> names;
  for (const TensorBlob& tensor : tensors) {
    if (tensor.name.empty() || !names.insert(tensor.name).second)
      return Refused("A state dict cannot have two tensors, or a nameless one, under '" + tensor.name + "'.");
    if (FindWrittenType(tensor.dtype) == nullptr)
      return Refused("The tensor '" + tensor.name + "' has an element type that PyTorch's state dicts lack.");
    RETORT_CHECK(ComputeTensorBytes(tensor.dtype, tensor.shape) == tensor.bytes.size());
  }
  return {};
}

std::string_view CountBytes(const TensorBlob& tensor) {
  return {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()};
}

// Pickle protocol 2, without a memo.
class PickleText {
 public:
  explicit PickleText(std::string& out) : out_(out) {}
  void Op(std::string_view bytes) { out_ += bytes; }
  void Text(std::string_view text) {
    ByteWriter size;
    size.U32(static_cast<std::uint32_t>(text.size()));
    out_ += 'X';
    out_ += size.bytes();
    out_ += text;
  }
  void Integer(std::int64_t value) {
    ByteWriter bytes;
    if (value >= 0 && value < (std::int64_t{1} << 31)) {
      bytes.U8('J');
      bytes.U32(static_cast<std::uint32_t>(value));
    } else {
      bytes.U8(0x8a);  // LONG1 of eight bytes
      bytes.U8(8);
      bytes.I64(value);
    }
    out_ += bytes.bytes();
  }
  void Tuple(const std::vector<std::int64_t>& values) {
    out_ += '(';
    for (const std::int64_t value : values) Integer(value);
    out_ += 't';
  }

 private:
  std::string& out_;
};

constexpr std::string_view kNewDict = "ccollections\nOrderedDict\n)R";

// _rebuild_tensor_v2(storage, 0, shape, strides, False, OrderedDict())
void PutTensor(PickleText& pickle, const TensorBlob& tensor, std::size_t key) {
  std::vector<std::int64_t> strides(tensor.shape.size(), 1);
  for (std::size_t i = strides.size(); i-- > 1;)
    strides[i - 1] = strides[i] * std::max<std::int64_t>(tensor.shape[i], 1);
  pickle.Op("ctorch._utils\n_rebuild_tensor_v2\n((");
  pickle.Text("storage");
  pickle.Op("ctorch\n" + std::string(FindWrittenType(tensor.dtype)->torch) + "\n");
  pickle.Text(std::to_string(key));
  pickle.Text("cpu");
  pickle.Integer(static_cast<std::int64_t>(tensor.bytes.size() / ComputeByteSize(tensor.dtype)));
  pickle.Op("tQ");
  pickle.Integer(0);
  pickle.Tuple(tensor.shape);
  pickle.Tuple(strides);
  pickle.Op("\x89");
  pickle.Op(kNewDict);
  pickle.Op("tR");
}

}  // namespace

Result<std::string> EncodeTorch(const std::vector<TensorBlob>& tensors, const std::string& description) {
  RETORT_RETURN_IF_ERROR(Check(tensors));
  std::string bytes = "\x80\x02";
  PickleText pickle(bytes);
  pickle.Op(kNewDict);
  pickle.Op("(");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    pickle.Text(tensors[i].name);
    PutTensor(pickle, tensors[i], i);
  }
  pickle.Op("u.");
  ZipWriter zip(kAlignment);
  RETORT_RETURN_IF_ERROR(zip.Add("archive/data.pkl", bytes));
  RETORT_RETURN_IF_ERROR(zip.Add("archive/byteorder", "little"));
  for (std::size_t i = 0; i < tensors.size(); ++i)
    RETORT_RETURN_IF_ERROR(zip.Add("archive/data/" + std::to_string(i), CountBytes(tensors[i])));
  RETORT_RETURN_IF_ERROR(zip.Add("archive/version", "3\n"));
  if (!description.empty()) RETORT_RETURN_IF_ERROR(zip.Add("archive/extra/retort.json", description));
  return std::move(zip).Finish();
}

Result<std::string> EncodeSafetensors(const std::vector<TensorBlob>& tensors, const std::string& description) {
  RETORT_RETURN_IF_ERROR(Check(tensors));
  std::vector<const TensorBlob*> order;
  for (const TensorBlob& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const TensorBlob* a, const TensorBlob* b) {
    return ComputeByteSize(a->dtype) > ComputeByteSize(b->dtype);
  });
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "pt"}};
  if (!description.empty()) header["__metadata__"]["retort"] = description;
  std::uint64_t at = 0;
  for (const TensorBlob* tensor : order) {
    if (tensor->name == "__metadata__") return Refused("No tensor of a safetensors file may be named '__metadata__'.");
    const std::uint64_t end = at + tensor->bytes.size();
    header[tensor->name] = {
        {"dtype", FindWrittenType(tensor->dtype)->safetensors}, {"shape", tensor->shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = DumpJson(header);
  text.append((8 - text.size() % 8) % 8, ' ');
  ByteWriter size;
  size.U64(text.size());
  std::string bytes = size.bytes() + text;
  bytes.reserve(bytes.size() + at);
  for (const TensorBlob* tensor : order) bytes += CountBytes(*tensor);
  return bytes;
}

}  // namespace retort::storage
