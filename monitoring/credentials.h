// Who may read the endpoint, or a page: the files with credentials and certificate, and HTTP basic authentication (RFC
// 7617).
#pragma once

#include <string>
#include <string_view>

#include "experiments/base/status.h"

namespace retort::monitoring {

// Who may read the endpoint, and how. Empty: everyone who reaches it; plain HTTP.
struct Protection {
  std::string credentials;  // "user:password" of HTTP basic authentication
  std::string certificate;  // PEM text of a certificate chain and its private key: HTTPS
};

// Reads the first line of the file, "user:password", without a carriage return at its end. Error: environment when it
// cannot be read, or other users can; usage when it has another form.
[[nodiscard]] Result<std::string> ReadCredentials(const std::string& path);
// Reads a file with a PEM certificate, first of its chain, and its private key. Error: environment when it cannot be
// read, or other users can, or the certificate has expired; usage when one of the two is missing, needs a passphrase,
// or they do not belong together.
[[nodiscard]] Result<std::string> ReadCertificate(const std::string& path);

// Returns a new secret for a URL: 32 hexadecimal digits, 128 random bits of the operating system's.
[[nodiscard]] std::string MakeAccessToken();
// Whether `given` is `secret`, which is not empty. The time it takes does not depend on where two values of one length
// differ.
[[nodiscard]] bool IsSecret(std::string_view given, std::string_view secret);

// Whether the value of the header `Authorization` carries "user:password", whatever the case of the scheme and the
// blanks around what follows it. The time it takes does not depend on where two values of one length differ.
[[nodiscard]] bool IsAuthorized(std::string_view header, std::string_view credentials);

}  // namespace retort::monitoring
