#include "storage/results/hdf5_reader.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "experiments/base/digests.h"
#include "storage/files/env.h"
#include "storage/formats/byte_codec.h"

namespace retort::storage {
namespace {

constexpr std::string_view kMagic("RETORTSL", 8);
constexpr std::size_t kSealBytes = 20;  // magic 8, length 8, CRC-32C 4

Status SealError(const std::string& name, const std::string& what) {
  return DamageError("'" + name + "' " + what +
                     ": it was cut short or changed, or another version of retort wrote it. Restore it from "
                     "a copy, or run its trial again.");
}

}  // namespace

std::string MakeSeal(std::string_view bytes) {
  ByteWriter seal;
  seal.Raw(kMagic);
  seal.U64(bytes.size());
  const std::uint32_t of_bytes = ComputeCrc32c(bytes);
  seal.U32(ExtendCrc32c(of_bytes, seal.bytes()));
  return std::move(seal).Take();
}

bool EndsInSeal(std::string_view bytes) {
  return bytes.size() >= kSealBytes && bytes.substr(bytes.size() - kSealBytes).starts_with(kMagic);
}

Result<std::string_view> Unseal(std::string_view bytes, const std::string& name) {
  if (bytes.size() < kSealBytes) return SealError(name, "is too short to have a seal");
  const std::string_view before = bytes.substr(0, bytes.size() - kSealBytes);
  const std::string_view seal = bytes.substr(before.size());
  if (seal.substr(0, kMagic.size()) != kMagic) return SealError(name, "does not end in its seal");
  if (seal != MakeSeal(before)) return SealError(name, "is not what its seal says");
  return before;
}

Status CheckSeal(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const std::string bytes, env.ReadFile(path));
  return Unseal(bytes, path).status();
}

namespace {

constexpr std::uint64_t kMaxNumbers = 1024;  // of an attribute

std::string WithoutPadding(std::string_view text) {
  const std::size_t last = text.find_last_not_of('\0');
  return std::string(text.substr(0, last == std::string_view::npos ? 0 : last + 1));
}

template <typename T>
T At(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

double NumberAt(DType dtype, std::string_view bytes, std::size_t at) {
  switch (dtype) {
    case DType::f32:
      return static_cast<double>(At<float>(bytes, at));
    case DType::f64:
      return At<double>(bytes, at);
    case DType::i32:
      return At<std::int32_t>(bytes, at);
    case DType::i64:
      return static_cast<double>(At<std::int64_t>(bytes, at));
    case DType::u8:
      return At<std::uint8_t>(bytes, at);
    case DType::u32:
      return At<std::uint32_t>(bytes, at);
    case DType::u64:
      return static_cast<double>(At<std::uint64_t>(bytes, at));
  }
  return 0;
}

template <typename T>
std::vector<T> DecodeNumbers(const Hdf5Column& column, const Hdf5Dataset& dataset) {
  std::vector<T> values;
  for (const std::string_view piece : dataset.pieces)
    for (std::size_t row = 0; row < piece.size(); row += dataset.type.size)
      values.push_back(At<T>(piece, row + column.offset));
  return values;
}

std::vector<std::string> DecodeTexts(const Hdf5Column& column, const Hdf5Dataset& dataset) {
  std::vector<std::string> texts;
  for (const std::string_view piece : dataset.pieces)
    for (std::size_t row = 0; row < piece.size(); row += dataset.type.size)
      texts.push_back(WithoutPadding(piece.substr(row + column.offset, column.type.size)));
  return texts;
}

// Nothing for a type that tables do not have.
std::optional<TableColumn> DecodeColumn(const Hdf5Column& column, const Hdf5Dataset& dataset) {
  if (column.type.kind == Hdf5Class::text) return TableColumn{column.name, DecodeTexts(column, dataset)};
  if (column.type.dtype == DType::f64) return TableColumn{column.name, DecodeNumbers<double>(column, dataset)};
  if (column.type.dtype == DType::i64) return TableColumn{column.name, DecodeNumbers<std::int64_t>(column, dataset)};
  if (column.type.dtype == DType::u64) return TableColumn{column.name, DecodeNumbers<std::uint64_t>(column, dataset)};
  return std::nullopt;
}

// Columns may lie over one another, so a table is larger than its rows only so many times.
bool ColumnsFit(const Hdf5Type& type) {
  std::uint64_t bytes = 0;
  for (const Hdf5Column& column : type.columns) bytes += column.type.size;
  return bytes <= type.size;
}

}  // namespace

Status Hdf5Reader::Damaged(const std::string& doing, const std::string& object) const {
  return DamageError("Cannot " + doing + " '" + object + "' of '" + name_ + "'.");
}

Result<Hdf5Reader> Hdf5Reader::OpenView(std::string_view bytes, const std::string& name) {
  RETORT_ASSIGN_OR_RETURN(Hdf5Tree tree, ReadHdf5Tree(bytes, name, Hdf5Outside::refused));
  return Hdf5Reader(name, nullptr, std::move(tree));
}

Result<Hdf5Reader> Hdf5Reader::OpenBytes(std::string bytes, std::size_t size, const std::string& name) {
  auto kept = std::make_unique<const std::string>(std::move(bytes));
  RETORT_ASSIGN_OR_RETURN(Hdf5Tree tree,
                          ReadHdf5Tree(std::string_view(*kept).substr(0, size), name, Hdf5Outside::refused));
  return Hdf5Reader(name, std::move(kept), std::move(tree));
}

Result<Hdf5Reader> Hdf5Reader::OpenResultFile(const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(std::string bytes, ReadPlainFile(PosixEnv(), path));
  auto kept = std::make_unique<const std::string>(std::move(bytes));
  std::string_view file_bytes = *kept;
  if (EndsInSeal(file_bytes)) {  // what earlier versions wrote has none
    const Result<std::string_view> sealed = Unseal(file_bytes, path);
    if (!sealed.ok())
      return DamageError("'" + path + "' is not what its seal says: it was changed after it was written");
    file_bytes = *sealed;
  }
  RETORT_ASSIGN_OR_RETURN(Hdf5Tree tree, ReadHdf5Tree(file_bytes, path, Hdf5Outside::attempts));
  return Hdf5Reader(path, std::move(kept), std::move(tree));
}

bool Hdf5Reader::Has(const std::string& path) const {
  return tree_.objects.contains(path) || tree_.outside.contains(path);
}

std::vector<std::string> Hdf5Reader::DatasetsBelow(const std::string& group) const {
  const std::string prefix = group == "/" ? group : group + "/";
  std::vector<std::string> paths;
  for (auto object = tree_.objects.lower_bound(prefix);
       object != tree_.objects.end() && object->first.starts_with(prefix); ++object)
    if (object->second.dataset) paths.push_back(object->first);
  return paths;
}

Result<const Hdf5Dataset*> Hdf5Reader::Find(const std::string& path) const {
  const auto object = tree_.objects.find(path);
  if (object == tree_.objects.end() || !object->second.dataset) return Damaged("find the dataset", path);
  return &*object->second.dataset;
}

Result<TensorBlob> Hdf5Reader::Dataset(const std::string& path) const {
  RETORT_ASSIGN_OR_RETURN(const Hdf5Dataset* dataset, Find(path));
  if (dataset->type.kind != Hdf5Class::number) return Damaged("interpret the type of", path);
  TensorBlob tensor;
  tensor.dtype = dataset->type.dtype;
  tensor.shape = dataset->shape;
  tensor.bytes.reserve(*ComputeTensorBytes(tensor.dtype, tensor.shape));
  for (const std::string_view piece : dataset->pieces)
    tensor.bytes.insert(tensor.bytes.end(), piece.begin(), piece.end());
  return tensor;
}

Result<Table> Hdf5Reader::CompoundTable(const std::string& path) const {
  RETORT_ASSIGN_OR_RETURN(const Hdf5Dataset* dataset, Find(path));
  if (dataset->type.kind != Hdf5Class::table || dataset->shape.size() != 1 || !ColumnsFit(dataset->type))
    return Damaged("find a table in", path);
  Table table;
  for (const Hdf5Column& column : dataset->type.columns) {
    std::optional<TableColumn> values = DecodeColumn(column, *dataset);
    if (!values) return Damaged("interpret a column of", path);
    table.push_back(std::move(*values));
  }
  return table;
}

Result<Hdf5Attribute> Hdf5Reader::Attribute(const std::string& object, const std::string& name) const {
  const auto found = tree_.objects.find(object);
  if (found == tree_.objects.end()) return Damaged("find the object", object);
  for (const std::string_view message : found->second.attributes)
    if (std::optional<Hdf5Attribute> attribute = ParseHdf5Attribute(message); attribute && attribute->name == name)
      return *std::move(attribute);
  return Damaged("find attribute '" + name + "' of", object);
}

Result<std::string> Hdf5Reader::TextAttribute(const std::string& object, const std::string& name) const {
  RETORT_ASSIGN_OR_RETURN(const Hdf5Attribute attribute, Attribute(object, name));
  if (attribute.type.kind != Hdf5Class::text || attribute.elements != 1)
    return Damaged("read a text from attribute '" + name + "' of", object);
  return WithoutPadding(attribute.value);
}

Result<std::vector<double>> Hdf5Reader::NumbersAttribute(const std::string& object, const std::string& name) const {
  RETORT_ASSIGN_OR_RETURN(const Hdf5Attribute attribute, Attribute(object, name));
  if (attribute.type.kind != Hdf5Class::number || attribute.elements == 0 || attribute.elements > kMaxNumbers)
    return Damaged("read numbers from attribute '" + name + "' of", object);
  std::vector<double> values;
  for (std::uint64_t i = 0; i < attribute.elements; ++i)
    values.push_back(NumberAt(attribute.type.dtype, attribute.value, i * attribute.type.size));
  return values;
}

Result<double> Hdf5Reader::NumberAttribute(const std::string& object, const std::string& name) const {
  RETORT_ASSIGN_OR_RETURN(const std::vector<double> values, NumbersAttribute(object, name));
  if (values.size() != 1) return Damaged("read one number from attribute '" + name + "' of", object);
  return values.front();
}

Result<std::int64_t> Hdf5Reader::IntegerAttribute(const std::string& object, const std::string& name) const {
  RETORT_ASSIGN_OR_RETURN(const Hdf5Attribute attribute, Attribute(object, name));
  if (attribute.type.kind != Hdf5Class::number || attribute.elements != 1 || attribute.type.dtype != DType::i64)
    return Damaged("read an integer from attribute '" + name + "' of", object);
  return At<std::int64_t>(attribute.value, 0);
}

Result<std::map<std::string, std::string>> Hdf5Reader::TextAttributes(const std::string& object) const {
  const auto found = tree_.objects.find(object);
  if (found == tree_.objects.end()) return Damaged("list the attributes of", object);
  std::map<std::string, std::string> attributes;
  for (const std::string_view message : found->second.attributes) {
    const std::optional<Hdf5Attribute> attribute = ParseHdf5Attribute(message);
    if (!attribute) return Damaged("list the attributes of", object);
    if (attribute->type.kind == Hdf5Class::text && attribute->elements == 1)
      attributes[attribute->name] = WithoutPadding(attribute->value);
  }
  return attributes;
}

Status CheckConventions(const Hdf5Reader& reader) {
  RETORT_ASSIGN_OR_RETURN(const std::string found, reader.TextAttribute("/", "Conventions"));
  if (found == kConventions) return {};
  if (found.rfind("Retort-", 0) != 0) {
    return DamageError("'" + reader.name() + "' was not written by Retort (Conventions = '" + found + "').");
  }
  return UsageError("'" + reader.name() + "' has format version " + found + "; this retort reads " + kConventions +
                    ". Use the retort that wrote it, or give this one another folder with --results DIR.");
}

Result<Hdf5Reader> OpenSealedHdf5(const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(std::string bytes, ReadPlainFile(PosixEnv(), path));
  RETORT_ASSIGN_OR_RETURN(const std::string_view sealed, Unseal(bytes, path));
  const std::size_t size = sealed.size();
  RETORT_ASSIGN_OR_RETURN(Hdf5Reader reader, Hdf5Reader::OpenBytes(std::move(bytes), size, path));
  RETORT_RETURN_IF_ERROR(CheckConventions(reader));
  return reader;
}

}  // namespace retort::storage
