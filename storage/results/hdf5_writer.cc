#include "storage/results/hdf5_writer.h"

#include <hdf5.h>
#include <hdf5_hl.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "storage/formats/byte_codec.h"

namespace retort::storage {

static_assert(std::is_same_v<hid_t, Hdf5Id>);

namespace {

// Upward walk: the first entry is where the error arose.
herr_t KeepInnermost(unsigned depth, const H5E_error2_t* error, void* data) {
  if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(data) = error->desc;
  return 0;
}

// Stops the library from printing errors to stderr in this thread.
void QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

// "Cannot <doing> '<path>': <innermost cause>." Empties the error stack.
Status Hdf5Error(StatusCode code, const std::string& doing, const std::string& path) {
  std::string cause;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, KeepInnermost, &cause);
  H5Eclear2(H5E_DEFAULT);
  return {code, "Cannot " + doing + " '" + path + "': " + (cause.empty() ? "HDF5 gives no reason" : cause) + "."};
}

}  // namespace

Hdf5Handle& Hdf5Handle::operator=(Hdf5Handle&& other) noexcept {
  if (this != &other) {
    Reset();
    id_ = std::exchange(other.id_, -1);
    close_ = other.close_;
  }
  return *this;
}

void Hdf5Handle::Reset() {
  if (id_ >= 0) close_(std::exchange(id_, -1));
}

namespace {

// H5S_ALL, whose macro is an old-style cast.
inline constexpr Hdf5Id kWholeSpace = 0;

// Rows as packed bytes, and the compound type that describes them.
struct PackedTable {
  Hdf5Handle type;
  std::vector<std::uint8_t> bytes;
  std::size_t rows = 0;
};

struct Member {
  Hdf5Handle owned;  // string types
  Hdf5Id type = -1;
  std::size_t size = 0;
};

// Fixed-length UTF-8, NUL-padded; `size` at least 1.
Hdf5Handle StringType(std::size_t size) {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.id(), std::max<std::size_t>(size, 1));
  H5Tset_cset(type.id(), H5T_CSET_UTF8);
  H5Tset_strpad(type.id(), H5T_STR_NULLPAD);
  return type;
}

Member DescribeMember(const TableColumn& column) {
  Member member;
  if (const auto* texts = std::get_if<std::vector<std::string>>(&column.values)) {
    member.size = 1;
    for (const std::string& text : *texts) member.size = std::max(member.size, text.size());
    member.owned = StringType(member.size);
    member.type = member.owned.id();
    return member;
  }
  member.size = 8;
  if (std::holds_alternative<std::vector<double>>(column.values))
    member.type = H5T_NATIVE_DOUBLE;
  else if (std::holds_alternative<std::vector<std::int64_t>>(column.values))
    member.type = H5T_NATIVE_INT64;
  else
    member.type = H5T_NATIVE_UINT64;
  return member;
}

void PackColumn(const TableColumn& column, std::size_t offset, std::size_t row_size, std::vector<std::uint8_t>& bytes) {
  std::visit(
      [&](const auto& values) {
        for (std::size_t row = 0; row < values.size(); ++row) {
          std::uint8_t* target = bytes.data() + row * row_size + offset;
          if constexpr (std::is_same_v<std::decay_t<decltype(values[row])>, std::string>) {
            std::memcpy(target, values[row].data(), values[row].size());
          } else {
            std::memcpy(target, &values[row], sizeof(values[row]));
          }
        }
      },
      column.values);
}

// A predefined native type; not owned.
Hdf5Id NativeType(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return H5T_NATIVE_FLOAT;
    case DType::f64:
      return H5T_NATIVE_DOUBLE;
    case DType::i32:
      return H5T_NATIVE_INT32;
    case DType::i64:
      return H5T_NATIVE_INT64;
    case DType::u8:
      return H5T_NATIVE_UINT8;
    case DType::u32:
      return H5T_NATIVE_UINT32;
    case DType::u64:
      return H5T_NATIVE_UINT64;
  }
  return -1;
}

PackedTable Pack(const Table& table) {
  RETORT_CHECK(!table.empty());
  PackedTable packed;
  packed.rows = std::visit([](const auto& values) { return values.size(); }, table.front().values);
  std::vector<Member> members;
  std::size_t row_size = 0;
  for (const TableColumn& column : table) {
    RETORT_CHECK(std::visit([](const auto& values) { return values.size(); }, column.values) == packed.rows);
    members.push_back(DescribeMember(column));
    row_size += members.back().size;
  }
  packed.type = Hdf5Handle(H5Tcreate(H5T_COMPOUND, row_size), H5Tclose);
  packed.bytes.assign(packed.rows * row_size, 0);
  std::size_t offset = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    H5Tinsert(packed.type.id(), table[i].name.c_str(), offset, members[i].type);
    PackColumn(table[i], offset, row_size, packed.bytes);
    offset += members[i].size;
  }
  return packed;
}

constexpr std::size_t kMemoryIncrement = std::size_t{1} << 20;
constexpr hsize_t kTableChunkBytes = 64 * 1024;

// Without time stamps. Tracked attributes make the object header one that takes attributes beyond 64 KiB.
Hdf5Handle ObjectProperties(hid_t property_class) {
  Hdf5Handle properties(H5Pcreate(property_class), H5Pclose);
  H5Pset_obj_track_times(properties.id(), false);
  H5Pset_attr_creation_order(properties.id(), H5P_CRT_ORDER_TRACKED);
  return properties;
}

Hdf5Handle Create(const std::string& path, bool in_memory) {
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (in_memory) H5Pset_fapl_core(access.id(), kMemoryIncrement, false);
#if H5_VERSION_GE(1, 10, 7)
  H5Pset_file_locking(access.id(), false, true);  // the name is the writer's own
#endif
  // The earliest superblock carries no checksum, which H5Fget_file_image would leave stale.
  H5Pset_libver_bounds(access.id(), H5F_LIBVER_EARLIEST, H5F_LIBVER_V18);
  const Hdf5Handle creation = ObjectProperties(H5P_FILE_CREATE);
  return {H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.id(), access.id()), H5Fclose};
}

std::vector<hsize_t> Extents(const std::vector<std::int64_t>& shape) { return {shape.begin(), shape.end()}; }

Hdf5Handle MakeSpace(const std::vector<hsize_t>& extents, bool extendible) {
  if (extents.empty()) return {H5Screate(H5S_SCALAR), H5Sclose};
  std::vector<hsize_t> largest = extents;
  if (extendible) largest[0] = H5S_UNLIMITED;
  return {H5Screate_simple(static_cast<int>(extents.size()), extents.data(), largest.data()), H5Sclose};
}

}  // namespace

Hdf5Writer::Hdf5Writer(std::string name) : name_(std::move(name)) {
  QuietHdf5();
  file_ = Create(name_, true);
  Check(file_.valid(), "create", name_);
}

Hdf5Writer::Hdf5Writer(std::string name, const std::string& path) : name_(std::move(name)), at_path_(true) {
  QuietHdf5();
  file_ = Create(path, false);
  Check(file_.valid(), "create", name_);
}

void Hdf5Writer::Fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

void Hdf5Writer::Check(bool ok, const std::string& doing, const std::string& path) {
  if (!ok) Fail(Hdf5Error(StatusCode::environment, doing, path + "' of '" + name_));
}

// True when `path` may be created: its groups exist and nothing failed before.
bool Hdf5Writer::Prepare(const std::string& path) {
  const bool plain = path.size() > 1 && path.front() == '/' && path.back() != '/' &&
                     path.find("//") == std::string::npos && path.find('\0') == std::string::npos;
  if (!plain) Fail(Refused("'" + path + "' cannot be the name of an object in '" + name_ + "'."));
  const std::size_t slash = path.find_last_of('/');
  if (slash != std::string::npos && slash > 0) Group(path.substr(0, slash));
  return status_.ok();
}

void Hdf5Writer::Group(const std::string& path) {
  if (groups_.count(path) != 0 || !Prepare(path)) return;
  const Hdf5Handle properties = ObjectProperties(H5P_GROUP_CREATE);
  const Hdf5Handle group(H5Gcreate2(file_.id(), path.c_str(), H5P_DEFAULT, properties.id(), H5P_DEFAULT), H5Gclose);
  Check(group.valid(), "create group", path);
  groups_.insert(path);
}

void Hdf5Writer::Write(const std::string& path, Hdf5Id memory_type, const std::vector<std::int64_t>& shape,
                       const void* data, const std::vector<std::int64_t>& chunk, bool extendible) {
  if (!Prepare(path)) return;
  const std::vector<hsize_t> extents = Extents(shape);
  const Hdf5Handle space = MakeSpace(extents, extendible);
  const Hdf5Handle properties = ObjectProperties(H5P_DATASET_CREATE);
  if (!chunk.empty()) H5Pset_chunk(properties.id(), static_cast<int>(chunk.size()), Extents(chunk).data());
  const Hdf5Handle dataset(
      H5Dcreate2(file_.id(), path.c_str(), memory_type, space.id(), H5P_DEFAULT, properties.id(), H5P_DEFAULT),
      H5Dclose);
  Check(dataset.valid(), "create", path);
  if (!dataset.valid() || std::find(extents.begin(), extents.end(), hsize_t{0}) != extents.end()) return;
  Check(H5Dwrite(dataset.id(), memory_type, kWholeSpace, kWholeSpace, H5P_DEFAULT, data) >= 0, "write", path);
}

void Hdf5Writer::Dataset(const std::string& path, const TensorBlob& tensor, const std::vector<std::int64_t>& chunk) {
  if (ComputeTensorBytes(tensor.dtype, tensor.shape) != tensor.bytes.size()) {
    return Fail(
        Refused("The tensor for '" + path + "' of '" + name_ + "' does not have as many bytes as its shape says."));
  }
  if (at_path_ && chunk.empty()) return ReserveTensor(path, tensor);
  const bool empty = std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end();
  Write(path, NativeType(tensor.dtype), tensor.shape, tensor.bytes.data(), empty ? std::vector<std::int64_t>() : chunk,
        false);
}

void Hdf5Writer::ReserveTensor(const std::string& path, const TensorBlob& tensor) {
  if (!Prepare(path)) return;
  const Hdf5Handle space = MakeSpace(Extents(tensor.shape), false);
  const Hdf5Handle properties = ObjectProperties(H5P_DATASET_CREATE);
  H5Pset_alloc_time(properties.id(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(properties.id(), H5D_FILL_TIME_NEVER);
  const Hdf5Handle dataset(H5Dcreate2(file_.id(), path.c_str(), NativeType(tensor.dtype), space.id(), H5P_DEFAULT,
                                      properties.id(), H5P_DEFAULT),
                           H5Dclose);
  Check(dataset.valid(), "create", path);
  if (!dataset.valid() || tensor.bytes.empty()) return;
  const haddr_t offset = H5Dget_offset(dataset.id());
  Check(offset != HADDR_UNDEF, "place", path);
  rooms_.push_back({offset, {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()}});
}

void Hdf5Writer::Dataset(const std::string& path, const std::vector<double>& values) {
  Write(path, H5T_NATIVE_DOUBLE, {static_cast<std::int64_t>(values.size())}, values.data(), {}, false);
}

void Hdf5Writer::Dataset(const std::string& path, const std::vector<std::uint64_t>& values) {
  Write(path, H5T_NATIVE_UINT64, {static_cast<std::int64_t>(values.size())}, values.data(), {}, false);
}

void Hdf5Writer::WriteAttribute(const std::string& object, const std::string& name, Hdf5Id type, const void* value,
                                std::size_t count) {
  if (!status_.ok()) return;
  const auto extent = static_cast<hsize_t>(count);
  const Hdf5Handle space(count == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &extent, nullptr), H5Sclose);
  const Hdf5Handle attribute(H5Acreate_by_name(file_.id(), object.c_str(), name.c_str(), type, space.id(), H5P_DEFAULT,
                                               H5P_DEFAULT, H5P_DEFAULT),
                             H5Aclose);
  Check(attribute.valid() && H5Awrite(attribute.id(), type, value) >= 0, "write attribute '" + name + "' of", object);
}

void Hdf5Writer::Attribute(const std::string& object, const std::string& name, std::string_view value) {
  if (name.find('\0') != std::string::npos || value.find('\0') != std::string_view::npos) {
    return Fail(Refused("Attribute '" + name + "' of '" + name_ + "' holds a NUL byte."));
  }
  const std::string padded = value.empty() ? std::string(1, '\0') : std::string(value);
  const Hdf5Handle type = StringType(padded.size());
  WriteAttribute(object, name, type.id(), padded.data());
}

void Hdf5Writer::Attribute(const std::string& object, const std::string& name, double value) {
  WriteAttribute(object, name, H5T_NATIVE_DOUBLE, &value);
}

void Hdf5Writer::Attribute(const std::string& object, const std::string& name, std::int64_t value) {
  WriteAttribute(object, name, H5T_NATIVE_INT64, &value);
}

void Hdf5Writer::Attribute(const std::string& object, const std::string& name, const std::vector<double>& values) {
  WriteAttribute(object, name, H5T_NATIVE_DOUBLE, values.data(), values.size() == 1 ? 0 : values.size());
}

void Hdf5Writer::DimensionScale(const std::string& path, const std::string& dimension) {
  if (!status_.ok()) return;
  const Hdf5Handle dataset(H5Dopen2(file_.id(), path.c_str(), H5P_DEFAULT), H5Dclose);
  Check(dataset.valid() && H5DSset_scale(dataset.id(), dimension.c_str()) >= 0, "make a dimension of", path);
}

void Hdf5Writer::AttachScale(const std::string& dataset, const std::string& scale, unsigned axis) {
  if (!status_.ok()) return;
  const Hdf5Handle values(H5Dopen2(file_.id(), dataset.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle steps(H5Dopen2(file_.id(), scale.c_str(), H5P_DEFAULT), H5Dclose);
  Check(values.valid() && steps.valid() && H5DSattach_scale(values.id(), steps.id(), axis) >= 0,
        "attach a dimension to", dataset);
}

void Hdf5Writer::ExternalLink(const std::string& path, const std::string& file, const std::string& object) {
  if (!Prepare(path)) return;
  Check(H5Lcreate_external(file.c_str(), object.c_str(), file_.id(), path.c_str(), H5P_DEFAULT, H5P_DEFAULT) >= 0,
        "link", path);
}

void Hdf5Writer::CompoundTable(const std::string& path, const Table& table) {
  if (!status_.ok()) return;
  const PackedTable packed = Pack(table);
  Check(packed.type.valid(), "describe the columns of", path);
  if (!status_.ok()) return;
  const hsize_t row_bytes = std::max<hsize_t>(H5Tget_size(packed.type.id()), 1);
  const hsize_t most = std::max<hsize_t>(kTableChunkBytes / row_bytes, 1);
  const auto chunk_rows = static_cast<std::int64_t>(std::clamp<hsize_t>(packed.rows, 1, most));
  Write(path, packed.type.id(), {static_cast<std::int64_t>(packed.rows)}, packed.bytes.data(), {chunk_rows}, true);
}

Result<std::vector<TensorExtent>> Hdf5Writer::Close() {
  RETORT_CHECK(at_path_);
  RETORT_RETURN_IF_ERROR(status_);
  Check(H5Fflush(file_.id(), H5F_SCOPE_GLOBAL) >= 0, "flush", "/");
  RETORT_RETURN_IF_ERROR(status_);
  file_.Reset();
  return std::move(rooms_);
}

Result<std::string> Hdf5Writer::Finish() {
  RETORT_CHECK(!at_path_);
  RETORT_RETURN_IF_ERROR(status_);
  Check(H5Fflush(file_.id(), H5F_SCOPE_GLOBAL) >= 0, "flush", "/");
  const ssize_t size = status_.ok() ? H5Fget_file_image(file_.id(), nullptr, 0) : -1;
  Check(size > 0, "measure", "/");
  RETORT_RETURN_IF_ERROR(status_);
  std::string file_bytes(static_cast<std::size_t>(size), '\0');
  Check(H5Fget_file_image(file_.id(), file_bytes.data(), file_bytes.size()) == size, "copy", "/");
  RETORT_RETURN_IF_ERROR(status_);
  file_.Reset();
  return file_bytes;
}

}  // namespace retort::storage
