#include "experiments/base/ids.h"

#include <fmt/format.h>

#include <charconv>

namespace retort {

std::string TrialId::Hex() const { return fmt::format("{:016x}", bits_); }

std::optional<TrialId> TrialId::FromHex(std::string_view hex) {
  if (hex.size() != 16 || hex.find_first_not_of("0123456789abcdef") != std::string_view::npos) return std::nullopt;
  std::uint64_t bits = 0;
  std::from_chars(hex.data(), hex.data() + hex.size(), bits, 16);
  return TrialId(bits);
}

}  // namespace retort
