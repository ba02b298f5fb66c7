#include "io/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <vector>

#include "io/tls_internal.h"

namespace sluice::io {
namespace internal {

std::string OpenSslReason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason == nullptr ? "unknown" : reason;
}

}  // namespace internal

namespace {

using internal::OpenSslPtr;
using internal::OpenSslReason;
using internal::TlsContext;

// Keys with a pass phrase are refused rather than asked for at a terminal.
int NoPassPhrase(char*, int, int, void*) { return -1; }

OpenSslPtr<BIO> BioOf(const std::string& bytes) {
  return OpenSslPtr<BIO>(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}

Status BadFile(std::string_view what, const std::string& path) {
  return Error(ErrorCode::kInvalidConfig, what, " file=", path, " reason=", OpenSslReason());
}

Result<std::string> ReadPem(FileSystem& files, const std::string& path) {
  if (path.empty()) return std::string();
  auto bytes = files.ReadFile(path);
  if (bytes.ok()) return bytes;
  return Error(ErrorCode::kInvalidConfig, "file of TLS cannot be read file=", path,
               " reason=", bytes.status().message());
}

// At least one.
Result<std::vector<OpenSslPtr<X509>>> Certificates(const std::string& pem,
                                                   const std::string& path) {
  const OpenSslPtr<BIO> bio = BioOf(pem);
  std::vector<OpenSslPtr<X509>> certificates;
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, NoPassPhrase, nullptr))
    certificates.emplace_back(next);
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (certificates.empty() || !at_end) return BadFile("not certificates in PEM", path);
  ERR_clear_error();
  return certificates;
}

Status UseCertificate(const TlsContext& context, const TlsFiles& names) {
  SSL_CTX* const ssl = context.ssl.get();
  ASSIGN_OR_RAISE(auto chain, Certificates(context.certificate, names.certificate));
  if (SSL_CTX_use_certificate(ssl, chain[0].get()) != 1)
    return BadFile("certificate cannot be used", names.certificate);
  for (size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(ssl, chain[i].get()) != 1)
      return BadFile("certificate cannot be used", names.certificate);
  }
  const OpenSslPtr<BIO> bio = BioOf(context.private_key);
  const OpenSslPtr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassPhrase, nullptr));
  if (key == nullptr)
    return BadFile("not a private key in PEM without a pass phrase", names.private_key);
  if (SSL_CTX_use_PrivateKey(ssl, key.get()) != 1 || SSL_CTX_check_private_key(ssl) != 1)
    return BadFile("private key does not belong to the certificate", names.private_key);
  return Status::OK();
}

Status UseTrusted(const TlsContext& context, const TlsFiles& names) {
  ASSIGN_OR_RAISE(const auto trusted, Certificates(context.trusted, names.trusted));
  for (const auto& certificate : trusted) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context.ssl.get()), certificate.get()) != 1 ||
        SSL_CTX_add_client_CA(context.ssl.get(), certificate.get()) != 1)
      return BadFile("certificate cannot be used", names.trusted);
  }
  return Status::OK();
}

Status FillContext(Tls::End end, const TlsFiles& names, TlsContext* context) {
  context->ssl.reset(
      SSL_CTX_new(end == Tls::End::kServer ? TLS_server_method() : TLS_client_method()));
  SSL_CTX* const ssl = context->ssl.get();
  if (ssl == nullptr) return Error(ErrorCode::kUnknownServer, "no TLS reason=", OpenSslReason());
  SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION);
  // No renegotiation, so that a write never waits for a read; sessions are not resumed.
  SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(ssl, 0);
  SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(ssl, SSL_MODE_RELEASE_BUFFERS);
  if (!context->certificate.empty() || end == Tls::End::kServer)
    RETURN_NOT_OK(UseCertificate(*context, names));
  if (!context->trusted.empty() || !names.trusted.empty()) {
    RETURN_NOT_OK(UseTrusted(*context, names));
  } else if (end == Tls::End::kClient) {
    SSL_CTX_set_default_verify_paths(ssl);
  }
  const bool asks = end == Tls::End::kClient || !names.trusted.empty();
  SSL_CTX_set_verify(
      ssl, asks ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT : SSL_VERIFY_NONE, nullptr);
  return Status::OK();
}

}  // namespace

Tls::Tls(End end, FileSystem& files, TlsFiles names)
    : end_(end), files_(files), names_(std::move(names)) {}

Tls::~Tls() = default;

Result<std::shared_ptr<Tls>> Tls::Open(End end, FileSystem& files, TlsFiles names) {
  std::shared_ptr<Tls> tls(new Tls(end, files, std::move(names)));
  RETURN_NOT_OK(tls->Reload().status());
  return tls;
}

Result<bool> Tls::Reload() {
  auto next = std::make_shared<TlsContext>();
  ASSIGN_OR_RAISE(next->certificate, ReadPem(files_, names_.certificate));
  ASSIGN_OR_RAISE(next->private_key, ReadPem(files_, names_.private_key));
  ASSIGN_OR_RAISE(next->trusted, ReadPem(files_, names_.trusted));
  const auto old = context();
  if (old != nullptr && old->certificate == next->certificate &&
      old->private_key == next->private_key && old->trusted == next->trusted)
    return false;
  RETURN_NOT_OK(FillContext(end_, names_, next.get()));
  const std::lock_guard lock(mutex_);
  context_ = std::move(next);
  return true;
}

std::shared_ptr<const TlsContext> Tls::context() const {
  const std::lock_guard lock(mutex_);
  return context_;
}

}  // namespace sluice::io
