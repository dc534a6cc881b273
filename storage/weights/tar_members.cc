#include "storage/weights/tar_members.h"

#include <algorithm>
#include <optional>

namespace retort::storage {
namespace {

constexpr std::size_t kBlock = 512, kMostHeaders = 4096;

// Octal digits, or, with the highest bit set, a number in base 256 as GNU writes large ones.
std::optional<std::uint64_t> Number(std::string_view field) {
  std::uint64_t value = 0;
  if ((static_cast<unsigned char>(field[0]) & 0x80U) != 0) {
    for (std::size_t i = 1; i < field.size(); ++i) {
      if ((value >> 54U) != 0) return std::nullopt;
      value = (value << 8U) | static_cast<unsigned char>(field[i]);
    }
    return value;
  }
  bool any = false;
  for (const char c : field) {
    if (c == ' ' && !any) continue;
    if (c == ' ' || c == '\0') break;
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<std::uint64_t>(c - '0');
    any = true;
  }
  return value;
}

bool ChecksumFits(std::string_view block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(block[i]);
  return Number(block.substr(148, 8)) == sum;
}

std::string NameOf(std::string_view block) {
  const std::string_view field = block.substr(0, 100);
  std::string name(field.substr(0, std::min(field.find('\0'), field.size())));
  return name.starts_with("./") ? name.substr(2) : name;
}

}  // namespace

bool LooksLikeTar(std::string_view head) {
  return head.size() >= kBlock && head[0] != '\0' && ChecksumFits(head);
}

Result<std::map<std::string, TarMember>> ReadTarMembers(const InputFile& file, const std::string& name) {
  const auto where = [&](std::uint64_t at) { return name + ": offset " + std::to_string(at) + ": "; };
  std::map<std::string, TarMember> members;
  std::string block(kBlock, '\0');
  std::uint64_t at = 0;
  for (std::size_t headers = 0; file.size() - at >= kBlock; ++headers) {
    if (headers == kMostHeaders)
      return Refused(where(at) + "a tar archive of more than 4096 members is no state dict");
    RETORT_RETURN_IF_ERROR(file.ReadAt(at, block.size(), block.data()));
    if (block[0] == '\0') return members;
    if (!ChecksumFits(block)) return DamageError(where(at) + "the checksum of a tar header does not fit");
    const std::optional<std::uint64_t> size = Number(std::string_view(block).substr(124, 12));
    const std::uint64_t data = at + kBlock;
    if (!size || *size > file.size() - data) return DamageError(where(at) + "a tar member is cut short");
    const bool regular = block[156] == '0' || block[156] == '\0';
    if (regular && !members.emplace(NameOf(block), TarMember{data, *size}).second)
      return Refused(where(at) + "two tar members are named '" + NameOf(block) + "'");
    const std::uint64_t padded = (*size + kBlock - 1) / kBlock * kBlock;
    if (padded > file.size() - data) return DamageError(where(at) + "a tar member is cut short");
    at = data + padded;
  }
  return DamageError(where(file.size()) + "the tar archive has no end: it was cut short");
}

}  // namespace retort::storage
