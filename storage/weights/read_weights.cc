#include "storage/weights/read_weights.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <future>
#include <optional>
#include <utility>

#include "experiments/base/digests.h"
#include "storage/files/env.h"
#include "storage/files/read_limits.h"
#include "storage/formats/byte_codec.h"
#include "storage/formats/npy_file.h"
#include "storage/formats/tar_archive.h"
#include "storage/formats/zip_archive.h"
#include "storage/weights/class_names.h"
#include "storage/weights/stored_state.h"
#include "storage/weights/torch_file.h"

namespace retort::storage {
namespace {

// safetensors: header length (u64 little endian), JSON header of at most 100 MB, row-major elements without holes or
// overlaps.

constexpr std::uint64_t kMaxHeader = 100'000'000;
constexpr std::size_t kMaxTensors = 1 << 18;

struct Described {
  std::string name, dtype;
  std::vector<std::uint64_t> shape, span;
};

// {"name": {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}, "__metadata__": {text: text}}:
// nothing else is taken, so that no header makes more memory than its own size.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<Described> tensors;
  std::vector<std::string> class_names;
  std::string problem;

  bool null() override { return Refuse("null where it has no meaning"); }
  bool boolean(bool) override { return Refuse("a truth where it has no meaning"); }
  bool number_integer(number_integer_t) override { return Refuse("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { return Refuse("a number that is no integer"); }
  bool binary(binary_t&) override { return Refuse("binary data"); }
  bool number_unsigned(number_unsigned_t value) override {
    if (depth_ != 2 || metadata_ || list_ == nullptr) return Refuse("a number where it has no meaning");
    if (list_->size() == kMaxTensorExtents) return Refuse("more than 64 extents");
    list_->push_back(value);
    return true;
  }
  bool string(string_t& text) override {
    if (depth_ == 2 && metadata_) {
      if (IsClassNamesKey(field_)) {
        class_names = ParseClassNames(text);
      } else if (class_names.empty() && text.starts_with('{')) {
        class_names = FindClassNames(text);
      }
      return true;
    }
    if (depth_ != 2 || list_ != nullptr || field_ != "dtype") return Refuse("a text where it has no meaning");
    tensors.back().dtype = text;
    return text.size() <= 16 || Refuse("an unknown dtype");
  }
  bool key(string_t& text) override {
    if (depth_ == 1) return Tensor(text);
    field_ = text;
    if (metadata_) return true;
    const unsigned bit = text == "dtype" ? 1U : text == "shape" ? 2U : text == "data_offsets" ? 4U : 0U;
    if (bit == 0) return Refuse("an unknown field '" + text.substr(0, 80) + "'");
    if ((seen_ & bit) != 0) return Refuse("the field '" + text + "' twice");
    seen_ |= bit;
    return true;
  }
  bool start_object(std::size_t) override {
    seen_ = 0;
    return ++depth_ <= 2 || Refuse("objects too deep in one another");
  }
  bool end_object() override {
    if (--depth_ == 1 && !metadata_ && seen_ != 7) return Refuse("a tensor without dtype, shape or data_offsets");
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ != 2 || metadata_ || list_ != nullptr || (field_ != "shape" && field_ != "data_offsets"))
      return Refuse("a list where it has no meaning");
    list_ = field_ == "shape" ? &tensors.back().shape : &tensors.back().span;
    return true;
  }
  bool end_array() override {
    list_ = nullptr;
    return true;
  }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception&) override {
    if (problem.empty()) problem = "no JSON at its byte " + std::to_string(at);
    return false;
  }

 private:
  bool Tensor(const std::string& name) {
    metadata_ = name == "__metadata__";
    if (metadata_) return true;
    if (name.empty() || name.size() > kMaxTensorNameBytes || tensors.size() == kMaxTensors)
      return Refuse("too many tensors, or a name that is empty or longer than 1024 bytes");
    tensors.push_back({name, "", {}, {}});
    return true;
  }
  bool Refuse(const std::string& what) {
    if (problem.empty()) problem = what + (tensors.empty() ? "" : " (at the tensor '" + tensors.back().name + "')");
    return false;
  }

  int depth_ = 0;
  bool metadata_ = false;
  unsigned seen_ = 0;
  std::string field_;
  std::vector<std::uint64_t>* list_ = nullptr;
};

Status Damaged(const std::string& name, std::uint64_t at, const std::string& what) {
  return DamageError(name + ": offset " + std::to_string(at) + ": " + what);
}

// Row-major, from the first element of its own storage on. Nothing when the shape is impossible.
std::optional<std::vector<std::int64_t>> ComputeStrides(const std::vector<std::uint64_t>& shape,
                                                        std::uint64_t& elements) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  elements = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] >> 62U != 0) return std::nullopt;
    strides[i] = static_cast<std::int64_t>(elements);
    if (__builtin_mul_overflow(elements, shape[i], &elements) || elements >> 62U != 0) return std::nullopt;
  }
  return strides;
}

Status AddTensor(const Described& tensor, std::uint64_t begin, const std::string& name, StoredState& state) {
  const std::optional<ElementType> type = ParseSafetensorsType(tensor.dtype);
  if (!type)
    return Refused(name + ": offset 8: the tensor '" + tensor.name + "' has dtype " + tensor.dtype +
                   "; F64, F32, F16, BF16, I8 to I64, U8 to U64 and BOOL are read");
  std::uint64_t elements = 0;
  const auto strides = ComputeStrides(tensor.shape, elements);
  if (!strides || tensor.span.size() != 2 || tensor.span[1] < tensor.span[0] ||
      elements > ~std::uint64_t{0} / ComputeByteSize(*type) ||
      tensor.span[1] - tensor.span[0] != elements * ComputeByteSize(*type))
    return Damaged(name, 8, "shape and data_offsets of the tensor '" + tensor.name + "' contradict each other");
  state.tensors.push_back({tensor.name, state.storages.size(), 0, {}, *strides, begin + tensor.span[0]});
  for (const std::uint64_t extent : tensor.shape)
    state.tensors.back().shape.push_back(static_cast<std::int64_t>(extent));
  state.storages.push_back({*type, begin + tensor.span[0], elements, std::nullopt});
  return {};
}

// Every byte behind the header belongs to one tensor.
Status CheckCover(std::vector<Described>& tensors, std::uint64_t begin, std::uint64_t bytes, const std::string& name) {
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const Described& a, const Described& b) { return a.span < b.span; });
  std::uint64_t at = 0;
  for (const Described& tensor : tensors) {
    if (tensor.span[0] != at)
      return Damaged(name, begin + at, "a hole or an overlap before the tensor '" + tensor.name + "'");
    at = tensor.span[1];
  }
  if (at == bytes) return {};
  return Damaged(name, begin + std::min(at, bytes),
                 "the tensors take " + std::to_string(at) + " bytes, and " + std::to_string(bytes) + " are there");
}

Result<StoredState> ReadSafetensors(const InputFile& file, const std::string& name) {
  std::string text(8, '\0');
  RETORT_RETURN_IF_ERROR(file.ReadAt(0, text.size(), text.data()));
  const std::uint64_t size = ByteReader(text).U64();
  if (size > kMaxHeader)
    return Refused(name + ": offset 0: a safetensors header of " + std::to_string(size) +
                   " bytes; at most 100 MB are allowed");
  if (size > file.size() - 8) return Damaged(name, file.size(), "the safetensors header is cut short");
  text.resize(size);
  RETORT_RETURN_IF_ERROR(file.ReadAt(8, text.size(), text.data()));
  HeaderReader header;
  if (!nlohmann::json::sax_parse(text, &header))
    return Damaged(name, 8, "the safetensors header holds " + header.problem);
  const std::uint64_t begin = 8 + size;
  StoredState state;
  state.container = "safetensors";
  state.class_names = std::move(header.class_names);
  for (const Described& tensor : header.tensors) RETORT_RETURN_IF_ERROR(AddTensor(tensor, begin, name, state));
  RETORT_RETURN_IF_ERROR(CheckCover(header.tensors, begin, file.size() - begin, name));
  return state;
}

Result<ElementType> FindElementType(const std::string& where, DType type) {
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
  const std::uint64_t most = ComputeMaxUnpackedSize(file->size());
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
    RETORT_ASSIGN_OR_RETURN(const ElementType type, FindElementType(where, blob.dtype));
    state.tensors.push_back({array, state.storages.size(), 0, blob.shape, RowMajor(blob.shape), bytes.size()});
    state.storages.push_back({type, bytes.size(), blob.bytes.size() / ComputeByteSize(type), std::nullopt});
    bytes.append(reinterpret_cast<const char*>(blob.bytes.data()), blob.bytes.size());
  }
  state.unpacked = MakeMemoryFile(name + ", unpacked", std::move(bytes));
  return state;
}

constexpr std::size_t kHead = 512, kDigestPiece = 1 << 20;

Result<std::string> ComputeInputDigest(const InputFile& file) {
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

// A small version, then the producer, the domain, a text or the graph.
bool LooksLikeOnnx(std::string_view head, std::string_view path) {
  if (path.ends_with(".onnx")) return true;
  constexpr char kVersionField = 8, kMaxVersion = 32;
  return head.size() > 2 && head[0] == kVersionField && head[1] > 0 && head[1] < kMaxVersion &&
         std::string_view("\x12\x22\x3a\x42").find(head[2]) != std::string_view::npos;
}

// What lies where a file of weights should, and how to come by that; empty where it is none of these.
std::string InsteadOfWeights(std::string_view head, std::string_view path) {
  if (head.empty()) return ": the file is empty";
  if (LooksLikeOnnx(head, path))
    return ": it is an ONNX model, a graph of operators that no network here is made of; save the state dict of the "
           "network that it was made from (torch.save or safetensors), or that network as a TorchScript module "
           "(torch.jit.trace), which a teacher names by `torchscript`";
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
                 InsteadOfWeights(head, path));
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
  if (options.digest) digest = std::async([&file] { return ComputeInputDigest(*file); });
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
  return Refused(path + " is no TorchScript module (torch.jit.save writes one)" + InsteadOfWeights(head, path));
}

Result<std::string> ComputeFileDigest(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const std::unique_ptr<InputFile> file, env.OpenInput(path));
  return ComputeInputDigest(*file);
}

}  // namespace retort::storage
