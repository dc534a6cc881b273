#include "monitoring/credentials.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sodium.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>

#include "experiments/base/digests.h"

namespace retort::monitoring {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;

// Reads all of a file of at most 1 MiB; `what` says what it holds. Error: environment, when it cannot be read, is empty
// or larger, or other users can read or write it.
Result<std::string> ReadSecretFile(const std::string& path, std::string_view what) {
  const std::string subject = "The " + std::string(what) + " " + path;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.empty() || file.bad()) return EnvironmentError(subject + " cannot be read, or are empty.");
  if (text.size() > kMaxBytes) return EnvironmentError(subject + " are larger than 1 MiB.");
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || (facts.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return EnvironmentError(subject + " are readable by others: chmod 600 " + path);
  return text;
}

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* owned) const {
    Free(owned);
  }
};
using Bio = std::unique_ptr<BIO, Deleter<BIO_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;

Bio OpenText(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

// Without this callback OpenSSL would ask for the passphrase of an encrypted key on the terminal.
int NoPassphrase(char*, int, int, void*) { return -1; }

constexpr std::string_view kScheme = "basic";

bool IsScheme(std::string_view text) {
  return std::ranges::equal(text, kScheme, [](char a, char b) { return (a | 0x20) == b; });
}

bool IsControlCharacter(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

}  // namespace

Result<std::string> ReadCertificate(const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(std::string text, ReadSecretFile(path, "certificate and key"));
  const Certificate certificate(PEM_read_bio_X509(OpenText(text).get(), nullptr, &NoPassphrase, nullptr));
  const Key key(PEM_read_bio_PrivateKey(OpenText(text).get(), nullptr, &NoPassphrase, nullptr));
  ERR_clear_error();
  const std::string subject = "Nothing can be served with " + path + ": ";
  if (certificate == nullptr) return UsageError(subject + "it has no PEM certificate (-----BEGIN CERTIFICATE-----).");
  if (key == nullptr)
    return UsageError(subject +
                      "it has no PEM private key without a passphrase (-----BEGIN PRIVATE KEY-----). "
                      "Certificate chain and key stand in one file.");
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    return UsageError(subject + "its private key is not that of its first certificate.");
  }
  if (X509_cmp_current_time(X509_get0_notAfter(certificate.get())) < 0)
    return EnvironmentError(subject + "its certificate has expired.");
  return text;
}

std::string MakeAccessToken() {
  unsigned char bits[16];
  RETORT_CHECK(sodium_init() >= 0);
  randombytes_buf(bits, sizeof(bits));
  char digits[2 * sizeof(bits) + 1];
  return sodium_bin2hex(digits, sizeof(digits), bits, sizeof(bits));
}

bool IsSecret(std::string_view given, std::string_view secret) {
  return !secret.empty() && given.size() == secret.size() &&
         sodium_memcmp(given.data(), secret.data(), secret.size()) == 0;
}

bool IsAuthorized(std::string_view header, std::string_view credentials) {
  if (!IsScheme(header.substr(0, kScheme.size()))) return false;
  std::string_view given = header.substr(kScheme.size());
  if (!given.starts_with(' ')) return false;
  given.remove_prefix(std::min(given.find_first_not_of(' '), given.size()));
  given = given.substr(0, given.find_last_not_of(' ') + 1);
  const std::string expected = FormatBase64(credentials);
  return IsSecret(given, expected);
}

Result<std::string> ReadCredentials(const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(const std::string text, ReadSecretFile(path, "metrics credentials"));
  std::string line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.pop_back();
  const std::size_t colon = line.find(':');
  const bool parts = colon != 0 && colon != std::string::npos && colon + 1 < line.size();
  if (!parts || std::ranges::any_of(line, IsControlCharacter) || line.starts_with("\xEF\xBB\xBF"))
    return UsageError("The first line of the metrics credentials " + path +
                      " is not user:password, in visible characters and without a byte order mark.");
  return line;
}

}  // namespace retort::monitoring
