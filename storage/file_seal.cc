#include "storage/file_seal.h"

#include <utility>

#include "experiments/spec/crc32c.h"
#include "storage/byte_codec.h"

namespace retort::storage {
namespace {

constexpr std::string_view kMagic("RETORTSL", 8);
constexpr std::size_t kSealBytes = 20;  // magic 8, length 8, CRC-32C 4

Status Unsealed(const std::string& name, const std::string& what) {
  return DamageError("'" + name + "' " + what +
                     ": it was cut short or changed, or another version of retort wrote it. Restore it from "
                     "a copy, or run its trial again.");
}

}  // namespace

std::string SealOf(std::string_view bytes) {
  ByteWriter seal;
  seal.Raw(kMagic);
  seal.U64(bytes.size());
  const std::uint32_t of_bytes = Crc32c(bytes);
  seal.U32(ExtendCrc32c(of_bytes, seal.bytes()));
  return std::move(seal).Take();
}

bool EndsInSeal(std::string_view bytes) {
  return bytes.size() >= kSealBytes && bytes.substr(bytes.size() - kSealBytes).starts_with(kMagic);
}

Result<std::string_view> Unseal(std::string_view bytes, const std::string& name) {
  if (bytes.size() < kSealBytes) return Unsealed(name, "is too short to have a seal");
  const std::string_view before = bytes.substr(0, bytes.size() - kSealBytes);
  const std::string_view seal = bytes.substr(before.size());
  if (seal.substr(0, kMagic.size()) != kMagic) return Unsealed(name, "does not end in its seal");
  if (seal != SealOf(before)) return Unsealed(name, "is not what its seal says");
  return before;
}

Status CheckSeal(Env& env, const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const std::string bytes, env.ReadFile(path));
  return Unseal(bytes, path).status();
}

}  // namespace retort::storage
