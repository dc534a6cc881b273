#include "monitoring/credentials.h"

#include <sodium.h>

#include <algorithm>
#include <string>

#include "monitoring/exporter.h"
#include "monitoring/secret_file.h"

namespace retort::monitoring {
namespace {

constexpr std::string_view kScheme = "basic";

std::string Base64(std::string_view bytes) {
  constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;
  std::string text(sodium_base64_ENCODED_LEN(bytes.size(), kVariant), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), kVariant);
  text.pop_back();  // the terminator
  return text;
}

bool IsScheme(std::string_view text) {
  return std::ranges::equal(text, kScheme, [](char a, char b) { return (a | 0x20) == b; });
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

}  // namespace

bool Authorizes(std::string_view header, std::string_view credentials) {
  if (!IsScheme(header.substr(0, kScheme.size()))) return false;
  std::string_view given = header.substr(kScheme.size());
  if (!given.starts_with(' ')) return false;
  given.remove_prefix(std::min(given.find_first_not_of(' '), given.size()));
  given = given.substr(0, given.find_last_not_of(' ') + 1);
  const std::string expected = Base64(credentials);
  return given.size() == expected.size() && sodium_memcmp(given.data(), expected.data(), expected.size()) == 0;
}

Result<std::string> ReadCredentials(const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const std::string text, ReadSecretFile(path, "metrics credentials"));
  std::string line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.pop_back();
  const std::size_t colon = line.find(':');
  const bool parts = colon != 0 && colon != std::string::npos && colon + 1 < line.size();
  if (!parts || std::ranges::any_of(line, IsControl) || line.starts_with("\xEF\xBB\xBF"))
    return UsageError("The first line of the metrics credentials " + path +
                      " is not user:password, in visible characters and without a byte order mark.");
  return line;
}

}  // namespace retort::monitoring
