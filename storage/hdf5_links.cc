#include "storage/hdf5_links.h"

#include <algorithm>
#include <utility>

#include "storage/byte_codec.h"
#include "storage/hdf5_heap.h"

namespace retort::storage {
namespace {

constexpr std::size_t kMostName = 1024;  // bytes
constexpr std::size_t kSymbolBytes = 40;
constexpr std::uint32_t kSoftSymbol = 2;
constexpr std::uint8_t kHardLink = 0, kSoftLink = 1, kExternalLink = 64;

// Groups of the older kind: a B-tree (version 1) of tables of symbols, whose names lie in a heap.
class SymbolTable {
 public:
  SymbolTable(Hdf5Image& image, std::vector<Hdf5Link>& links) : image_(image), links_(links) {}

  Status Read(const Hdf5Message& message) {
    ByteReader reader(message.body);
    const std::uint64_t tree = reader.U64(), heap = reader.U64();
    if (!reader.ok()) return image_.Unsound(message.at, "a group");
    RETORT_RETURN_IF_ERROR(ReadNames(heap));
    std::vector<Node> nodes = {{tree, -1}};
    while (!nodes.empty()) {
      const Node node = nodes.back();
      nodes.pop_back();
      RETORT_RETURN_IF_ERROR(ReadNode(node, nodes));
    }
    return {};
  }

 private:
  struct Node {
    std::uint64_t at = 0;
    int level = -1;  // -1: not known yet
  };

  Status ReadNames(std::uint64_t at) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view bytes, image_.Take(at, 32, "the names of a group"));
    ByteReader reader(bytes);
    const bool begins = reader.Raw(4) == "HEAP" && reader.U8() == 0;
    static_cast<void>(reader.Raw(3));
    const std::uint64_t size = reader.U64();
    static_cast<void>(reader.U64());  // free space
    if (!begins) return image_.Unsound(at, "the names of a group");
    RETORT_ASSIGN_OR_RETURN(names_, image_.Take(reader.U64(), size, "the names of a group"));
    return {};
  }

  Status ReadNode(const Node& node, std::vector<Node>& nodes) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view rest, image_.From(node.at, "the index of a group"));
    ByteReader reader(rest);
    const bool begins = reader.Raw(4) == "TREE" && reader.U8() == 0;
    const int level = reader.U8();
    const std::uint16_t used = reader.U16();
    static_cast<void>(reader.Raw(24));  // siblings, first key
    if (!begins || (node.level >= 0 && level != node.level))
      return image_.Unsound(node.at, "the index of a group");
    for (std::uint16_t i = 0; i < used; ++i) {
      const std::uint64_t child = reader.U64();
      static_cast<void>(reader.U64());  // key
      if (!reader.ok()) return image_.Unsound(node.at, "the index of a group");
      if (level > 0)
        nodes.push_back({child, level - 1});
      else
        RETORT_RETURN_IF_ERROR(ReadSymbols(child));
    }
    return image_.Count(node.at, rest.size() - reader.rest().size());
  }

  Status ReadSymbols(std::uint64_t at) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view head, image_.Take(at, 8, "the table of a group"));
    ByteReader reader(head);
    const bool begins = reader.Raw(4) == "SNOD" && reader.U8() == 1;
    static_cast<void>(reader.U8());
    const std::uint16_t symbols = reader.U16();
    if (!begins) return image_.Unsound(at, "the table of a group");
    RETORT_ASSIGN_OR_RETURN(const std::string_view bytes,
                            image_.Take(at + 8, symbols * kSymbolBytes, "the table of a group"));
    for (std::size_t i = 0; i < symbols; ++i)
      RETORT_RETURN_IF_ERROR(AddSymbol(bytes.substr(i * kSymbolBytes), at));
    return {};
  }

  Status AddSymbol(std::string_view symbol, std::uint64_t at) {
    ByteReader reader(symbol);
    const std::uint64_t name = reader.U64();
    Hdf5Link link;
    link.address = reader.U64();
    if (reader.U32() == kSoftSymbol) return image_.Foreign(at, "a group holds a soft link");
    if (name >= names_.size()) return image_.Unsound(at, "the table of a group");
    const std::string_view text = names_.substr(name, kMostName + 1);
    link.name = std::string(text.substr(0, text.find('\0')));
    links_.push_back(std::move(link));
    return {};
  }

  Hdf5Image& image_;
  std::vector<Hdf5Link>& links_;
  std::string_view names_;
};

Status ReadTarget(const Hdf5Image& image, std::uint64_t at, std::uint8_t type, ByteReader& reader,
                  Hdf5Link& link) {
  if (type == kHardLink) {
    link.address = reader.U64();
    return {};
  }
  if (type == kSoftLink) return image.Foreign(at, "a group holds a soft link");
  if (type != kExternalLink) return image.Foreign(at, "a group holds a link of type " + std::to_string(type));
  std::string_view target = reader.Raw(reader.U16());
  if (!reader.ok() || target.empty() || target[0] != '\0') return image.Unsound(at, "a link");
  target.remove_prefix(1);
  const std::size_t end = target.find('\0');
  if (end == std::string_view::npos) return image.Unsound(at, "a link");
  link.file = std::string(target.substr(0, end));
  target.remove_prefix(end + 1);
  link.object = std::string(target.substr(0, target.find('\0')));
  return {};
}

// A link message, as groups of the newer kind hold them.
Result<Hdf5Link> ReadLink(const Hdf5Image& image, std::uint64_t at, std::string_view message) {
  ByteReader reader(message);
  const bool known = reader.U8() == 1;
  const unsigned flags = reader.U8();
  const std::uint8_t type = (flags & 8U) != 0 ? reader.U8() : kHardLink;
  if ((flags & 4U) != 0) static_cast<void>(reader.U64());  // order of creation
  if ((flags & 16U) != 0) static_cast<void>(reader.U8());  // character set
  const std::uint64_t size = (flags & 3U) == 0   ? reader.U8()
                             : (flags & 3U) == 1 ? reader.U16()
                             : (flags & 3U) == 2 ? reader.U32()
                                                 : reader.U64();
  Hdf5Link link;
  link.name = std::string(reader.Raw(size).substr(0, kMostName + 1));
  RETORT_RETURN_IF_ERROR(ReadTarget(image, at, type, reader, link));
  if (!known || !reader.ok()) return image.Unsound(at, "a link");
  return link;
}

Status ReadDenseLinks(Hdf5Image& image, const Hdf5Message& message, std::vector<Hdf5Link>& links) {
  ByteReader reader(message.body);
  const bool known = reader.U8() == 0;
  if ((reader.U8() & 1U) != 0) static_cast<void>(reader.U64());  // largest order of creation
  const std::uint64_t heap = reader.U64(), tree = reader.U64();
  if (!known || !reader.ok()) return image.Unsound(message.at, "a group");
  if (heap == kHdf5Nowhere) return {};
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string_view> stored,
                          ReadDenseMessages(image, heap, tree, kDenseLinks));
  for (const std::string_view each : stored) {
    RETORT_ASSIGN_OR_RETURN(Hdf5Link link, ReadLink(image, heap, each));
    links.push_back(std::move(link));
  }
  return {};
}

bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= kMostName && name != "." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
}

}  // namespace

bool IsHdf5Group(const std::vector<Hdf5Message>& header) {
  return std::any_of(header.begin(), header.end(), [](const Hdf5Message& message) {
    return message.type == Hdf5MessageType::symbol_table || message.type == Hdf5MessageType::link_table;
  });
}

Result<std::vector<Hdf5Link>> ReadHdf5Links(Hdf5Image& image, const std::vector<Hdf5Message>& header) {
  std::vector<Hdf5Link> links;
  for (const Hdf5Message& message : header) {
    if (message.type == Hdf5MessageType::symbol_table)
      RETORT_RETURN_IF_ERROR(SymbolTable(image, links).Read(message));
    if (message.type == Hdf5MessageType::link_table)
      RETORT_RETURN_IF_ERROR(ReadDenseLinks(image, message, links));
    if (message.type != Hdf5MessageType::link) continue;
    RETORT_ASSIGN_OR_RETURN(Hdf5Link link, ReadLink(image, message.at, message.body));
    links.push_back(std::move(link));
  }
  for (const Hdf5Link& link : links)
    if (!IsName(link.name)) return image.Unsound(header.front().at, "the name of an object in a group");
  return links;
}

}  // namespace retort::storage
