#include "storage/tensor_group.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "storage/hdf5_reader.h"
#include "storage/hdf5_writer.h"

namespace retort::storage {

void WriteTensors(Hdf5Writer& writer, const std::string& root, const std::vector<TensorBlob>& tensors) {
  std::int64_t order = 0;
  for (const TensorBlob& tensor : tensors) {
    const std::string path = root + "/" + tensor.name;
    writer.Dataset(path, tensor);
    writer.Attribute(path, "order", order++);
  }
}

Result<std::vector<TensorBlob>> ReadTensors(const Hdf5Reader& reader, const std::string& root,
                                            const std::vector<std::string>& prefixes) {
  std::vector<std::pair<std::int64_t, TensorBlob>> found;
  for (const std::string& prefix : prefixes) {
    const std::size_t slash = prefix.find('/');
    const std::string top = slash == std::string::npos ? root : root + "/" + prefix.substr(0, slash);
    for (const std::string& path : reader.DatasetsBelow(top.empty() ? "/" : top)) {
      const std::string name = path.substr(root.size() + 1);
      if (name.compare(0, prefix.size(), prefix) != 0) continue;
      RETORT_ASSIGN_OR_RETURN(const std::int64_t order, reader.IntegerAttribute(path, "order"));
      RETORT_ASSIGN_OR_RETURN(TensorBlob tensor, reader.Dataset(path));
      tensor.name = name;
      found.emplace_back(order, std::move(tensor));
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<TensorBlob> tensors;
  for (auto& [order, tensor] : found) tensors.push_back(std::move(tensor));
  return tensors;
}

}  // namespace retort::storage
