#include "storage/hdf5_dataset.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "storage/byte_codec.h"

namespace retort::storage {
namespace {

constexpr std::uint8_t kLayoutVersion = 3, kContiguous = 1, kChunked = 2;
constexpr std::uint8_t kVirtualVersion = 4;
constexpr std::uint8_t kChunkNode = 1;

// The only message of its type; nullptr where there is none, or several.
const Hdf5Message* Only(const std::vector<Hdf5Message>& header, Hdf5MessageType type) {
  const Hdf5Message* found = nullptr;
  for (const Hdf5Message& message : header) {
    if (message.type != type) continue;
    if (found != nullptr) return nullptr;
    found = &message;
  }
  return found;
}

// Chunks of whole rows: the extents of all axes but the first are those of the dataset.
class Chunks {
 public:
  Chunks(Hdf5Image& image, std::uint64_t named_at, Hdf5Dataset& dataset)
      : image_(image), named_at_(named_at), dataset_(dataset) {}

  // `reader` stands behind the class of a layout message; `bytes` are those of all elements.
  Status Read(ByteReader& reader, std::uint64_t bytes) {
    const std::size_t rank = dataset_.shape.size();
    const unsigned dimensions = reader.U8();
    const std::uint64_t tree = reader.U64();
    std::vector<std::uint32_t> extents;
    for (unsigned i = 0; i < dimensions; ++i) extents.push_back(reader.U32());
    if (!reader.ok() || rank == 0 || dimensions != rank + 1 || extents[0] == 0 ||
        extents.back() != dataset_.type.size)
      return image_.Unsound(named_at_, "the layout of a dataset");
    for (std::size_t axis = 1; axis < rank; ++axis)
      if (extents[axis] != dataset_.shape[axis])
        return image_.Foreign(named_at_, "a dataset is cut into chunks along an axis that is not its first");
    if (bytes == 0) return {};
    rows_ = extents[0];
    const std::uint64_t row_bytes = bytes / static_cast<std::uint64_t>(dataset_.shape[0]);
    if (__builtin_mul_overflow(row_bytes, rows_, &chunk_bytes_))
      return image_.Unsound(named_at_, "the layout of a dataset");
    RETORT_RETURN_IF_ERROR(ReadIndex(tree));
    return PutInOrder(row_bytes);
  }

 private:
  struct Node {
    std::uint64_t at = 0;
    int level = -1;  // -1: not known yet
  };

  Status ReadIndex(std::uint64_t tree) {
    std::vector<Node> nodes = {{tree, -1}};
    while (!nodes.empty()) {
      const Node node = nodes.back();
      nodes.pop_back();
      RETORT_RETURN_IF_ERROR(ReadNode(node, nodes));
    }
    return {};
  }

  Status ReadNode(const Node& node, std::vector<Node>& nodes) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view rest, image_.From(node.at, "the index of a dataset"));
    ByteReader reader(rest);
    const bool begins = reader.Raw(4) == "TREE" && reader.U8() == kChunkNode;
    const int level = reader.U8();
    const std::uint16_t used = reader.U16();
    static_cast<void>(reader.Raw(16));  // siblings
    if (!begins || (node.level >= 0 && level != node.level))
      return image_.Unsound(node.at, "the index of a dataset");
    for (std::uint16_t i = 0; i < used; ++i) {
      const std::uint32_t size = reader.U32(), skipped_filters = reader.U32();
      const std::uint64_t row = reader.U64();
      const std::string_view others = reader.Raw(8 * dataset_.shape.size());
      const std::uint64_t child = reader.U64();
      if (!reader.ok()) return image_.Unsound(node.at, "the index of a dataset");
      if (level > 0) {
        nodes.push_back({child, level - 1});
        continue;
      }
      const bool whole = size == chunk_bytes_ && skipped_filters == 0 && row % rows_ == 0 &&
                         others.find_first_not_of('\0') == std::string_view::npos;
      if (!whole || !chunks_.emplace(row, child).second)
        return image_.Unsound(node.at, "the index of a dataset");
    }
    return image_.Count(node.at, rest.size() - reader.rest().size());
  }

  // Each row belongs to one chunk; the last may have more rows than are left.
  Status PutInOrder(std::uint64_t row_bytes) {
    const auto all = static_cast<std::uint64_t>(dataset_.shape[0]);
    std::uint64_t next = 0;
    for (const auto& [row, at] : chunks_) {
      if (row != next || row >= all) return image_.Unsound(named_at_, "the index of a dataset");
      RETORT_ASSIGN_OR_RETURN(const std::string_view chunk,
                              image_.Take(at, chunk_bytes_, "a chunk of a dataset"));
      dataset_.pieces.push_back(chunk.substr(0, std::min(rows_, all - row) * row_bytes));
      next = row + rows_;
    }
    return next >= all ? Status() : image_.Unsound(named_at_, "the index of a dataset");
  }

  Hdf5Image& image_;
  const std::uint64_t named_at_;
  Hdf5Dataset& dataset_;
  std::uint64_t rows_ = 0, chunk_bytes_ = 0;       // of a chunk
  std::map<std::uint64_t, std::uint64_t> chunks_;  // by its first row: address
};

Status ReadContiguous(Hdf5Image& image, std::uint64_t named_at, ByteReader& reader, std::uint64_t bytes,
                      Hdf5Dataset& dataset) {
  const std::uint64_t at = reader.U64(), size = reader.U64();
  if (!reader.ok()) return image.Unsound(named_at, "the layout of a dataset");
  if (bytes == 0) return {};
  if (size != bytes)
    return image.Damaged(named_at, "a dataset has " + std::to_string(size) +
                                       " bytes where its extents make " + std::to_string(bytes));
  RETORT_ASSIGN_OR_RETURN(const std::string_view data, image.Take(at, bytes, "the contents of a dataset"));
  dataset.pieces.push_back(data);
  return {};
}

}  // namespace

Result<Hdf5Dataset> ReadHdf5Dataset(Hdf5Image& image, const std::vector<Hdf5Message>& header) {
  const Hdf5Message* layout = Only(header, Hdf5MessageType::layout);
  const Hdf5Message* type = Only(header, Hdf5MessageType::datatype);
  const Hdf5Message* space = Only(header, Hdf5MessageType::dataspace);
  const std::uint64_t at = header.front().at;
  if (layout == nullptr || type == nullptr || space == nullptr) return image.Unsound(at, "an object");
  const std::optional<Hdf5Type> parsed = ParseHdf5Type(type->body);
  std::optional<std::vector<std::int64_t>> extents = ParseHdf5Extents(space->body);
  if (!parsed || !extents) return image.Unsound(at, "the type or the extents of a dataset");
  Hdf5Dataset dataset{*parsed, std::move(*extents), {}};
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(*TensorBytes(DType::u8, dataset.shape), parsed->size, &bytes))
    return image.Unsound(at, "the extents of a dataset");
  ByteReader reader(layout->body);
  const unsigned version = reader.U8(), kind = reader.U8();
  if (version == kLayoutVersion && kind == kContiguous)
    RETORT_RETURN_IF_ERROR(ReadContiguous(image, at, reader, bytes, dataset));
  else if (version == kLayoutVersion && kind == kChunked)
    RETORT_RETURN_IF_ERROR(Chunks(image, at, dataset).Read(reader, bytes));
  else
    return image.Foreign(at, version == kVirtualVersion
                                 ? "a dataset is virtual, or stored in a layout of newer versions"
                                 : "a dataset is stored in a layout of kind " + std::to_string(kind) +
                                       ", version " + std::to_string(version));
  return dataset;
}

}  // namespace retort::storage
