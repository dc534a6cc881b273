#include "storage/results/hdf5_tree.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "storage/formats/byte_codec.h"
#include "storage/results/hdf5_messages.h"

namespace retort::storage {
namespace {

// ---- What a group names

struct Hdf5Link {
  std::string name;
  std::uint64_t address = kHdf5NoAddress;  // of the object's header; nowhere: the link leads out of the file
  std::string file, object;                // of a link that does
};

constexpr std::size_t kMaxName = 1024;  // bytes
constexpr std::size_t kSymbolBytes = 40;
constexpr std::uint32_t kSoftSymbol = 2;
constexpr std::uint8_t kHardLink = 0, kSoftLink = 1, kExternalLink = 64;

// Groups of the older kind: a B-tree (version 1) of tables of symbols, whose names lie in a heap.
class SymbolTable {
 public:
  SymbolTable(Hdf5Bytes& file, std::vector<Hdf5Link>& links) : file_(file), links_(links) {}

  Status Read(const Hdf5Message& message) {
    ByteReader reader(message.body);
    const std::uint64_t tree = reader.U64(), heap = reader.U64();
    if (!reader.ok()) return file_.Unsound(message.at, "a group");
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
    RETORT_ASSIGN_OR_RETURN(const std::string_view bytes, file_.Take(at, 32, "the names of a group"));
    ByteReader reader(bytes);
    const bool begins = reader.Raw(4) == "HEAP" && reader.U8() == 0;
    static_cast<void>(reader.Raw(3));
    const std::uint64_t size = reader.U64();
    static_cast<void>(reader.U64());  // free space
    if (!begins) return file_.Unsound(at, "the names of a group");
    RETORT_ASSIGN_OR_RETURN(names_, file_.Take(reader.U64(), size, "the names of a group"));
    return {};
  }

  Status ReadNode(const Node& node, std::vector<Node>& nodes) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view rest, file_.From(node.at, "the index of a group"));
    ByteReader reader(rest);
    const bool begins = reader.Raw(4) == "TREE" && reader.U8() == 0;
    const int level = reader.U8();
    const std::uint16_t used = reader.U16();
    static_cast<void>(reader.Raw(24));  // siblings, first key
    if (!begins || (node.level >= 0 && level != node.level)) return file_.Unsound(node.at, "the index of a group");
    for (std::uint16_t i = 0; i < used; ++i) {
      const std::uint64_t child = reader.U64();
      static_cast<void>(reader.U64());  // key
      if (!reader.ok()) return file_.Unsound(node.at, "the index of a group");
      if (level > 0)
        nodes.push_back({child, level - 1});
      else
        RETORT_RETURN_IF_ERROR(ReadSymbols(child));
    }
    return file_.Count(node.at, rest.size() - reader.rest().size());
  }

  Status ReadSymbols(std::uint64_t at) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view head, file_.Take(at, 8, "the table of a group"));
    ByteReader reader(head);
    const bool begins = reader.Raw(4) == "SNOD" && reader.U8() == 1;
    static_cast<void>(reader.U8());
    const std::uint16_t symbols = reader.U16();
    if (!begins) return file_.Unsound(at, "the table of a group");
    RETORT_ASSIGN_OR_RETURN(const std::string_view bytes,
                            file_.Take(at + 8, symbols * kSymbolBytes, "the table of a group"));
    for (std::size_t i = 0; i < symbols; ++i) RETORT_RETURN_IF_ERROR(AddSymbol(bytes.substr(i * kSymbolBytes), at));
    return {};
  }

  Status AddSymbol(std::string_view symbol, std::uint64_t at) {
    ByteReader reader(symbol);
    const std::uint64_t name = reader.U64();
    Hdf5Link link;
    link.address = reader.U64();
    if (reader.U32() == kSoftSymbol) return file_.Foreign(at, "a group holds a soft link");
    if (name >= names_.size()) return file_.Unsound(at, "the table of a group");
    const std::string_view text = names_.substr(name, kMaxName + 1);
    link.name = std::string(text.substr(0, text.find('\0')));
    links_.push_back(std::move(link));
    return {};
  }

  Hdf5Bytes& file_;
  std::vector<Hdf5Link>& links_;
  std::string_view names_;
};

Status ReadTarget(const Hdf5Bytes& file, std::uint64_t at, std::uint8_t type, ByteReader& reader, Hdf5Link& link) {
  if (type == kHardLink) {
    link.address = reader.U64();
    return {};
  }
  if (type == kSoftLink) return file.Foreign(at, "a group holds a soft link");
  if (type != kExternalLink) return file.Foreign(at, "a group holds a link of type " + std::to_string(type));
  std::string_view target = reader.Raw(reader.U16());
  if (!reader.ok() || target.empty() || target[0] != '\0') return file.Unsound(at, "a link");
  target.remove_prefix(1);
  const std::size_t end = target.find('\0');
  if (end == std::string_view::npos) return file.Unsound(at, "a link");
  link.file = std::string(target.substr(0, end));
  target.remove_prefix(end + 1);
  link.object = std::string(target.substr(0, target.find('\0')));
  return {};
}

// A link message, as groups of the newer kind hold them.
Result<Hdf5Link> ReadLink(const Hdf5Bytes& file, std::uint64_t at, std::string_view message) {
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
  link.name = std::string(reader.Raw(size).substr(0, kMaxName + 1));
  RETORT_RETURN_IF_ERROR(ReadTarget(file, at, type, reader, link));
  if (!known || !reader.ok()) return file.Unsound(at, "a link");
  return link;
}

Status ReadDenseLinks(Hdf5Bytes& file, const Hdf5Message& message, std::vector<Hdf5Link>& links) {
  ByteReader reader(message.body);
  const bool known = reader.U8() == 0;
  if ((reader.U8() & 1U) != 0) static_cast<void>(reader.U64());  // largest order of creation
  const std::uint64_t heap = reader.U64(), tree = reader.U64();
  if (!known || !reader.ok()) return file.Unsound(message.at, "a group");
  if (heap == kHdf5NoAddress) return {};
  RETORT_ASSIGN_OR_RETURN(const std::vector<std::string_view> stored, ReadDenseMessages(file, heap, tree, kDenseLinks));
  for (const std::string_view each : stored) {
    RETORT_ASSIGN_OR_RETURN(Hdf5Link link, ReadLink(file, heap, each));
    links.push_back(std::move(link));
  }
  return {};
}

bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= kMaxName && name != "." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
}

bool IsHdf5Group(const std::vector<Hdf5Message>& header) {
  return std::any_of(header.begin(), header.end(), [](const Hdf5Message& message) {
    return message.type == Hdf5MessageType::symbol_table || message.type == Hdf5MessageType::link_table;
  });
}

// Its links, in no particular order. Error: damage; so are soft links, and names that are none.
Result<std::vector<Hdf5Link>> ReadHdf5Links(Hdf5Bytes& file, const std::vector<Hdf5Message>& header) {
  std::vector<Hdf5Link> links;
  for (const Hdf5Message& message : header) {
    if (message.type == Hdf5MessageType::symbol_table) RETORT_RETURN_IF_ERROR(SymbolTable(file, links).Read(message));
    if (message.type == Hdf5MessageType::link_table) RETORT_RETURN_IF_ERROR(ReadDenseLinks(file, message, links));
    if (message.type != Hdf5MessageType::link) continue;
    RETORT_ASSIGN_OR_RETURN(Hdf5Link link, ReadLink(file, message.at, message.body));
    links.push_back(std::move(link));
  }
  for (const Hdf5Link& link : links)
    if (!IsName(link.name)) return file.Unsound(header.front().at, "the name of an object in a group");
  return links;
}

// ---- Where the elements of a dataset lie

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
  Chunks(Hdf5Bytes& file, std::uint64_t named_at, Hdf5Dataset& dataset)
      : file_(file), named_at_(named_at), dataset_(dataset) {}

  // `reader` stands behind the class of a layout message; `bytes` are those of all elements.
  Status Read(ByteReader& reader, std::uint64_t bytes) {
    const std::size_t rank = dataset_.shape.size();
    const unsigned dimensions = reader.U8();
    const std::uint64_t tree = reader.U64();
    std::vector<std::uint32_t> extents;
    for (unsigned i = 0; i < dimensions; ++i) extents.push_back(reader.U32());
    if (!reader.ok() || rank == 0 || dimensions != rank + 1 || extents[0] == 0 || extents.back() != dataset_.type.size)
      return file_.Unsound(named_at_, "the layout of a dataset");
    for (std::size_t axis = 1; axis < rank; ++axis)
      if (extents[axis] != dataset_.shape[axis])
        return file_.Foreign(named_at_, "a dataset is cut into chunks along an axis that is not its first");
    if (bytes == 0) return {};
    rows_ = extents[0];
    const std::uint64_t row_bytes = bytes / static_cast<std::uint64_t>(dataset_.shape[0]);
    if (__builtin_mul_overflow(row_bytes, rows_, &chunk_bytes_))
      return file_.Unsound(named_at_, "the layout of a dataset");
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
    RETORT_ASSIGN_OR_RETURN(const std::string_view rest, file_.From(node.at, "the index of a dataset"));
    ByteReader reader(rest);
    const bool begins = reader.Raw(4) == "TREE" && reader.U8() == kChunkNode;
    const int level = reader.U8();
    const std::uint16_t used = reader.U16();
    static_cast<void>(reader.Raw(16));  // siblings
    if (!begins || (node.level >= 0 && level != node.level)) return file_.Unsound(node.at, "the index of a dataset");
    for (std::uint16_t i = 0; i < used; ++i) {
      const std::uint32_t size = reader.U32(), skipped_filters = reader.U32();
      const std::uint64_t row = reader.U64();
      const std::string_view others = reader.Raw(8 * dataset_.shape.size());
      const std::uint64_t child = reader.U64();
      if (!reader.ok()) return file_.Unsound(node.at, "the index of a dataset");
      if (level > 0) {
        nodes.push_back({child, level - 1});
        continue;
      }
      const bool whole = size == chunk_bytes_ && skipped_filters == 0 && row % rows_ == 0 &&
                         others.find_first_not_of('\0') == std::string_view::npos;
      if (!whole || !chunks_.emplace(row, child).second) return file_.Unsound(node.at, "the index of a dataset");
    }
    return file_.Count(node.at, rest.size() - reader.rest().size());
  }

  // Each row belongs to one chunk; the last may have more rows than are left.
  Status PutInOrder(std::uint64_t row_bytes) {
    const auto all = static_cast<std::uint64_t>(dataset_.shape[0]);
    std::uint64_t next = 0;
    for (const auto& [row, at] : chunks_) {
      if (row != next || row >= all) return file_.Unsound(named_at_, "the index of a dataset");
      RETORT_ASSIGN_OR_RETURN(const std::string_view chunk, file_.Take(at, chunk_bytes_, "a chunk of a dataset"));
      dataset_.pieces.push_back(chunk.substr(0, std::min(rows_, all - row) * row_bytes));
      next = row + rows_;
    }
    return next >= all ? Status() : file_.Unsound(named_at_, "the index of a dataset");
  }

  Hdf5Bytes& file_;
  const std::uint64_t named_at_;
  Hdf5Dataset& dataset_;
  std::uint64_t rows_ = 0, chunk_bytes_ = 0;       // of a chunk
  std::map<std::uint64_t, std::uint64_t> chunks_;  // by its first row: address
};

Status ReadContiguous(Hdf5Bytes& file, std::uint64_t named_at, ByteReader& reader, std::uint64_t bytes,
                      Hdf5Dataset& dataset) {
  const std::uint64_t at = reader.U64(), size = reader.U64();
  if (!reader.ok()) return file.Unsound(named_at, "the layout of a dataset");
  if (bytes == 0) return {};
  if (size != bytes)
    return file.Damaged(
        named_at, "a dataset has " + std::to_string(size) + " bytes where its extents make " + std::to_string(bytes));
  RETORT_ASSIGN_OR_RETURN(const std::string_view data, file.Take(at, bytes, "the contents of a dataset"));
  dataset.pieces.push_back(data);
  return {};
}

// All extents are inside the file before anything is copied. Error: damage; so are virtual and external datasets,
// compact ones, and chunks that are cut along another axis than the first.
Result<Hdf5Dataset> ReadHdf5Dataset(Hdf5Bytes& file, const std::vector<Hdf5Message>& header) {
  const Hdf5Message* layout = Only(header, Hdf5MessageType::layout);
  const Hdf5Message* type = Only(header, Hdf5MessageType::datatype);
  const Hdf5Message* space = Only(header, Hdf5MessageType::dataspace);
  const std::uint64_t at = header.front().at;
  if (layout == nullptr || type == nullptr || space == nullptr) return file.Unsound(at, "an object");
  const std::optional<Hdf5Type> parsed = ParseHdf5Type(type->body);
  std::optional<std::vector<std::int64_t>> extents = ParseHdf5Extents(space->body);
  if (!parsed || !extents) return file.Unsound(at, "the type or the extents of a dataset");
  Hdf5Dataset dataset{*parsed, std::move(*extents), {}};
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(*ComputeTensorBytes(DType::u8, dataset.shape), parsed->size, &bytes))
    return file.Unsound(at, "the extents of a dataset");
  ByteReader reader(layout->body);
  const unsigned version = reader.U8(), kind = reader.U8();
  if (version == kLayoutVersion && kind == kContiguous)
    RETORT_RETURN_IF_ERROR(ReadContiguous(file, at, reader, bytes, dataset));
  else if (version == kLayoutVersion && kind == kChunked)
    RETORT_RETURN_IF_ERROR(Chunks(file, at, dataset).Read(reader, bytes));
  else
    return file.Foreign(at, version == kVirtualVersion
                                ? "a dataset is virtual, or stored in a layout of newer versions"
                                : "a dataset is stored in a layout of kind " + std::to_string(kind) + ", version " +
                                      std::to_string(version));
  return dataset;
}

// ---- All objects

constexpr std::size_t kMaxGroupDepth = 32, kMaxPath = 2048;
constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
constexpr std::string_view kAttempts = "/attempts/", kTrials = "trials/", kFile = "/attempt.h5";

struct Place {
  std::string path;
  std::uint64_t at = 0;
  std::size_t depth = 0;
};

bool IsHex(std::string_view text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// trials/<folder>/attempt-<n>/attempt.h5
bool IsAttemptFile(std::string_view file) {
  if (!file.starts_with(kTrials) || !file.ends_with(kFile)) return false;
  file.remove_prefix(kTrials.size());
  const std::size_t slash = file.find('/');
  if (slash == std::string_view::npos || file.substr(0, slash) == ".." || slash == 0) return false;
  std::string_view attempt = file.substr(slash + 1);
  if (attempt.size() <= kFile.size()) return false;
  attempt.remove_suffix(kFile.size());
  if (!attempt.starts_with("attempt-")) return false;
  attempt.remove_prefix(8);
  return !attempt.empty() && attempt.find_first_not_of("0123456789") == std::string_view::npos;
}

class TreeReader {
 public:
  TreeReader(std::string_view bytes, const std::string& name, Hdf5Outside outside)
      : file_(bytes, name), outside_(outside) {}

  Result<Hdf5Tree> Read() {
    RETORT_ASSIGN_OR_RETURN(const std::uint64_t root, ReadSuperblock());
    std::vector<Place> places = {{"/", root, 0}};
    while (!places.empty()) {
      const Place place = std::move(places.back());
      places.pop_back();
      RETORT_RETURN_IF_ERROR(ReadObject(place, places));
    }
    return std::move(tree_);
  }

 private:
  // The address of the root group's header.
  Result<std::uint64_t> ReadSuperblock() {
    RETORT_ASSIGN_OR_RETURN(const std::string_view bytes, file_.Take(0, 96, "the head of an HDF5 file"));
    ByteReader reader(bytes);
    if (reader.Raw(8) != kSignature) return file_.Damaged(0, "no HDF5 file begins there");
    const unsigned version = reader.U8();
    if (version != 0) return file_.Foreign(8, "a superblock of version " + std::to_string(version));
    static_cast<void>(reader.Raw(4));  // versions of other parts
    const bool wide = reader.U8() == 8 && reader.U8() == 8;
    static_cast<void>(reader.Raw(9));  // sizes of nodes, flags
    const std::uint64_t base = reader.U64();
    static_cast<void>(reader.U64());  // free space
    const std::uint64_t end = reader.U64(), driver = reader.U64();
    static_cast<void>(reader.U64());  // name of the root
    if (!wide || base != 0 || driver != kHdf5NoAddress) return file_.Foreign(8, "a superblock of another kind");
    if (end != file_.size())
      return file_.Damaged(40, "the file says that it has " + std::to_string(end) + " bytes, and it has " +
                                   std::to_string(file_.size()));
    return reader.U64();
  }

  Status ReadObject(const Place& place, std::vector<Place>& places) {
    if (!seen_.insert(place.at).second)
      return file_.Damaged(
          place.at, "'" + place.path.substr(0, 200) + "' is an object that has another name as well, or holds itself");
    RETORT_ASSIGN_OR_RETURN(const std::vector<Hdf5Message> header, ReadObjectHeader(file_, place.at));
    if (header.empty()) return file_.Unsound(place.at, "an object");
    Hdf5Object object;
    RETORT_RETURN_IF_ERROR(ReadAttributes(header, object));
    if (IsHdf5Group(header)) {
      RETORT_RETURN_IF_ERROR(ReadGroup(place, header, places));
    } else {
      RETORT_ASSIGN_OR_RETURN(object.dataset, ReadHdf5Dataset(file_, header));
    }
    tree_.objects.emplace(place.path, std::move(object));
    return {};
  }

  Status ReadAttributes(const std::vector<Hdf5Message>& header, Hdf5Object& object) {
    for (const Hdf5Message& message : header) {
      if (message.type == Hdf5MessageType::attribute) object.attributes.push_back(message.body);
      if (message.type != Hdf5MessageType::attribute_table) continue;
      ByteReader reader(message.body);
      const bool known = reader.U8() == 0;
      if ((reader.U8() & 1U) != 0) static_cast<void>(reader.U16());  // largest order of creation
      const std::uint64_t heap = reader.U64(), names = reader.U64();
      if (!known || !reader.ok()) return file_.Unsound(message.at, "the attributes of an object");
      if (heap == kHdf5NoAddress) continue;
      RETORT_ASSIGN_OR_RETURN(const std::vector<std::string_view> stored,
                              ReadDenseMessages(file_, heap, names, kDenseAttributes));
      object.attributes.insert(object.attributes.end(), stored.begin(), stored.end());
    }
    return {};
  }

  Status ReadGroup(const Place& place, const std::vector<Hdf5Message>& header, std::vector<Place>& places) {
    RETORT_ASSIGN_OR_RETURN(const std::vector<Hdf5Link> links, ReadHdf5Links(file_, header));
    std::set<std::string_view> names;
    for (const Hdf5Link& link : links) {
      std::string path = (place.depth == 0 ? "/" : place.path + "/") + link.name;
      if (!names.insert(link.name).second)
        return file_.Damaged(place.at, "two objects have the name '" + path.substr(0, 200) + "'");
      if (path.size() > kMaxPath || place.depth >= kMaxGroupDepth)
        return file_.Damaged(place.at, "'" + path.substr(0, 200) + "' lies deeper than " +
                                           std::to_string(kMaxGroupDepth) + " groups, or its path is longer than " +
                                           std::to_string(kMaxPath) + " bytes");
      if (link.address == kHdf5NoAddress)
        RETORT_RETURN_IF_ERROR(AddOutside(place, path, link));
      else
        places.push_back({std::move(path), link.address, place.depth + 1});
    }
    return {};
  }

  Status AddOutside(const Place& place, const std::string& path, const Hdf5Link& link) {
    const bool attempt = outside_ == Hdf5Outside::attempts && path.starts_with(kAttempts) &&
                         IsHex(std::string_view(path).substr(kAttempts.size())) && link.object == "/" &&
                         IsAttemptFile(link.file);
    if (!attempt)
      return file_.Foreign(place.at, "'" + path.substr(0, 200) + "' is a link out of the file, to '" +
                                         link.object.substr(0, 200) + "' of '" + link.file.substr(0, 200) + "'");
    tree_.outside.emplace(path, link.file);
    return {};
  }

  Hdf5Bytes file_;
  const Hdf5Outside outside_;
  Hdf5Tree tree_;
  std::set<std::uint64_t> seen_;
};

}  // namespace

Result<Hdf5Tree> ReadHdf5Tree(std::string_view bytes, const std::string& name, Hdf5Outside outside) {
  return TreeReader(bytes, name, outside).Read();
}

}  // namespace retort::storage
