#include "storage/hdf5_header.h"

#include <string>

#include "storage/byte_codec.h"

namespace retort::storage {
namespace {

constexpr std::uint8_t kExternalFiles = 7, kFilters = 11, kReferenceCount = 22;
constexpr std::uint8_t kShared = 2;  // of a message's flags
// Of an object header's flags.
constexpr unsigned kTimes = 0x20, kAttributeLimits = 0x10, kOrderTracked = 0x04, kSizeOfSize = 0x03;

struct Block {
  std::string_view messages;
  std::uint64_t at = 0;
};

std::uint64_t SmallInteger(ByteReader& reader, unsigned power) {
  switch (power) {
    case 0:
      return reader.U8();
    case 1:
      return reader.U16();
    case 2:
      return reader.U32();
    default:
      return reader.U64();
  }
}

Status Refuse(const Hdf5Image& image, std::uint64_t at, std::uint8_t type) {
  switch (type) {
    case kExternalFiles:
      return image.Foreign(at, "a dataset keeps its data in other files (external raw data)");
    case kFilters:
      return image.Foreign(at, "a dataset is stored through filters");
    case kReferenceCount:
      return image.Foreign(at, "an object has several hard links");
    default:
      return image.Foreign(at, "an object header holds a message of type " + std::to_string(type));
  }
}

bool IsKnown(std::uint8_t type) {
  switch (static_cast<Hdf5MessageType>(type)) {
    case Hdf5MessageType::nil:
    case Hdf5MessageType::dataspace:
    case Hdf5MessageType::link_table:
    case Hdf5MessageType::datatype:
    case Hdf5MessageType::fill_value:
    case Hdf5MessageType::link:
    case Hdf5MessageType::layout:
    case Hdf5MessageType::group_constants:
    case Hdf5MessageType::attribute:
    case Hdf5MessageType::continuation:
    case Hdf5MessageType::symbol_table:
    case Hdf5MessageType::attribute_table:
      return true;
  }
  return false;
}

class HeaderReader {
 public:
  explicit HeaderReader(Hdf5Image& image) : image_(image) {}

  Result<std::vector<Hdf5Message>> Read(std::uint64_t at) {
    RETORT_ASSIGN_OR_RETURN(const Block first, FirstBlock(at));
    RETORT_RETURN_IF_ERROR(AddMessages(first));
    // Grows while it is walked: a continuation may hold another.
    for (std::size_t i = 0; i < continuations_.size(); ++i) {
      ByteReader where(continuations_[i].body);
      const std::uint64_t next = where.U64(), size = where.U64();
      if (!where.ok()) return image_.Unsound(at, "the continuation of an object header");
      RETORT_ASSIGN_OR_RETURN(const Block block, NextBlock(next, size));
      RETORT_RETURN_IF_ERROR(AddMessages(block));
    }
    return std::move(messages_);
  }

 private:
  Result<Block> FirstBlock(std::uint64_t at) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view rest, image_.From(at, "an object header"));
    ByteReader reader(rest);
    const bool begins = reader.Raw(4) == "OHDR" && reader.U8() == 2;
    const unsigned flags = reader.U8();
    if (!begins || !reader.ok()) return image_.Unsound(at, "an object header");
    if ((flags & kTimes) != 0) static_cast<void>(reader.Raw(16));
    if ((flags & kAttributeLimits) != 0) static_cast<void>(reader.Raw(4));
    ordered_ = (flags & kOrderTracked) != 0;
    const std::uint64_t size = SmallInteger(reader, flags & kSizeOfSize);
    const std::string_view messages = reader.Raw(size);
    static_cast<void>(reader.Raw(4));  // checksum
    if (!reader.ok()) return image_.Unsound(at, "an object header");
    RETORT_RETURN_IF_ERROR(image_.Count(at, rest.size() - reader.rest().size()));
    return Block{messages, at};
  }

  Result<Block> NextBlock(std::uint64_t at, std::uint64_t size) {
    RETORT_ASSIGN_OR_RETURN(const std::string_view block,
                            image_.Take(at, size, "the continuation of an object header"));
    if (size < 8 || !block.starts_with("OCHK"))
      return image_.Unsound(at, "the continuation of an object header");
    return Block{block.substr(4, size - 8), at};
  }

  Status AddMessages(const Block& block) {
    const std::size_t head = ordered_ ? 6 : 4;
    ByteReader reader(block.messages);
    while (reader.rest().size() >= head) {  // less is a gap
      const std::uint8_t type = reader.U8();
      const std::uint16_t size = reader.U16();
      const std::uint8_t flags = reader.U8();
      if (ordered_) static_cast<void>(reader.U16());
      const std::string_view body = reader.Raw(size);
      if (!reader.ok()) return image_.Unsound(block.at, "a message of an object header");
      if (!IsKnown(type)) return Refuse(image_, block.at, type);
      const Hdf5Message message{static_cast<Hdf5MessageType>(type), body, block.at};
      if (message.type == Hdf5MessageType::nil) continue;
      if ((flags & kShared) != 0)
        return image_.Foreign(block.at, "an object header shares a message with others");
      (message.type == Hdf5MessageType::continuation ? continuations_ : messages_).push_back(message);
    }
    return {};
  }

  Hdf5Image& image_;
  bool ordered_ = false;
  std::vector<Hdf5Message> messages_, continuations_;
};

}  // namespace

Result<std::vector<Hdf5Message>> ReadObjectHeader(Hdf5Image& image, std::uint64_t at) {
  return HeaderReader(image).Read(at);
}

}  // namespace retort::storage
