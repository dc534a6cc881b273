#include "storage/hdf5_btree2.h"

#include <bit>

#include "storage/byte_codec.h"

namespace retort::storage {
namespace {

constexpr std::uint64_t kNodeOverhead = 10;  // signature, version, type, checksum
constexpr std::uint16_t kMostDepth = 16;

struct Tree {
  std::uint8_t type = 0;
  std::uint64_t node_bytes = 0, record_bytes = 0;
  std::uint16_t depth = 0;
  unsigned count_bytes = 0;           // of a child's number of records
  std::vector<unsigned> total_bytes;  // by a child's depth: of the number of records below it
};

struct Node {
  std::uint64_t at = 0, records = 0;
  std::uint16_t depth = 0;
};

unsigned BytesFor(std::uint64_t most) { return (static_cast<unsigned>(std::bit_width(most)) + 7) / 8; }

std::uint64_t Integer(ByteReader& reader, unsigned bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value |= std::uint64_t{reader.U8()} << (8 * i);
  return value;
}

// How wide the counts in a node of each depth are follows from how many records fit. False: none fit.
bool MeasureCounts(Tree& tree) {
  if (tree.node_bytes <= kNodeOverhead) return false;
  const std::uint64_t in_leaf = (tree.node_bytes - kNodeOverhead) / tree.record_bytes;
  if (in_leaf == 0) return false;
  tree.count_bytes = BytesFor(in_leaf);
  tree.total_bytes = {0};
  std::uint64_t below = in_leaf;
  for (std::uint16_t depth = 1; depth <= tree.depth; ++depth) {
    const std::uint64_t pointer = 8 + tree.count_bytes + tree.total_bytes.back();
    if (tree.node_bytes <= kNodeOverhead + pointer) return false;
    const std::uint64_t records = (tree.node_bytes - kNodeOverhead - pointer) / (tree.record_bytes + pointer);
    if (records == 0 || __builtin_mul_overflow(records + 1, below, &below) ||
        __builtin_add_overflow(below, records, &below))
      return false;
    tree.total_bytes.push_back(BytesFor(below));
  }
  return true;
}

Result<Tree> ReadTree(Hdf5Image& image, std::uint64_t at, std::vector<Node>& nodes) {
  RETORT_ASSIGN_OR_RETURN(const std::string_view bytes, image.Take(at, 38, "an index"));
  ByteReader reader(bytes);
  const bool begins = reader.Raw(4) == "BTHD" && reader.U8() == 0;
  Tree tree;
  tree.type = reader.U8();
  tree.node_bytes = reader.U32();
  tree.record_bytes = reader.U16();
  tree.depth = reader.U16();
  static_cast<void>(reader.U16());  // when nodes split and merge
  const std::uint64_t root = reader.U64();
  const std::uint16_t records = reader.U16();
  if (!begins || tree.depth > kMostDepth || tree.record_bytes == 0 || !MeasureCounts(tree))
    return image.Unsound(at, "an index");
  if (records > 0) nodes.push_back({root, records, tree.depth});
  return tree;
}

// Its records are added, and its children to `nodes`.
Status ReadNode(Hdf5Image& image, const Tree& tree, const Node& node, std::vector<Node>& nodes,
                std::vector<std::string_view>& records) {
  RETORT_ASSIGN_OR_RETURN(const std::string_view bytes,
                          image.Take(node.at, tree.node_bytes, "a node of an index"));
  ByteReader reader(bytes.substr(0, bytes.size() - 4));
  const bool begins =
      reader.Raw(4) == (node.depth == 0 ? "BTLF" : "BTIN") && reader.U8() == 0 && reader.U8() == tree.type;
  if (!begins) return image.Unsound(node.at, "a node of an index");
  if (node.records > reader.rest().size() / tree.record_bytes)
    return image.Unsound(node.at, "a node of an index");
  for (std::uint64_t i = 0; i < node.records; ++i) records.push_back(reader.Raw(tree.record_bytes));
  if (node.depth == 0) return {};
  const auto below = static_cast<std::uint16_t>(node.depth - 1);
  for (std::uint64_t i = 0; i <= node.records; ++i) {
    Node child{reader.U64(), 0, below};
    child.records = Integer(reader, tree.count_bytes);
    static_cast<void>(Integer(reader, tree.total_bytes[below]));
    if (!reader.ok()) return image.Unsound(node.at, "a node of an index");
    nodes.push_back(child);
  }
  return {};
}

}  // namespace

Result<std::vector<std::string_view>> ReadBtree2(Hdf5Image& image, std::uint64_t at, std::uint8_t type,
                                                 std::size_t record_bytes) {
  std::vector<Node> nodes;
  RETORT_ASSIGN_OR_RETURN(const Tree tree, ReadTree(image, at, nodes));
  if (tree.type != type || tree.record_bytes != record_bytes) return image.Unsound(at, "an index");
  std::vector<std::string_view> records;
  while (!nodes.empty()) {
    const Node node = nodes.back();
    nodes.pop_back();
    RETORT_RETURN_IF_ERROR(ReadNode(image, tree, node, nodes, records));
  }
  return records;
}

}  // namespace retort::storage
