// Reads HDF5 files, from bytes or in place. Read-only; file locks are taken where the file system has them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/spec/status.h"
#include "storage/hdf5_handle.h"
#include "storage/hdf5_table.h"
#include "storage/tensor_blob.h"

namespace retort::storage {

// Errors are damage, naming file and object, except where said.
class Hdf5Reader {
 public:
  // `name` stands in messages. The bytes are copied.
  [[nodiscard]] static Result<Hdf5Reader> OpenImage(std::string_view bytes, const std::string& name);
  // Error: environment when the file is absent or may not be read.
  [[nodiscard]] static Result<Hdf5Reader> OpenPath(const std::string& path);

  // Every link on the way to `path` exists; of an external link the target is not tried.
  [[nodiscard]] bool Has(const std::string& path) const;
  // Paths of all datasets below `group`, by name. Links out of the file are not followed. Empty when the
  // group is absent.
  [[nodiscard]] Result<std::vector<std::string>> DatasetsBelow(const std::string& group) const;
  // `name` of the blob is left empty.
  [[nodiscard]] Result<TensorBlob> Dataset(const std::string& path) const;
  [[nodiscard]] Result<Table> CompoundTable(const std::string& path) const;
  [[nodiscard]] Result<std::string> TextAttribute(const std::string& object, const std::string& name) const;
  [[nodiscard]] Result<double> NumberAttribute(const std::string& object, const std::string& name) const;
  // A scalar or an array, of at most 1,024 numbers.
  [[nodiscard]] Result<std::vector<double>> NumbersAttribute(const std::string& object,
                                                             const std::string& name) const;
  [[nodiscard]] Result<std::int64_t> IntegerAttribute(const std::string& object,
                                                      const std::string& name) const;
  // Every text attribute of the object.
  [[nodiscard]] Result<std::map<std::string, std::string>> TextAttributes(const std::string& object) const;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  Hdf5Reader(std::string name, Hdf5Handle file) : name_(std::move(name)), file_(std::move(file)) {}
  [[nodiscard]] Status Damaged(const std::string& doing, const std::string& object) const;

  std::string name_;
  Hdf5Handle file_;
};

// The values of a column of the expected type. Error: damage, naming the column.
template <typename T>
[[nodiscard]] Result<std::vector<T>> ColumnOf(const Table& table, const std::string& name) {
  for (const TableColumn& column : table) {
    if (column.name != name) continue;
    if (const auto* values = std::get_if<std::vector<T>>(&column.values)) return *values;
    return DamageError("Column '" + name + "' has another type than expected.");
  }
  return DamageError("Column '" + name + "' is missing.");
}

}  // namespace retort::storage
