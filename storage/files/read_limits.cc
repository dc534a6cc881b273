#include "storage/files/read_limits.h"

#include <algorithm>

namespace retort::storage {

Status NotEnoughMemory(const std::string& what) {
  return EnvironmentError("There is not enough memory to read " + what +
                          ": check that it is the file you mean, or give the program more memory.");
}

namespace {

constexpr std::uint64_t kMaxGrowth = 200, kSlack = std::uint64_t{64} << 20;
constexpr std::uint64_t kDeflateGrowth = 1032;  // the best that deflate can do

std::uint64_t Times(std::uint64_t stored, std::uint64_t growth, std::uint64_t slack) {
  std::uint64_t most = 0;
  if (__builtin_mul_overflow(stored, growth, &most) || __builtin_add_overflow(most, slack, &most))
    return ~std::uint64_t{0};
  return most;
}

}  // namespace

std::uint64_t ComputeMaxUnpackedSize(std::uint64_t stored) { return Times(stored, kMaxGrowth, kSlack); }

Status CheckUnpackedSize(const std::string& where, std::uint64_t declared, std::uint64_t stored) {
  const std::string sizes =
      where + " says that its " + std::to_string(stored) + " packed bytes are " + std::to_string(declared) + " bytes; ";
  const std::uint64_t possible = Times(stored, kDeflateGrowth, kDeflateGrowth);
  if (declared > possible)
    return DamageError(sizes + "they cannot be more than " + std::to_string(possible) + ". Fetch the file again.");
  if (declared <= ComputeMaxUnpackedSize(stored)) return {};
  return Refused(sizes + "at most " + std::to_string(ComputeMaxUnpackedSize(stored)) +
                 " are unpacked of so few (200 times as many, and 64 MiB). Unpack the file yourself if it is "
                 "what you want.");
}

}  // namespace retort::storage
