#pragma once
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

// OpenSSL's objects, for the .cc files of `io` that know it.

namespace sluice::io::internal {

struct OpenSslFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
};
template <typename T>
using OpenSslPtr = std::unique_ptr<T, OpenSslFree>;

/// What Tls has read, and what OpenSSL made of it. Immutable.
struct TlsContext {
  std::string certificate, private_key, trusted;  ///< The files' bytes.
  OpenSslPtr<SSL_CTX> ssl;
};

/// The reason of OpenSSL's last error on this thread.
std::string OpenSslReason();

}  // namespace sluice::io::internal
