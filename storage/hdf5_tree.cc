#include "storage/hdf5_tree.h"

#include <algorithm>
#include <set>
#include <utility>

#include "storage/byte_codec.h"
#include "storage/hdf5_heap.h"
#include "storage/hdf5_links.h"

namespace retort::storage {
namespace {

constexpr std::size_t kMostDepth = 32, kMostPath = 2048;
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
      : image_(bytes, name), outside_(outside) {}

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
    RETORT_ASSIGN_OR_RETURN(const std::string_view bytes, image_.Take(0, 96, "the head of an HDF5 file"));
    ByteReader reader(bytes);
    if (reader.Raw(8) != kSignature) return image_.Damaged(0, "no HDF5 file begins there");
    const unsigned version = reader.U8();
    if (version != 0) return image_.Foreign(8, "a superblock of version " + std::to_string(version));
    static_cast<void>(reader.Raw(4));  // versions of other parts
    const bool wide = reader.U8() == 8 && reader.U8() == 8;
    static_cast<void>(reader.Raw(9));  // sizes of nodes, flags
    const std::uint64_t base = reader.U64();
    static_cast<void>(reader.U64());  // free space
    const std::uint64_t end = reader.U64(), driver = reader.U64();
    static_cast<void>(reader.U64());  // name of the root
    if (!wide || base != 0 || driver != kHdf5Nowhere)
      return image_.Foreign(8, "a superblock of another kind");
    if (end != image_.size())
      return image_.Damaged(40, "the file says that it has " + std::to_string(end) + " bytes, and it has " +
                                    std::to_string(image_.size()));
    return reader.U64();
  }

  Status ReadObject(const Place& place, std::vector<Place>& places) {
    if (!seen_.insert(place.at).second)
      return image_.Damaged(place.at, "'" + place.path.substr(0, 200) +
                                          "' is an object that has another name as well, or holds itself");
    RETORT_ASSIGN_OR_RETURN(const std::vector<Hdf5Message> header, ReadObjectHeader(image_, place.at));
    if (header.empty()) return image_.Unsound(place.at, "an object");
    Hdf5Object object;
    RETORT_RETURN_IF_ERROR(ReadAttributes(header, object));
    if (IsHdf5Group(header)) {
      RETORT_RETURN_IF_ERROR(ReadGroup(place, header, places));
    } else {
      RETORT_ASSIGN_OR_RETURN(object.dataset, ReadHdf5Dataset(image_, header));
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
      if (!known || !reader.ok()) return image_.Unsound(message.at, "the attributes of an object");
      if (heap == kHdf5Nowhere) continue;
      RETORT_ASSIGN_OR_RETURN(const std::vector<std::string_view> stored,
                              ReadDenseMessages(image_, heap, names, kDenseAttributes));
      object.attributes.insert(object.attributes.end(), stored.begin(), stored.end());
    }
    return {};
  }

  Status ReadGroup(const Place& place, const std::vector<Hdf5Message>& header, std::vector<Place>& places) {
    RETORT_ASSIGN_OR_RETURN(const std::vector<Hdf5Link> links, ReadHdf5Links(image_, header));
    std::set<std::string_view> names;
    for (const Hdf5Link& link : links) {
      std::string path = (place.depth == 0 ? "/" : place.path + "/") + link.name;
      if (!names.insert(link.name).second)
        return image_.Damaged(place.at, "two objects have the name '" + path.substr(0, 200) + "'");
      if (path.size() > kMostPath || place.depth >= kMostDepth)
        return image_.Damaged(
            place.at, "'" + path.substr(0, 200) + "' lies deeper than " + std::to_string(kMostDepth) +
                          " groups, or its path is longer than " + std::to_string(kMostPath) + " bytes");
      if (link.address == kHdf5Nowhere)
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
      return image_.Foreign(place.at, "'" + path.substr(0, 200) + "' is a link out of the file, to '" +
                                          link.object.substr(0, 200) + "' of '" + link.file.substr(0, 200) +
                                          "'");
    tree_.outside.emplace(path, link.file);
    return {};
  }

  Hdf5Image image_;
  const Hdf5Outside outside_;
  Hdf5Tree tree_;
  std::set<std::uint64_t> seen_;
};

}  // namespace

Result<Hdf5Tree> ReadHdf5Tree(std::string_view bytes, const std::string& name, Hdf5Outside outside) {
  return TreeReader(bytes, name, outside).Read();
}

}  // namespace retort::storage
