#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"
#include "io/file.h"

namespace sluice::io {

namespace internal {
struct TlsContext;
}

/// Files of one end of TLS, all PEM. A name that is empty stands for no file.
struct TlsFiles {
  std::string certificate;  ///< Of this end, those that signed it behind it. Servers need one.
  std::string private_key;  ///< Of the certificate, without a pass phrase.
  /// Certificates that sign those of the other end. A server without them asks clients for none; a
  /// client without them trusts what the machine trusts.
  std::string trusted;
};

/// The certificates and keys by which one end speaks TLS 1.2 or 1.3.
///
/// Threads: any.
class Tls {
 public:
  enum class End { kServer, kClient };

  /// Errors: kInvalidConfig naming the file that is absent, not PEM, or does not fit the others.
  static Result<std::shared_ptr<Tls>> Open(End end, FileSystem& files, TlsFiles names);
  ~Tls();

  /// Read the files again, for connections from now on; true when one has changed. Errors: as of
  /// Open; then what was read before stays in use.
  Result<bool> Reload();
  End end() const { return end_; }
  /// For TlsNetwork.
  std::shared_ptr<const internal::TlsContext> context() const;

 private:
  Tls(End end, FileSystem& files, TlsFiles names);

  const End end_;
  FileSystem& files_;
  const TlsFiles names_;
  mutable std::mutex mutex_;  // Guards the pointer only.
  std::shared_ptr<const internal::TlsContext> context_;
};

}  // namespace sluice::io
