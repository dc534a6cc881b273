#include "cluster/json_value.h"

#include <cstdint>

namespace retort::cluster {
namespace {

// Length of the UTF-8 sequence that starts with `lead`, and the smallest code point it may hold.
struct Sequence {
  std::size_t length;
  std::uint32_t smallest;
  std::uint32_t bits;
};

Sequence SequenceOf(unsigned char lead) {
  if (lead < 0x80U) return {1, 0, lead};
  if ((lead & 0xE0U) == 0xC0U) return {2, 0x80, lead & 0x1FU};
  if ((lead & 0xF0U) == 0xE0U) return {3, 0x800, lead & 0x0FU};
  if ((lead & 0xF8U) == 0xF0U) return {4, 0x10000, lead & 0x07U};
  return {0, 0, 0};
}

int HexDigit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

constexpr std::string_view kBytesKey = "bytes";

}  // namespace

bool IsUtf8(std::string_view bytes) {
  unsigned char high = 0;
  for (const char byte : bytes) high |= static_cast<unsigned char>(byte);
  if (high < 0x80U) return true;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto [length, smallest, bits] = SequenceOf(static_cast<unsigned char>(bytes[at]));
    if (length == 0 || at + length > bytes.size()) return false;
    std::uint32_t code = bits;
    for (std::size_t i = 1; i < length; ++i) {
      const auto byte = static_cast<unsigned char>(bytes[at + i]);
      if ((byte & 0xC0U) != 0x80U) return false;
      code = (code << 6) | (byte & 0x3FU);
    }
    const bool surrogate = code >= 0xD800U && code <= 0xDFFFU;
    if (code < smallest || code > 0x10FFFFU || surrogate) return false;
    at += length;
  }
  return true;
}

std::string ToHex(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    hex.push_back(kDigits[value >> 4]);
    hex.push_back(kDigits[value & 0x0FU]);
  }
  return hex;
}

std::optional<std::string> FromHex(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(hex.size() / 2);
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const int high = HexDigit(hex[i]);
    const int low = HexDigit(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return bytes;
}

void Write(JsonWriter& json, double value) {
  if (std::isnan(value))
    json.Text("nan");
  else if (std::isinf(value))
    json.Text(value > 0 ? "inf" : "-inf");
  else
    json.Number(value);
}

void Write(JsonWriter& json, std::string_view value) {
  if (IsUtf8(value))
    json.Text(value);
  else
    json.BeginObject().Key(kBytesKey).Text(ToHex(value)).EndObject();
}

void Write(JsonWriter& json, FailureKind value) { json.Text(FailureName(value)); }

void Write(JsonWriter& json, const privacy::PrivacyEvent& value) { json.Text(privacy::EncodeEvent(value)); }

bool FromJson(const Json& json, bool& out) {
  if (!json.is_boolean()) return false;
  out = json.get<bool>();
  return true;
}

bool FromJson(const Json& json, double& out) {
  if (json.is_number()) {
    out = json.get<double>();
    return true;
  }
  if (!json.is_string()) return false;
  const auto& text = json.get_ref<const std::string&>();
  if (text == "nan")
    out = std::numeric_limits<double>::quiet_NaN();
  else if (text == "inf")
    out = std::numeric_limits<double>::infinity();
  else if (text == "-inf")
    out = -std::numeric_limits<double>::infinity();
  else
    return false;
  return true;
}

bool FromJson(const Json& json, std::string& out) {
  if (json.is_string()) {
    out = json.get_ref<const std::string&>();
    return true;
  }
  if (!json.is_object() || json.size() != 1 || !json.contains(kBytesKey)) return false;
  const Json& hex = json[std::string(kBytesKey)];
  if (!hex.is_string()) return false;
  auto bytes = FromHex(hex.get_ref<const std::string&>());
  if (!bytes) return false;
  out = std::move(*bytes);
  return true;
}

bool FromJson(const Json& json, FailureKind& out) {
  if (!json.is_string()) return false;
  const auto kind = ParseFailureName(json.get_ref<const std::string&>());
  if (!kind) return false;
  out = *kind;
  return true;
}

bool FromJson(const Json& json, privacy::PrivacyEvent& out) {
  if (!json.is_string()) return false;
  auto event = privacy::DecodeEvent(json.get_ref<const std::string&>());
  if (!event.ok()) return false;
  out = std::move(*event);
  return true;
}

}  // namespace retort::cluster
