#include "storage/hdf5_reader.h"

#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "storage/byte_codec.h"
#include "storage/file_error.h"
#include "storage/hdf5_types.h"

namespace retort::storage {
namespace {

constexpr std::size_t kMemoryIncrement = std::size_t{1} << 20;

std::string WithoutPadding(const char* text, std::size_t size) {
  while (size > 0 && text[size - 1] == '\0') --size;
  return {text, size};
}

bool IsFixedText(hid_t type) { return H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0; }

struct Walk {
  std::string prefix;
  std::vector<std::string>* paths;
};

herr_t CollectDataset(hid_t group, const char* name, const H5L_info_t* link, void* data) {
  auto* walk = static_cast<Walk*>(data);
  if (link->type != H5L_TYPE_HARD) return 0;
  H5O_info_t object;
  if (H5Oget_info_by_name(group, name, &object, H5P_DEFAULT) < 0) return -1;
  const std::string path = walk->prefix + "/" + name;
  if (object.type == H5O_TYPE_DATASET) walk->paths->push_back(path);
  if (object.type != H5O_TYPE_GROUP) return 0;
  Walk below{path, walk->paths};
  return H5Literate_by_name(group, name, H5_INDEX_NAME, H5_ITER_INC, nullptr, CollectDataset, &below,
                            H5P_DEFAULT);
}

herr_t CollectAttribute(hid_t, const char* name, const H5A_info_t*, void* data) {
  static_cast<std::vector<std::string>*>(data)->emplace_back(name);
  return 0;
}

std::optional<std::vector<std::int64_t>> ShapeOf(hid_t dataset) {
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  const int rank = space.valid() ? H5Sget_simple_extent_ndims(space.id()) : -1;
  if (rank < 0) return std::nullopt;
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  if (rank > 0 && H5Sget_simple_extent_dims(space.id(), extents.data(), nullptr) < 0) return std::nullopt;
  return std::vector<std::int64_t>(extents.begin(), extents.end());
}

template <typename T>
std::vector<T> UnpackNumbers(const std::vector<std::uint8_t>& bytes, std::size_t offset,
                             std::size_t row_size) {
  std::vector<T> values;
  for (std::size_t at = offset; at < bytes.size(); at += row_size) {
    std::memcpy(&values.emplace_back(), bytes.data() + at, sizeof(T));
  }
  return values;
}

std::optional<TableColumn> UnpackColumn(hid_t type, unsigned index, const std::vector<std::uint8_t>& bytes) {
  const std::size_t row_size = H5Tget_size(type);
  const std::size_t offset = H5Tget_member_offset(type, index);
  const Hdf5Handle member(H5Tget_member_type(type, index), H5Tclose);
  TableColumn column;
  char* name = H5Tget_member_name(type, index);
  if (name == nullptr || !member.valid()) return std::nullopt;
  column.name = name;
  H5free_memory(name);
  if (IsFixedText(member.id())) {
    std::vector<std::string> texts;
    const std::size_t size = H5Tget_size(member.id());
    for (std::size_t at = offset; at < bytes.size(); at += row_size) {
      texts.push_back(WithoutPadding(reinterpret_cast<const char*>(bytes.data() + at), size));
    }
    column.values = std::move(texts);
    return column;
  }
  const std::optional<DType> dtype = DTypeOf(member.id());
  if (dtype == DType::f64)
    column.values = UnpackNumbers<double>(bytes, offset, row_size);
  else if (dtype == DType::i64)
    column.values = UnpackNumbers<std::int64_t>(bytes, offset, row_size);
  else if (dtype == DType::u64)
    column.values = UnpackNumbers<std::uint64_t>(bytes, offset, row_size);
  else
    return std::nullopt;
  return column;
}

}  // namespace

Status Hdf5Reader::Damaged(const std::string& doing, const std::string& object) const {
  return Hdf5Error(StatusCode::damage, doing, object + "' of '" + name_);
}

Result<Hdf5Reader> Hdf5Reader::OpenImage(std::string_view bytes, const std::string& name) {
  QuietHdf5();
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access.id(), kMemoryIncrement, false);
  Hdf5Handle file;
  // The core driver refuses an image whose name is that of a file on disk; nothing lies below /dev/null.
  const std::string nowhere = "/dev/null/" + name;
  // The library copies the bytes; that its parameter is not const is an oversight.
  if (!bytes.empty() && H5Pset_file_image(access.id(), const_cast<char*>(bytes.data()), bytes.size()) >= 0) {
    file = Hdf5Handle(H5Fopen(nowhere.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose);
  }
  if (!file.valid()) return Hdf5Error(StatusCode::damage, "read the HDF5 file", name);
  return Hdf5Reader(name, std::move(file));
}

Result<Hdf5Reader> Hdf5Reader::OpenPath(const std::string& path) {
  QuietHdf5();
  if (::access(path.c_str(), R_OK) != 0) return FileError(errno, "read", path);
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
#if H5_VERSION_GE(1, 10, 7)
  H5Pset_file_locking(access.id(), true, true);
#endif
  Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.id()), H5Fclose);
  if (!file.valid()) return Hdf5Error(StatusCode::damage, "read the HDF5 file", path);
  return Hdf5Reader(path, std::move(file));
}

bool Hdf5Reader::Has(const std::string& path) const {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    if (H5Lexists(file_.id(), path.substr(0, end).c_str(), H5P_DEFAULT) <= 0) {
      H5Eclear2(H5E_DEFAULT);
      return false;
    }
    if (end == std::string::npos) return true;
  }
}

Result<std::vector<std::string>> Hdf5Reader::DatasetsBelow(const std::string& group) const {
  std::vector<std::string> paths;
  if (group != "/" && !Has(group)) return paths;
  Walk walk{group == "/" ? "" : group, &paths};
  if (H5Literate_by_name(file_.id(), group.c_str(), H5_INDEX_NAME, H5_ITER_INC, nullptr, CollectDataset,
                         &walk, H5P_DEFAULT) < 0) {
    return Damaged("list group", group);
  }
  return paths;
}

Result<TensorBlob> Hdf5Reader::Dataset(const std::string& path) const {
  const Hdf5Handle dataset(H5Dopen2(file_.id(), path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.valid()) return Damaged("open", path);
  const Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose);
  const std::optional<DType> dtype = DTypeOf(type.id());
  std::optional<std::vector<std::int64_t>> shape = ShapeOf(dataset.id());
  if (!dtype || !shape) return Damaged("interpret", path);
  TensorBlob tensor;
  tensor.dtype = *dtype;
  tensor.shape = std::move(*shape);
  const std::optional<std::uint64_t> size = TensorBytes(tensor.dtype, tensor.shape);
  // A damaged extent must not become an allocation: contiguous data lie in the file.
  const hsize_t stored = H5Dget_storage_size(dataset.id());
  if (!size || *size > std::max<hsize_t>(stored, 1) * 1024) return Damaged("believe the extent of", path);
  tensor.bytes.resize(*size);
  if (*size > 0 &&
      H5Dread(dataset.id(), type.id(), kWholeSpace, kWholeSpace, H5P_DEFAULT, tensor.bytes.data()) < 0) {
    return Damaged("read", path);
  }
  return tensor;
}

Result<Table> Hdf5Reader::CompoundTable(const std::string& path) const {
  const Hdf5Handle dataset(H5Dopen2(file_.id(), path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.valid()) return Damaged("open", path);
  const Hdf5Handle type(H5Dget_type(dataset.id()), H5Tclose);
  const std::optional<std::vector<std::int64_t>> shape = ShapeOf(dataset.id());
  if (H5Tget_class(type.id()) != H5T_COMPOUND || !shape || shape->size() != 1)
    return Damaged("find a table in", path);
  const auto rows = static_cast<std::size_t>(shape->front());
  const std::size_t row_size = H5Tget_size(type.id());
  if (rows > 0 && H5Dget_storage_size(dataset.id()) / row_size < rows)
    return Damaged("believe the extent of", path);
  std::vector<std::uint8_t> bytes(rows * row_size);
  if (rows > 0 && H5Dread(dataset.id(), type.id(), kWholeSpace, kWholeSpace, H5P_DEFAULT, bytes.data()) < 0) {
    return Damaged("read", path);
  }
  Table table;
  const int members = H5Tget_nmembers(type.id());
  for (int i = 0; i < members; ++i) {
    std::optional<TableColumn> column = UnpackColumn(type.id(), static_cast<unsigned>(i), bytes);
    if (!column) return Damaged("interpret a column of", path);
    table.push_back(std::move(*column));
  }
  return table;
}

Result<std::string> Hdf5Reader::TextAttribute(const std::string& object, const std::string& name) const {
  const Hdf5Handle attribute(
      H5Aopen_by_name(file_.id(), object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  const Hdf5Handle type(attribute.valid() ? H5Aget_type(attribute.id()) : -1, H5Tclose);
  if (!type.valid() || !IsFixedText(type.id())) return Damaged("read attribute '" + name + "' of", object);
  std::string text(H5Tget_size(type.id()), '\0');
  if (H5Aread(attribute.id(), type.id(), text.data()) < 0)
    return Damaged("read attribute '" + name + "' of", object);
  return WithoutPadding(text.data(), text.size());
}

Result<std::vector<double>> Hdf5Reader::NumbersAttribute(const std::string& object,
                                                         const std::string& name) const {
  constexpr hssize_t kMost = 1024;
  const Hdf5Handle attribute(
      H5Aopen_by_name(file_.id(), object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  const Hdf5Handle space(attribute.valid() ? H5Aget_space(attribute.id()) : -1, H5Sclose);
  const hssize_t count = space.valid() ? H5Sget_simple_extent_npoints(space.id()) : 0;
  std::vector<double> values(static_cast<std::size_t>(count >= 1 && count <= kMost ? count : 0));
  if (values.empty() || H5Aread(attribute.id(), H5T_NATIVE_DOUBLE, values.data()) < 0)
    return Damaged("read attribute '" + name + "' of", object);
  return values;
}

Result<double> Hdf5Reader::NumberAttribute(const std::string& object, const std::string& name) const {
  RETORT_ASSIGN_OR_RETURN(const std::vector<double> values, NumbersAttribute(object, name));
  if (values.size() != 1) return Damaged("read one number from attribute '" + name + "' of", object);
  return values.front();
}

Result<std::int64_t> Hdf5Reader::IntegerAttribute(const std::string& object, const std::string& name) const {
  std::int64_t value = 0;
  const Hdf5Handle attribute(
      H5Aopen_by_name(file_.id(), object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!attribute.valid() || H5Aread(attribute.id(), H5T_NATIVE_INT64, &value) < 0) {
    return Damaged("read attribute '" + name + "' of", object);
  }
  return value;
}

Result<std::map<std::string, std::string>> Hdf5Reader::TextAttributes(const std::string& object) const {
  std::vector<std::string> names;
  if (H5Aiterate_by_name(file_.id(), object.c_str(), H5_INDEX_NAME, H5_ITER_INC, nullptr, CollectAttribute,
                         &names, H5P_DEFAULT) < 0) {
    return Damaged("list the attributes of", object);
  }
  std::map<std::string, std::string> attributes;
  for (const std::string& name : names) {
    const Hdf5Handle attribute(
        H5Aopen_by_name(file_.id(), object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    const Hdf5Handle type(attribute.valid() ? H5Aget_type(attribute.id()) : -1, H5Tclose);
    if (!type.valid() || !IsFixedText(type.id())) continue;
    RETORT_ASSIGN_OR_RETURN(attributes[name], TextAttribute(object, name));
  }
  return attributes;
}

}  // namespace retort::storage
