// Strong identifiers. None converts to another.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace retort {

// The first 64 bits of SHA-256 over a trial's canonical encoding; shown as 16 hex digits.
class TrialId {
 public:
  constexpr TrialId() = default;
  constexpr explicit TrialId(std::uint64_t bits) : bits_(bits) {}
  [[nodiscard]] constexpr std::uint64_t bits() const { return bits_; }
  [[nodiscard]] std::string Hex() const;  // 16 lower-case digits
  [[nodiscard]] static std::optional<TrialId> FromHex(std::string_view hex);
  constexpr auto operator<=>(const TrialId&) const = default;

 private:
  std::uint64_t bits_ = 0;
};

// One execution of a trial. Numbers start at 1 and only grow.
struct AttemptId {
  TrialId trial;
  std::uint32_t number = 0;
  constexpr auto operator<=>(const AttemptId&) const = default;
};

// One formation of a gang; each attempt and each re-forming has its own.
struct Generation {
  std::uint64_t value = 0;
  constexpr auto operator<=>(const Generation&) const = default;
};

struct WorldRank {
  int value = 0;
  constexpr auto operator<=>(const WorldRank&) const = default;
};
struct GangRank {
  int value = 0;
  constexpr auto operator<=>(const GangRank&) const = default;
};
// Index of a device, or of a slot without one, on its host.
struct LocalRank {
  int value = 0;
  constexpr auto operator<=>(const LocalRank&) const = default;
};

}  // namespace retort

template <>
struct std::hash<retort::TrialId> {
  std::size_t operator()(const retort::TrialId& id) const noexcept { return static_cast<std::size_t>(id.bits()); }
};
