#include "tests/testing/hostile_hdf5.h"

#include <hdf5.h>

#include <array>
#include <functional>
#include <utility>

#include "storage/results/hdf5_reader.h"
#include "tests/testing/storage_samples.h"

namespace retort::testing {
namespace {

constexpr const char* kPath = "/student/stolen";

// Headers as Retort's own files have them.
hid_t Properties(hid_t property_class) {
  const hid_t properties = H5Pcreate(property_class);
  H5Pset_obj_track_times(properties, false);
  H5Pset_attr_creation_order(properties, H5P_CRT_ORDER_TRACKED);
  return properties;
}

hid_t DatasetProperties() { return Properties(H5P_DATASET_CREATE); }

hid_t Space(hsize_t extent) { return H5Screate_simple(1, &extent, nullptr); }

void Order(hid_t dataset) {
  const std::int64_t order = 99;
  const hid_t attribute =
      H5Acreate2(dataset, "order", H5T_NATIVE_INT64, H5Screate(H5S_SCALAR), H5P_DEFAULT, H5P_DEFAULT);
  RETORT_CHECK(attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_INT64, &order) >= 0);
}

hid_t Create(hid_t file, hid_t type, hid_t space, hid_t properties) {
  const hid_t dataset = H5Dcreate2(file, kPath, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  RETORT_CHECK(dataset >= 0);
  Order(dataset);
  return dataset;
}

void AddExternal(hid_t file, const std::string& secret) {
  const hid_t properties = DatasetProperties();
  RETORT_CHECK(H5Pset_external(properties, secret.c_str(), 0, 16) >= 0);
  Create(file, H5T_NATIVE_UINT8, Space(16), properties);
}

void AddVirtual(hid_t file, const std::string& source) {
  const hid_t properties = DatasetProperties();
  RETORT_CHECK(H5Pset_virtual(properties, Space(4), source.c_str(), "/x", Space(4)) >= 0);
  Create(file, H5T_NATIVE_FLOAT, Space(4), properties);
}

void AddDeflated(hid_t file) {
  const hid_t properties = DatasetProperties();
  const hsize_t chunk = 1 << 16;
  H5Pset_chunk(properties, 1, &chunk);
  H5Pset_deflate(properties, 9);
  const hid_t dataset = Create(file, H5T_NATIVE_UINT8, Space(1 << 20), properties);
  const std::vector<std::uint8_t> zeros(1 << 20);
  RETORT_CHECK(H5Dwrite(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros.data()) >= 0);
}

// A filter that nobody knows: libraries look for a plug-in of that number.
void AddUnknownFilter(hid_t file) {
  const hid_t properties = DatasetProperties();
  const hsize_t chunk = 4;
  H5Pset_chunk(properties, 1, &chunk);
  H5Pset_filter(properties, 32123, H5Z_FLAG_OPTIONAL, 0, nullptr);
  Create(file, H5T_NATIVE_FLOAT, Space(4), properties);
}

void AddUnwritten(hid_t file, hsize_t extent, hsize_t chunk) {
  const hid_t properties = DatasetProperties();
  if (chunk > 0) H5Pset_chunk(properties, 1, &chunk);
  Create(file, H5T_NATIVE_FLOAT, Space(extent), properties);
}

// No element, and no number of bytes that a row would have.
void AddNoneOfMany(hid_t file) {
  const std::array<hsize_t, 2> extents = {hsize_t{1} << 61, 0};
  Create(file, H5T_NATIVE_FLOAT, H5Screate_simple(2, extents.data(), nullptr), DatasetProperties());
}

void AddCompact(hid_t file) {
  const hid_t properties = DatasetProperties();
  H5Pset_layout(properties, H5D_COMPACT);
  Create(file, H5T_NATIVE_FLOAT, Space(4), properties);
}

void AddOfType(hid_t file, hid_t type) {
  const hid_t properties = DatasetProperties();
  H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY);
  Create(file, type, Space(4), properties);
}

hid_t TextOfAnyLength() {
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  return type;
}

void AddCommittedType(hid_t file) {
  RETORT_CHECK(H5Tcommit2(file, kPath, H5Tcopy(H5T_NATIVE_FLOAT), H5P_DEFAULT, Properties(H5P_DATATYPE_CREATE),
                          H5P_DEFAULT) >= 0);
}

void AddSecondName(hid_t file) {
  RETORT_CHECK(H5Lcreate_hard(file, "/student/fc1.bias", file, kPath, H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

void AddCycle(hid_t file) {
  RETORT_CHECK(H5Lcreate_hard(file, "/student", file, "/student/again", H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

void AddSoftLink(hid_t file) {
  RETORT_CHECK(H5Lcreate_soft("/student/fc1.bias", file, kPath, H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

void AddExternalLink(hid_t file, const std::string& target) {
  RETORT_CHECK(H5Lcreate_external(target.c_str(), "/x", file, kPath, H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

// Every group in the one before it.
void AddDeepGroups(hid_t file, std::size_t depth) {
  const hid_t properties = Properties(H5P_GROUP_CREATE);
  hid_t group = H5Gopen2(file, "/student", H5P_DEFAULT);
  for (std::size_t i = 0; i < depth; ++i) {
    const hid_t below = H5Gcreate2(group, "g", H5P_DEFAULT, properties, H5P_DEFAULT);
    RETORT_CHECK(below >= 0);
    H5Gclose(group);
    group = below;
  }
}

// Where one number is meant, a thousand.
void AddWideOrder(hid_t file) {
  const hid_t dataset = H5Dopen2(file, "/student/fc1.bias", H5P_DEFAULT);
  H5Adelete(dataset, "order");
  const hid_t attribute = H5Acreate2(dataset, "order", H5T_NATIVE_INT64, Space(1000), H5P_DEFAULT, H5P_DEFAULT);
  const std::vector<std::int64_t> values(1000, 0x4141414141414141);
  RETORT_CHECK(attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_INT64, values.data()) >= 0);
}

struct Trick {
  std::string kind, reason;
  std::function<void(hid_t)> add;
};

std::vector<Trick> Tricks(const std::string& secret, const std::string& other, std::size_t depth) {
  const hsize_t three = 3;
  return {
      {"external raw data", "external raw data", [=](hid_t file) { AddExternal(file, secret); }},
      {"a virtual dataset", "virtual", [=](hid_t file) { AddVirtual(file, other); }},
      {"a deflated dataset", "filters", AddDeflated},
      {"an unknown filter", "filters", AddUnknownFilter},
      {"an extent of 2^40 without data", "bytes", [](hid_t file) { AddUnwritten(file, hsize_t{1} << 40, 0); }},
      {"2^40 in chunks that are not there", "index", [](hid_t file) { AddUnwritten(file, hsize_t{1} << 40, 1 << 20); }},
      {"an extent of 0 beside one of 2^61", "extents", AddNoneOfMany},
      {"a compact dataset", "layout", AddCompact},
      {"text of any length", "type", [](hid_t file) { AddOfType(file, TextOfAnyLength()); }},
      {"references", "type", [](hid_t file) { AddOfType(file, H5T_STD_REF_OBJ); }},
      {"opaque bytes", "type", [](hid_t file) { AddOfType(file, H5Tcreate(H5T_OPAQUE, 1 << 16)); }},
      {"arrays", "type", [=](hid_t file) { AddOfType(file, H5Tarray_create2(H5T_NATIVE_FLOAT, 1, &three)); }},
      {"big-endian numbers", "type", [](hid_t file) { AddOfType(file, H5T_IEEE_F32BE); }},
      {"a committed type", "object", AddCommittedType},
      {"two names for a dataset", "link", AddSecondName},
      {"a group that holds itself", "link", AddCycle},
      {"a soft link", "soft link", AddSoftLink},
      {"a link to another file", "link out of the file", [=](hid_t file) { AddExternalLink(file, other); }},
      {"a link to an attempt", "link out of the file",
       [](hid_t file) { AddExternalLink(file, "trials/a/attempt-1/attempt.h5"); }},
      {"groups in groups", "deeper", [=](hid_t file) { AddDeepGroups(file, depth); }},
      {"many numbers where one is meant", "order", AddWideOrder},
  };
}

std::string ReadBytes(const std::string& path) { return storage::PosixEnv().ReadFile(path).value(); }

// HDF5 leaves identifiers open that nobody closed; all of the file go with it.
hid_t StrongAccess() {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
  return access;
}

}  // namespace

std::vector<HostileFile> HostileFiles(const std::string& folder, const std::string& secret, std::size_t depth) {
  const std::string path = folder + "/built.h5", other = folder + "/other.h5";
  RETORT_CHECK(storage::WriteAttemptFile(storage::PosixEnv(), path, SampleAttempt()).ok());
  const std::string sealed = ReadBytes(path);
  const std::string sound(storage::Unseal(sealed, path).value());
  std::vector<HostileFile> files;
  for (const Trick& trick : Tricks(secret, other, depth)) {
    RETORT_CHECK(storage::PosixEnv().WriteFileAtomically(path, sound).ok());
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, StrongAccess());
    RETORT_CHECK(file >= 0);
    trick.add(file);
    RETORT_CHECK(H5Fclose(file) >= 0);
    const std::string bytes = ReadBytes(path);
    files.push_back({trick.kind, bytes + storage::MakeSeal(bytes), trick.reason});
  }
  RETORT_CHECK(storage::PosixEnv().Remove(path).ok());
  return files;
}

}  // namespace retort::testing
