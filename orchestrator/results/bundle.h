// A bundle: what a reviewer needs of a sweep as one tar archive whose bytes follow from its members. Layout in
// storage/FORMAT.md, section "bundle".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/base/status.h"

namespace retort::orchestrator {

inline constexpr int kBundleVersion = 1;
inline constexpr std::size_t kMaxMemberName = 100;  // bytes; what a tar header holds

struct BundleMember {
  std::string name;  // 1 to 100 bytes, no two alike
  std::string contents;
};

struct Bundle {
  std::string program;  // the version that wrote it
  std::vector<BundleMember> members;
};

// Null: there is none.
[[nodiscard]] const BundleMember* FindMember(const Bundle& bundle, std::string_view name);

// The members between two more: bundle.json, which lists them, and SHA256SUMS, which `sha256sum --check` reads.
[[nodiscard]] std::string EncodeBundle(const Bundle& bundle);
// Whether these first bytes are those of a bundle, of any version.
[[nodiscard]] bool LooksLikeBundle(std::string_view head);
// Accepts the bytes that EncodeBundle makes and no others. `name` stands in errors. Error: usage, for bytes that are no
// bundle or are of a newer version; damage, naming the member that was edited, cut, added or moved.
[[nodiscard]] Result<Bundle> DecodeBundle(std::string_view bytes, const std::string& name);

}  // namespace retort::orchestrator
