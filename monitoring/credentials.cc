#include "monitoring/credentials.h"

#include <sodium.h>
#include <sys/stat.h>

#include <fstream>

#include "monitoring/exporter.h"

namespace retort::monitoring {

std::string BasicAuthorization(std::string_view credentials) {
  constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;
  std::string text(sodium_base64_ENCODED_LEN(credentials.size(), kVariant), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(credentials.data()),
                    credentials.size(), kVariant);
  text.pop_back();  // the terminator
  return "Basic " + text;
}

bool EqualInConstantTime(std::string_view given, std::string_view expected) {
  return given.size() == expected.size() && sodium_memcmp(given.data(), expected.data(), expected.size()) == 0;
}

Result<std::string> ReadCredentials(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!file.is_open() || !std::getline(file, line))
    return EnvironmentError("The metrics credentials " + path + " cannot be read, or are empty.");
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || (facts.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return EnvironmentError("The metrics credentials " + path + " are readable by others: chmod 600 " + path);
  const std::size_t colon = line.find(':');
  if (colon == 0 || colon == std::string::npos || colon + 1 == line.size())
    return UsageError("The first line of the metrics credentials " + path + " is not user:password.");
  return line;
}

}  // namespace retort::monitoring
