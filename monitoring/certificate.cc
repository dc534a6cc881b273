#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "monitoring/exporter.h"
#include "monitoring/secret_file.h"

namespace retort::monitoring {
namespace {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* owned) const {
    Free(owned);
  }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;

Bio Over(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

// Without it a key that is encrypted would be asked for on the terminal.
int NoPassphrase(char*, int, int, void*) { return -1; }

}  // namespace

Result<std::string> ReadCertificate(const std::string& path) {
  RETORT_ASSIGN_OR_RETURN(std::string text, ReadSecretFile(path, "certificate and key of the metrics"));
  const Certificate certificate(PEM_read_bio_X509(Over(text).get(), nullptr, &NoPassphrase, nullptr));
  const Key key(PEM_read_bio_PrivateKey(Over(text).get(), nullptr, &NoPassphrase, nullptr));
  ERR_clear_error();
  const std::string subject = "The metrics cannot be served with " + path + ": ";
  if (certificate == nullptr) return UsageError(subject + "it has no PEM certificate (-----BEGIN CERTIFICATE-----).");
  if (key == nullptr)
    return UsageError(subject + "it has no PEM private key without a passphrase (-----BEGIN PRIVATE KEY-----). "
                                "Certificate chain and key stand in one file.");
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    return UsageError(subject + "its private key is not that of its first certificate.");
  }
  if (X509_cmp_current_time(X509_get0_notAfter(certificate.get())) < 0)
    return EnvironmentError(subject + "its certificate has expired.");
  return text;
}

}  // namespace retort::monitoring
