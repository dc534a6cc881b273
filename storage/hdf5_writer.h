// Builds an HDF5 file in memory, so that its bytes reach the disk through Env alone. Equal calls give
// equal bytes: no time stamps. Missing groups on the way to an object are created.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/spec/status.h"
#include "storage/hdf5_handle.h"
#include "storage/hdf5_table.h"
#include "storage/tensor_blob.h"
#include "storage/tensor_fill.h"

namespace retort::storage {

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
  void Dataset(const std::string& path, const TensorBlob& tensor,
               const std::vector<std::int64_t>& chunk = {});
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
  [[nodiscard]] Result<std::vector<TensorRoom>> Close();

 private:
  [[nodiscard]] bool Prepare(const std::string& path);
  void Write(const std::string& path, Hdf5Id memory_type, const std::vector<std::int64_t>& shape,
             const void* data, const std::vector<std::int64_t>& chunk, bool extendible);
  void WriteAttribute(const std::string& object, const std::string& name, Hdf5Id type, const void* value,
                      std::size_t count = 0);  // 0: a scalar
  void Check(bool ok, const std::string& doing, const std::string& path);

  void LeaveRoom(const std::string& path, const TensorBlob& tensor);

  std::string name_;
  bool at_path_ = false;
  Hdf5Handle file_;
  std::vector<TensorRoom> rooms_;
  std::set<std::string> groups_;
  Status status_;
};

}  // namespace retort::storage
