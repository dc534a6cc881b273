#include "monitoring/secret_file.h"

#include <sys/stat.h>

#include <fstream>

namespace retort::monitoring {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

}  // namespace

Result<std::string> ReadSecretFile(const std::string& path, std::string_view what) {
  const std::string subject = "The " + std::string(what) + " " + path;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.empty() || file.bad()) return EnvironmentError(subject + " cannot be read, or are empty.");
  if (text.size() > kMostBytes) return EnvironmentError(subject + " are larger than 1 MiB.");
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || (facts.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return EnvironmentError(subject + " are readable by others: chmod 600 " + path);
  return text;
}

}  // namespace retort::monitoring
