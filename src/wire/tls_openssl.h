// Shared by the tls_*.cc files: owning pointers for OpenSSL, and texts for its error queue. Private to them.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>

namespace ebb::wire {

template <auto function>
struct FreeWith {
  template <class T>
  void operator()(T* object) const {
    function(object);
  }
};

using SslPointer = std::unique_ptr<SSL, FreeWith<SSL_free>>;
using SslContextPointer = std::unique_ptr<SSL_CTX, FreeWith<SSL_CTX_free>>;
using BioPointer = std::unique_ptr<BIO, FreeWith<BIO_free>>;
using X509Pointer = std::unique_ptr<X509, FreeWith<X509_free>>;
using KeyPointer = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;

// The root cause (the oldest entry), as OpenSSL's static text. Empties the thread's queue: otherwise SSL_get_error() of
// the next session on this thread would read this session's error.
inline const char* take_reason(const char* otherwise) {
  const char* reason = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return reason == nullptr ? otherwise : reason;
}

}  // namespace ebb::wire
