#include "storage/formats/protobuf_message.h"

#include <bit>

namespace retort::storage {
namespace {

constexpr std::uint32_t kVarint = 0, kEightBytes = 1, kSized = 2, kFourBytes = 5;  // wire types

}  // namespace

ProtobufMessage& ProtobufMessage::Integer(std::uint32_t number, std::uint64_t value) {
  Key(number, kVarint);
  Varint(value);
  return *this;
}

ProtobufMessage& ProtobufMessage::Double(std::uint32_t number, double value) {
  Key(number, kEightBytes);
  bytes_.F64(value);
  return *this;
}

ProtobufMessage& ProtobufMessage::Float(std::uint32_t number, float value) {
  Key(number, kFourBytes);
  bytes_.U32(std::bit_cast<std::uint32_t>(value));
  return *this;
}

ProtobufMessage& ProtobufMessage::Bytes(std::uint32_t number, std::string_view value) {
  BytesHead(number, value.size());
  bytes_.Raw(value);
  return *this;
}

ProtobufMessage& ProtobufMessage::BytesHead(std::uint32_t number, std::uint64_t size) {
  Key(number, kSized);
  Varint(size);
  return *this;
}

void ProtobufMessage::Varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_.U8(static_cast<std::uint8_t>(value | 0x80));
  bytes_.U8(static_cast<std::uint8_t>(value));
}

}  // namespace retort::storage
