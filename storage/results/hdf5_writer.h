// Builds an HDF5 file in memory, so that its bytes reach the disk through Env alone. Equal calls give
// equal bytes: no time stamps. Missing groups on the way to an object are created.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "storage/formats/tensor_blob.h"
#include "storage/results/hdf5_conventions.h"

namespace retort::storage {

// Ownership of HDF5 identifiers. HDF5 serialises its calls by a lock of its own; objects are for one thread each.
using Hdf5Id = std::int64_t;  // hid_t

// Closes its identifier by the function it was given. Negative = nothing owned.
class Hdf5Handle {
 public:
  using Close = int (*)(Hdf5Id);

  Hdf5Handle() = default;
  Hdf5Handle(Hdf5Id id, Close close) : id_(id), close_(close) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept;
  ~Hdf5Handle() { Reset(); }

  [[nodiscard]] Hdf5Id id() const { return id_; }
  [[nodiscard]] bool valid() const { return id_ >= 0; }
  void Reset();

 private:
  Hdf5Id id_ = -1;
  Close close_ = nullptr;
};

// Where an HDF5 file has left room for the elements of a tensor: a checkpoint's bytes go from the tensors to the disk
// without a copy.
struct TensorExtent {
  std::uint64_t offset = 0;  // in the file
  std::string_view bytes;    // of the tensor
};

// The first error is kept and returned by Finish; later calls do nothing.
// Object paths are absolute and without empty components: "/student/conv1.weight".
class Hdf5Writer {
 public:
  // `name` stands in messages.
  explicit Hdf5Writer(std::string name);
  // Writes the file at `path`, which it creates, and leaves room for the elements of tensors without chunks
  // in place of writing them.
  Hdf5Writer(std::string name, const std::string& path);

  void Group(const std::string& path);
  // `tensor` without regard to its name. `chunk` empty = contiguous.
  void Dataset(const std::string& path, const TensorBlob& tensor, const std::vector<std::int64_t>& chunk = {});
  void Dataset(const std::string& path, const std::vector<double>& values);
  void Dataset(const std::string& path, const std::vector<std::uint64_t>& values);
  void Attribute(const std::string& object, const std::string& name, std::string_view value);
  void Attribute(const std::string& object, const std::string& name, double value);
  void Attribute(const std::string& object, const std::string& name, std::int64_t value);
  // One value is a scalar, several are an array.
  void Attribute(const std::string& object, const std::string& name, const std::vector<double>& values);
  // Makes `path` a netCDF dimension called `dimension`.
  void DimensionScale(const std::string& path, const std::string& dimension);
  // The axis of `dataset` is measured by `scale`.
  void AttachScale(const std::string& dataset, const std::string& scale, unsigned axis = 0);
  void ExternalLink(const std::string& path, const std::string& file, const std::string& object);
  void CompoundTable(const std::string& path, const Table& table);
  void Fail(Status status);

  // The file's bytes, where it is built in memory.
  [[nodiscard]] Result<std::string> Finish();
  // Ends the file at its path. Returns the rooms, which refer to the tensors' bytes.
  [[nodiscard]] Result<std::vector<TensorExtent>> Close();

 private:
  [[nodiscard]] bool Prepare(const std::string& path);
  void Write(const std::string& path, Hdf5Id memory_type, const std::vector<std::int64_t>& shape, const void* data,
             const std::vector<std::int64_t>& chunk, bool extendible);
  void WriteAttribute(const std::string& object, const std::string& name, Hdf5Id type, const void* value,
                      std::size_t count = 0);  // 0: a scalar
  void Check(bool ok, const std::string& doing, const std::string& path);

  void ReserveTensor(const std::string& path, const TensorBlob& tensor);

  std::string name_;
  bool at_path_ = false;
  Hdf5Handle file_;
  std::vector<TensorExtent> rooms_;
  std::set<std::string> groups_;
  Status status_;
};

}  // namespace retort::storage
