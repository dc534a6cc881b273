// Reads the HDF5 files that Retort writes, from bytes, without the HDF5 library; and the seal, the last bytes of
// attempt.h5 and results.h5 behind the end of what HDF5 reads: a file that was changed or cut is an error before it is
// taken apart. Bytes: storage/FORMAT.md, section 4.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/base/status.h"
#include "storage/files/env.h"
#include "storage/formats/tensor_blob.h"
#include "storage/results/hdf5_conventions.h"
#include "storage/results/hdf5_tree.h"

namespace retort::storage {

// Returns the seal to write behind `bytes`.
[[nodiscard]] std::string MakeSeal(std::string_view bytes);
// Whether the bytes end in a seal, valid or not.
[[nodiscard]] bool EndsInSeal(std::string_view bytes);
// Returns the bytes before the seal. Error: damage, naming the file, when there is no seal or it is not that of the
// bytes.
[[nodiscard]] Result<std::string_view> Unseal(std::string_view bytes, const std::string& name);
// Checks the seal of a file, which is read once. Errors: as Unseal; environment.
[[nodiscard]] Status CheckSeal(Env& env, const std::string& path);

// Errors are damage, naming file and object, except where said.
class Hdf5Reader {
 public:
  // `name` stands in messages. The bytes must outlive the reader.
  [[nodiscard]] static Result<Hdf5Reader> OpenView(std::string_view bytes, const std::string& name);
  // The same, of the first `size` of the bytes, which are kept.
  [[nodiscard]] static Result<Hdf5Reader> OpenBytes(std::string bytes, std::size_t size, const std::string& name);
  // A results.h5: in its group /attempts, links to the attempts beside it are let be, and not followed.
  // Error: environment when the file is absent, is no plain file, or may not be read.
  [[nodiscard]] static Result<Hdf5Reader> OpenResultFile(const std::string& path);

  // Of a link out of the file the target is not tried.
  [[nodiscard]] bool Has(const std::string& path) const;
  // Paths of all datasets below `group`, by path. Empty when the group is absent.
  [[nodiscard]] std::vector<std::string> DatasetsBelow(const std::string& group) const;
  // `name` of the blob is left empty.
  [[nodiscard]] Result<TensorBlob> Dataset(const std::string& path) const;
  [[nodiscard]] Result<Table> CompoundTable(const std::string& path) const;
  [[nodiscard]] Result<std::string> TextAttribute(const std::string& object, const std::string& name) const;
  [[nodiscard]] Result<double> NumberAttribute(const std::string& object, const std::string& name) const;
  // A scalar or an array, of at most 1,024 numbers.
  [[nodiscard]] Result<std::vector<double>> NumbersAttribute(const std::string& object, const std::string& name) const;
  [[nodiscard]] Result<std::int64_t> IntegerAttribute(const std::string& object, const std::string& name) const;
  // Every text attribute of the object.
  [[nodiscard]] Result<std::map<std::string, std::string>> TextAttributes(const std::string& object) const;
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  Hdf5Reader(std::string name, std::unique_ptr<const std::string> bytes, Hdf5Tree tree)
      : name_(std::move(name)), bytes_(std::move(bytes)), tree_(std::move(tree)) {}
  [[nodiscard]] Status Damaged(const std::string& doing, const std::string& object) const;
  // Error: damage when there is no such dataset.
  [[nodiscard]] Result<const Hdf5Dataset*> Find(const std::string& path) const;
  [[nodiscard]] Result<Hdf5Attribute> Attribute(const std::string& object, const std::string& name) const;

  std::string name_;
  std::unique_ptr<const std::string> bytes_;  // what `tree_` looks into; nullptr where somebody else holds them
  Hdf5Tree tree_;
};

// The values of a column of the expected type. Error: damage, naming the column.
template <typename T>
[[nodiscard]] Result<std::vector<T>> FindColumn(const Table& table, const std::string& name) {
  for (const TableColumn& column : table) {
    if (column.name != name) continue;
    if (const auto* values = std::get_if<std::vector<T>>(&column.values)) return *values;
    return DamageError("Column '" + name + "' has another type than expected.");
  }
  return DamageError("Column '" + name + "' is missing.");
}

class Hdf5Reader;

inline constexpr char kConventions[] = "Retort-1";

// Error: usage for a file of another version, naming both; damage for a file that names no conventions.
[[nodiscard]] Status CheckConventions(const Hdf5Reader& reader);

// Error: damage, or usage for another format version, or environment.
[[nodiscard]] Result<Hdf5Reader> OpenSealedHdf5(const std::string& path);

}  // namespace retort::storage
