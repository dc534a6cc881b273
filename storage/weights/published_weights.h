// Weights by torchvision's names, "MobileNet_V2_Weights.IMAGENET1K_V1", which stand for files in the cache of
// torch.hub. Nothing is fetched.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/base/environment.h"
#include "experiments/base/status.h"
#include "storage/files/env.h"
#include "storage/weights/known_weights.h"

namespace retort::storage {

// Where torch.hub keeps files: $TORCH_HOME/hub/checkpoints, else $XDG_CACHE_HOME/torch/hub/checkpoints, else
// $HOME/.cache/torch/hub/checkpoints; a leading ~ is $HOME. Empty where none of the three is set. `find` returns the
// value of a variable.
[[nodiscard]] std::string FindHubFolder(
    const std::function<std::optional<std::string>(const std::string&)>& find = GetEnvironmentVariable);

// Whether `text` has the form of such a name, and so is no path: WORD_Weights.WORD, of letters, digits and underscores.
[[nodiscard]] bool IsPublishedName(std::string_view text);
// "mobilenet_v2-b0353104.pth".
[[nodiscard]] std::string FormatFileName(const KnownWeights& weights);

// The file that a name stands for, whether or not it is there.
struct PublishedFile {
  const KnownWeights* weights = nullptr;
  std::string path;
};
// Errors: usage, for a name that torchvision has not, with the nearest ones; environment, where FindHubFolder is empty.
[[nodiscard]] Result<PublishedFile> FindPublishedFile(
    const std::string& name,
    const std::function<std::optional<std::string>(const std::string&)>& find = GetEnvironmentVariable);

// Of a file that is not there: which one it is, where it is published and which folder it belongs into.
[[nodiscard]] Status ReportAbsent(const PublishedFile& file);
// Error: refused, for a file whose SHA-256 (hex) is not the published one, with both.
[[nodiscard]] Status CheckPublished(const PublishedFile& file, std::string_view digest);
// The SHA-256 of the file (hex), which is the published one. Errors: as ReportAbsent, CheckPublished and
// ComputeFileDigest.
[[nodiscard]] Result<std::string> DigestPublished(Env& env, const PublishedFile& file);

}  // namespace retort::storage
