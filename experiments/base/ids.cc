#include "experiments/base/ids.h"

namespace retort {

std::string TrialId::Hex() const {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex(16, '0');
  for (std::size_t i = 0; i < 16; ++i) hex[i] = kDigits[(bits_ >> (60 - 4 * i)) & 15U];
  return hex;
}

std::optional<TrialId> TrialId::FromHex(std::string_view hex) {
  if (hex.size() != 16) return std::nullopt;
  std::uint64_t bits = 0;
  for (const char digit : hex) {
    std::uint64_t value = 0;
    if (digit >= '0' && digit <= '9')
      value = static_cast<std::uint64_t>(digit - '0');
    else if (digit >= 'a' && digit <= 'f')
      value = static_cast<std::uint64_t>(digit - 'a') + 10U;
    else
      return std::nullopt;
    bits = (bits << 4) | value;
  }
  return TrialId(bits);
}

}  // namespace retort
