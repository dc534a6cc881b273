// Messages of Protocol Buffers, written without a schema: whoever writes one knows its fields by their numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "storage/formats/byte_codec.h"

namespace retort::storage {

// One message; fields in the order in which they are put. The bytes of two messages of a type, one behind the other,
// are one that has the repeated fields of both.
class ProtobufMessage {
 public:
  ProtobufMessage& Integer(std::uint32_t number, std::uint64_t value);
  ProtobufMessage& Signed(std::uint32_t number, std::int64_t value) {
    return Integer(number, static_cast<std::uint64_t>(value));
  }
  ProtobufMessage& Double(std::uint32_t number, double value);
  ProtobufMessage& Float(std::uint32_t number, float value);
  // Text, bytes, or a message inside this one.
  ProtobufMessage& Bytes(std::uint32_t number, std::string_view value);
  // What stands before so many bytes, which the caller puts behind it.
  ProtobufMessage& BytesHead(std::uint32_t number, std::uint64_t size);
  [[nodiscard]] const std::string& bytes() const { return bytes_.bytes(); }
  [[nodiscard]] std::string Take() && { return std::move(bytes_).Take(); }

 private:
  void Key(std::uint32_t number, std::uint32_t wire_type) { Varint((number << 3) | wire_type); }
  void Varint(std::uint64_t value);
  ByteWriter bytes_;
};

}  // namespace retort::storage
