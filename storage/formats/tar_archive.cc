#include "storage/formats/tar_archive.h"

#include <algorithm>
#include <charconv>

namespace retort::storage {
namespace {

constexpr std::size_t kMaxHeaders = 4096;

std::string ReadMemberName(std::string_view block) {
  const std::string name(ReadTarText(block.substr(0, 100)));
  return name.starts_with("./") ? name.substr(2) : name;
}

std::string FormatOctal(std::uint64_t value, std::size_t digits) {
  std::string text(digits, '0');
  for (std::size_t i = digits; i-- > 0; value >>= 3U) text[i] = static_cast<char>('0' + (value & 7U));
  return text;
}

}  // namespace

std::string_view ReadTarText(std::string_view field) {
  return field.substr(0, std::min(field.find('\0'), field.size()));
}

Result<std::uint64_t> ParseTarNumber(std::string_view field) {
  std::uint64_t value = 0;
  if ((static_cast<unsigned char>(field[0]) & 0x80U) != 0) {
    for (std::size_t i = field.size() - 8; i < field.size(); ++i)
      value = (value << 8) | static_cast<unsigned char>(field[i]);
    for (std::size_t i = 1; i < field.size() - 8; ++i)
      if (field[i] != '\0') return DamageError("is beyond any disk");
    return value;
  }
  std::string_view digits = ReadTarText(field);
  while (!digits.empty() && digits.front() == ' ') digits.remove_prefix(1);
  while (!digits.empty() && digits.back() == ' ') digits.remove_suffix(1);
  if (digits.empty()) return value;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
  if (error != std::errc() || end != digits.data() + digits.size()) return DamageError("is no octal number");
  return value;
}

bool TarChecksumFits(std::string_view block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(block[i]);
  const Result<std::uint64_t> stored = ParseTarNumber(block.substr(148, 8));
  return stored.ok() && *stored == sum;
}

bool LooksLikeTar(std::string_view head) {
  return head.size() >= kTarBlock && head[0] != '\0' && TarChecksumFits(head);
}

Result<std::map<std::string, TarMember>> ReadTarMembers(const InputFile& file, const std::string& name) {
  const auto where = [&](std::uint64_t at) { return name + ": offset " + std::to_string(at) + ": "; };
  std::map<std::string, TarMember> members;
  std::string block(kTarBlock, '\0');
  std::uint64_t at = 0;
  for (std::size_t headers = 0; file.size() - at >= kTarBlock; ++headers) {
    if (headers == kMaxHeaders) return Refused(where(at) + "a tar archive of more than 4096 members is no state dict");
    RETORT_RETURN_IF_ERROR(file.ReadAt(at, block.size(), block.data()));
    if (block[0] == '\0') return members;
    if (!TarChecksumFits(block)) return DamageError(where(at) + "the checksum of a tar header does not fit");
    const Result<std::uint64_t> size = ParseTarNumber(std::string_view(block).substr(124, 12));
    const std::uint64_t data = at + kTarBlock;
    if (!size.ok() || *size > file.size() - data) return DamageError(where(at) + "a tar member is cut short");
    const bool regular = block[156] == '0' || block[156] == '\0';
    if (regular && !members.emplace(ReadMemberName(block), TarMember{data, *size}).second)
      return Refused(where(at) + "two tar members are named '" + ReadMemberName(block) + "'");
    const std::uint64_t padded = (*size + kTarBlock - 1) / kTarBlock * kTarBlock;
    if (padded > file.size() - data) return DamageError(where(at) + "a tar member is cut short");
    at = data + padded;
  }
  return DamageError(where(file.size()) + "the tar archive has no end: it was cut short");
}

std::string EncodeTarMember(const std::string& name, std::string_view contents) {
  constexpr std::size_t kMaxName = 100, kMode = 100, kOwner = 108, kGroup = 116, kSize = 124, kTime = 136, kSum = 148,
                        kType = 156, kMagicAt = 257;
  RETORT_CHECK(!name.empty() && name.size() <= kMaxName && contents.size() < (std::uint64_t{1} << 33));
  std::string member(kTarBlock, '\0');
  const auto put = [&member](std::size_t at, const std::string& text) { member.replace(at, text.size(), text); };
  put(0, name);
  put(kMode, "0000644");
  put(kOwner, "0000000");
  put(kGroup, "0000000");
  put(kSize, FormatOctal(contents.size(), 11));
  put(kTime, "00000000000");
  put(kSum, "        ");
  put(kType, "0");
  put(kMagicAt, std::string("ustar\00000", 8));
  std::uint64_t sum = 0;
  for (const char byte : member) sum += static_cast<unsigned char>(byte);
  put(kSum, FormatOctal(sum, 6) + std::string("\0 ", 2));
  member += contents;
  member.resize((member.size() + kTarBlock - 1) / kTarBlock * kTarBlock, '\0');
  return member;
}

std::string EncodeTarEnd() { return std::string(2 * kTarBlock, '\0'); }  // NOLINT(modernize-return-braced-init-list)

}  // namespace retort::storage
