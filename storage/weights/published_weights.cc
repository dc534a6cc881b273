#include "storage/weights/published_weights.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <vector>

#include "experiments/base/diagnostic.h"
#include "storage/files/path_status.h"
#include "storage/weights/read_weights.h"

namespace retort::storage {
namespace {

constexpr std::string_view kPlace = "https://download.pytorch.org/models/";
constexpr std::string_view kFolder = "/hub/checkpoints";

bool IsWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return c == '_' || (c < 0x80 && std::isalnum(c) != 0); });
}

std::string BringSentence(const PublishedFile& file) {
  const std::string name = FormatFileName(*file.weights);
  return "Retort fetches nothing: bring " + name + " from " + std::string(kPlace) + name + " into " +
         std::filesystem::path(file.path).parent_path().string() + ".";
}

}  // namespace

std::string FindHubFolder(const std::function<std::optional<std::string>(const std::string&)>& find) {
  const std::string home = find("HOME").value_or("");
  std::string folder = find("TORCH_HOME").value_or("");
  if (folder.empty()) {
    std::string cache = find("XDG_CACHE_HOME").value_or("");
    if (cache.empty()) cache = "~/.cache";
    folder = cache + "/torch";
  }
  if (folder == "~" || folder.starts_with("~/")) {
    if (home.empty()) return "";
    folder.replace(0, 1, home);
  }
  std::error_code error;
  return std::filesystem::absolute(folder + std::string(kFolder), error).lexically_normal().string();
}

bool IsPublishedName(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return false;
  const std::string_view family = text.substr(0, dot);
  return IsWord(family) && family.ends_with("_Weights") && IsWord(text.substr(dot + 1));
}

std::string FormatFileName(const KnownWeights& weights) {
  return std::string(weights.file.empty() ? weights.network : weights.file) + "-" + std::string(weights.digest) +
         ".pth";
}

Result<PublishedFile> FindPublishedFile(const std::string& name,
                                        const std::function<std::optional<std::string>(const std::string&)>& find) {
  std::vector<std::string> names;
  PublishedFile found;
  for (const KnownWeights& known : ListKnownWeights()) {
    if (known.name == name) found.weights = &known;
    names.emplace_back(known.name);
  }
  if (found.weights == nullptr) {
    names = SortByNearness(name, names);
    names.resize(3);
    const std::string nearest = names.front();
    return UsageError("\"" + name + "\" is none of torchvision's weights that are known; nearest: " + nearest +
                          "; a file of such a name is \"./" + name + "\"",
                      std::move(names));
  }
  const std::string folder = FindHubFolder(find);
  if (folder.empty())
    return EnvironmentError(name +
                            " lies in the cache of torch.hub, and nobody says where that is: set TORCH_HOME, or " +
                            "write the path of " + FormatFileName(*found.weights));
  found.path = folder + "/" + FormatFileName(*found.weights);
  return found;
}

Status ReportAbsent(const PublishedFile& file) {
  return EnvironmentError(std::string(file.weights->name) + " is not there. " + BringSentence(file));
}

Status CheckPublished(const PublishedFile& file, std::string_view digest) {
  if (digest.starts_with(file.weights->digest)) return {};
  return Refused(file.path + " is not " + std::string(file.weights->name) + ": its SHA-256 is " + std::string(digest) +
                 ", and that of the published file begins with " + std::string(file.weights->digest) + ". " +
                 BringSentence(file));
}

Result<std::string> DigestPublished(Env& env, const PublishedFile& file) {
  if (!MayExist(env, file.path)) return ReportAbsent(file);
  RETORT_ASSIGN_OR_RETURN(std::string digest, ComputeFileDigest(env, file.path));
  RETORT_RETURN_IF_ERROR(CheckPublished(file, digest));
  return digest;
}

}  // namespace retort::storage
