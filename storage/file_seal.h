// The last bytes of attempt.h5 and results.h5, behind the end of what HDF5 reads: the library trusts the bytes that it is
// given, so a file that was changed or cut must not reach it. Bytes: storage/FORMAT.md, section 4.
#pragma once

#include <string>
#include <string_view>

#include "experiments/spec/status.h"
#include "storage/env.h"

namespace retort::storage {

// What to write behind `bytes`.
[[nodiscard]] std::string SealOf(std::string_view bytes);
// Whether they end in a seal, one that holds or not.
[[nodiscard]] bool EndsInSeal(std::string_view bytes);
// The bytes before the seal. Error: damage, naming the file, when there is no seal or it does not hold.
[[nodiscard]] Result<std::string_view> Unseal(std::string_view bytes, const std::string& name);
// The same for a file, whose bytes are read once. Error: as Unseal; environment.
[[nodiscard]] Status CheckSeal(Env& env, const std::string& path);

}  // namespace retort::storage
