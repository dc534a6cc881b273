#include "storage/formats/mat_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/formats/deflate.h"

namespace retort::storage {
namespace {

constexpr std::uint32_t kMatrix = 14, kCompressed = 15;
constexpr std::uint64_t kMaxUnpacked = std::uint64_t{2} << 30;
constexpr int kDeepest = 8;
constexpr std::size_t kMaxItems = 4'000'000;

std::uint32_t U32(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// Bytes of one number of a stored type; 0 for what is no number.
std::size_t ElementWidth(int type) {
  constexpr std::size_t kWidths[] = {0, 1, 1, 2, 2, 4, 4, 4, 0, 8, 0, 0, 8, 8};
  return type > 0 && type < 14 ? kWidths[type] : 0;
}

struct Element {
  std::uint32_t type = 0;
  std::string_view data;
  std::size_t begin = 0;  // of the element in its stream
};

// Elements one after the other in a file, or in what a compressed one unpacks to.
class Stream {
 public:
  Stream(std::string where, std::string_view bytes, std::size_t at, std::size_t& items)
      : where_(std::move(where)), bytes_(bytes), at_(at), items_(items) {}

  [[nodiscard]] bool done() const { return at_ >= bytes_.size(); }
  [[nodiscard]] Status Damaged(const std::string& what) const {
    return DamageError(where_ + ": at byte " + std::to_string(at_) + ": " + what + "; fetch the file again");
  }

  Result<Element> Next() {
    Element element;
    element.begin = at_;
    if (bytes_.size() - at_ < 8) return Damaged("truncated inside the tag of an element");
    const std::uint32_t word = U32(bytes_, at_);
    if ((word >> 16) != 0) {  // a small element: type and size in one word, at most 4 bytes behind it
      element.type = word & 0xFFFFU;
      const std::uint32_t size = word >> 16;
      if (size > 4) return Damaged("a small element of " + std::to_string(size) + " bytes");
      element.data = bytes_.substr(at_ + 4, size);
      at_ += 8;
      return element;
    }
    element.type = word;
    const std::uint64_t size = U32(bytes_, at_ + 4);
    if (size > bytes_.size() - at_ - 8)
      return Damaged("an element of " + std::to_string(size) + " bytes, and " +
                     std::to_string(bytes_.size() - at_ - 8) + " are left: truncated");
    element.data = bytes_.substr(at_ + 8, static_cast<std::size_t>(size));
    const std::size_t padded =
        element.type == kCompressed ? static_cast<std::size_t>(size) : (static_cast<std::size_t>(size) + 7) / 8 * 8;
    at_ = std::min(bytes_.size(), at_ + 8 + padded);
    return element;
  }

  Result<MatArray> Matrix(std::string_view body, std::size_t begin, int depth) {
    if (depth > kDeepest) return Damaged("arrays nested more than 8 deep");
    if (++items_ > kMaxItems) return Damaged("more than 4 million arrays");
    Stream inside(where_ + ": array at byte " + std::to_string(begin), body, 0, items_);
    return inside.Body(depth);
  }

 private:
  Result<MatArray> Body(int depth) {
    MatArray array;
    if (bytes_.empty()) return array;
    RETORT_ASSIGN_OR_RETURN(const Element flags, Next());
    RETORT_ASSIGN_OR_RETURN(const Element dimensions, Next());
    RETORT_ASSIGN_OR_RETURN(const Element name, Next());
    if (flags.type != 6 || flags.data.size() < 8) return Damaged("an array without flags");
    if (dimensions.type != 5 || dimensions.data.size() % 4 != 0 || dimensions.data.size() > 32)
      return Damaged("an array without sound dimensions");
    for (std::size_t i = 0; i < dimensions.data.size(); i += 4) {
      const auto extent = static_cast<std::int32_t>(U32(dimensions.data, i));
      if (extent < 0) return Damaged("an array of a negative dimension");
      array.shape.push_back(extent);
    }
    if (array.size() < 0) return Damaged("an array of more than 2^40 elements");
    array.name = name.data;
    const std::uint32_t type = U32(flags.data, 0) & 0xFFU;
    if ((U32(flags.data, 0) & 0x0800U) != 0) return array;  // complex: nothing that is read has such
    RETORT_RETURN_IF_ERROR(Contents(type, depth, array));
    return array;
  }

  Status Contents(std::uint32_t type, int depth, MatArray& array) {
    if (type == 1) return Items(MatKind::cells, array.size(), depth, array);
    if (type == 2) return Structure(depth, array);
    if (type == 4) return Text(array);
    if (type < 6 || type > 15) return {};
    RETORT_ASSIGN_OR_RETURN(const Element numbers, Next());
    array.kind = MatKind::numbers;
    array.stored_type = static_cast<int>(numbers.type);
    const std::size_t width = ElementWidth(array.stored_type);
    if (width == 0 || numbers.data.size() / width != static_cast<std::size_t>(array.size()) ||
        numbers.data.size() % width != 0)
      return Damaged("\"" + array.name + "\" has " + std::to_string(numbers.data.size()) +
                     " bytes of numbers, which its dimensions do not make");
    array.bytes = numbers.data;
    return {};
  }

  Status Text(MatArray& array) {
    RETORT_ASSIGN_OR_RETURN(const Element letters, Next());
    array.kind = MatKind::text;
    if (letters.type != 4 && letters.type != 17) {
      array.bytes = letters.data;
      return {};
    }
    for (std::size_t i = 0; i + 1 < letters.data.size(); i += 2)  // UTF-16; what is read is ASCII
      array.bytes += letters.data[i + 1] == '\0' ? letters.data[i] : '?';
    return {};
  }

  Status Items(MatKind kind, std::int64_t count, int depth, MatArray& array) {
    array.kind = kind;
    for (std::int64_t i = 0; i < count; ++i) {
      RETORT_ASSIGN_OR_RETURN(const Element element, Next());
      if (element.type != kMatrix) return Damaged("a cell or field that is no array");
      RETORT_ASSIGN_OR_RETURN(MatArray item, Matrix(element.data, element.begin, depth + 1));
      array.items.push_back(std::move(item));
    }
    return {};
  }

  Status Structure(int depth, MatArray& array) {
    RETORT_ASSIGN_OR_RETURN(const Element length, Next());
    RETORT_ASSIGN_OR_RETURN(const Element names, Next());
    if (length.type != 5 || length.data.size() != 4) return Damaged("a structure without the length of its names");
    const std::uint32_t width = U32(length.data, 0);
    if (width == 0 || width > 256 || names.data.size() % width != 0) return Damaged("a structure without sound names");
    for (std::size_t i = 0; i < names.data.size(); i += width) {
      const std::string_view name = names.data.substr(i, width);
      array.fields.emplace_back(name.substr(0, std::min(name.find('\0'), name.size())));
    }
    if (array.fields.empty()) return {};
    if (array.size() > static_cast<std::int64_t>(kMaxItems / array.fields.size()))
      return Damaged("a structure of more than 4 million fields");
    return Items(MatKind::structure, array.size() * static_cast<std::int64_t>(array.fields.size()), depth, array);
  }

  std::string where_;
  std::string_view bytes_;
  std::size_t at_;
  std::size_t& items_;
};

// `most`: bytes that the file may still be unpacked to.
Result<std::string> Unpack(const Stream& stream, const std::string& file, const Element& element, std::uint64_t most) {
  Inflater inflater(DeflateWrapping::zlib);
  RETORT_RETURN_IF_ERROR(inflater.ready());
  inflater.Feed(element.data);
  std::string out;
  std::vector<char> buffer(std::size_t{1} << 18);
  Inflater::State state = Inflater::State::more;
  while (state == Inflater::State::more && out.size() <= most) {
    std::size_t made = 0;
    state = inflater.Next(buffer.data(), buffer.size(), made);
    out.append(buffer.data(), made);
  }
  if (out.size() > most)
    return Refused(file + ": at byte " + std::to_string(element.begin) + ": a variable unpacks to more than " +
                   std::to_string(most) +
                   " bytes; all of them may unpack to 200 times the file's size, and to "
                   "2 GiB; it is not read");
  if (state == Inflater::State::starved) return stream.Damaged("truncated inside a compressed variable");
  if (state != Inflater::State::ended) return stream.Damaged("a compressed variable is not sound");
  return out;
}

Status CheckHeader(const std::string& file, std::string_view bytes) {
  if (bytes.starts_with("MATLAB 7.3") || bytes.starts_with("\x89HDF"))
    return Refused(file + " is a MATLAB file of version 7.3 (HDF5); save it with `save(..., '-v7')`");
  if (bytes.size() < 128) return DamageError(file + ": shorter than the header of a MATLAB file (128 bytes)");
  if (bytes.substr(126, 2) == "MI")
    return Refused(file + " is a big-endian MATLAB file; save it again on this machine");
  if (bytes.substr(126, 2) != "IM" || bytes[125] != '\1')
    return DamageError(file + ": at byte 124: no MATLAB file of version 5 to 7; fetch the file again");
  return {};
}

}  // namespace

std::int64_t MatArray::size() const {
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) {
    if (extent != 0 && size > (std::int64_t{1} << 40) / extent) return -1;
    size *= extent;
  }
  return size;
}

double MatArray::Number(std::int64_t i) const {
  const std::size_t width = ElementWidth(stored_type), at = static_cast<std::size_t>(i) * width;
  if (kind != MatKind::numbers || i < 0 || at + width > bytes.size()) return 0;
  const char* raw = bytes.data() + at;
  const auto as = [raw]<typename T>(T value) {
    std::memcpy(&value, raw, sizeof(T));
    return static_cast<double>(value);
  };
  switch (stored_type) {
    case 1:
      return as(std::int8_t{});
    case 2:
      return as(std::uint8_t{});
    case 3:
      return as(std::int16_t{});
    case 4:
      return as(std::uint16_t{});
    case 5:
      return as(std::int32_t{});
    case 6:
      return as(std::uint32_t{});
    case 7:
      return as(float{});
    case 9:
      return as(double{});
    case 12:
      return as(std::int64_t{});
    default:
      return as(std::uint64_t{});
  }
}

Result<std::vector<MatArray>> ParseMat(const std::string& file, std::string_view bytes) {
  RETORT_RETURN_IF_ERROR(CheckHeader(file, bytes));
  std::size_t items = 0;
  std::uint64_t left = std::min(kMaxUnpacked, bytes.size() * std::uint64_t{200} + (1U << 20));
  Stream stream(file, bytes, 128, items);
  std::vector<MatArray> arrays;
  while (!stream.done()) {
    RETORT_ASSIGN_OR_RETURN(Element element, stream.Next());
    std::string unpacked;
    if (element.type == kCompressed) {
      RETORT_ASSIGN_OR_RETURN(unpacked, Unpack(stream, file, element, left));
      left -= unpacked.size();
      Stream inside(file + ": in the variable at byte " + std::to_string(element.begin), unpacked, 0, items);
      RETORT_ASSIGN_OR_RETURN(element, inside.Next());
    }
    if (element.type != kMatrix) continue;
    RETORT_ASSIGN_OR_RETURN(MatArray array, stream.Matrix(element.data, element.begin, 0));
    arrays.push_back(std::move(array));
  }
  return arrays;
}

}  // namespace retort::storage
