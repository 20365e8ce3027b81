#include "server/tls.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <string>
#include <utility>

namespace pullback::server {
namespace {

constexpr unsigned kLookSeconds = 1;  // how often gRPC looks at the files

Status Fault(const std::string& what) {
  char reason[256] = "";
  if (const unsigned long error = ERR_get_error(); error != 0) {
    ERR_error_string_n(error, reason, sizeof reason);
  }
  ERR_clear_error();
  return Status(Code::kFailedPrecondition, "TLS_FILES", what + (*reason ? ": " : "") + reason);
}

// gRPC would listen with bad files, and fail at every handshake.
Status CheckFiles(const ServerOptions& options) {
  if (options.tls_cert.empty() || options.tls_key.empty()) {
    return Fault("TLS needs both --tls-cert and --tls-key");
  }
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_server_method()),
                                                             &SSL_CTX_free);
  if (SSL_CTX_use_certificate_chain_file(context.get(), options.tls_cert.c_str()) != 1) {
    return Fault("cannot use the certificate " + options.tls_cert);
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), options.tls_key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return Fault("cannot use the key " + options.tls_key);
  }
  if (SSL_CTX_check_private_key(context.get()) != 1) {
    return Fault(options.tls_key + " is not the key of " + options.tls_cert);
  }
  const std::string& ca = options.tls_client_ca;
  if (!ca.empty() && SSL_CTX_load_verify_locations(context.get(), ca.c_str(), nullptr) != 1) {
    return Fault("cannot use the clients' authority " + ca);
  }
  return {};
}

}  // namespace

StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeCredentials(const ServerOptions& options) {
  namespace tls = grpc::experimental;
  if (options.tls_cert.empty() && options.tls_key.empty() && options.tls_client_ca.empty()) {
    return grpc::InsecureServerCredentials();
  }
  PB_RETURN_IF_ERROR(CheckFiles(options));
  const bool mutual = !options.tls_client_ca.empty();
  tls::TlsServerCredentialsOptions made(std::make_shared<tls::FileWatcherCertificateProvider>(
      options.tls_key, options.tls_cert, options.tls_client_ca, kLookSeconds));
  made.watch_identity_key_cert_pairs();
  if (mutual) made.watch_root_certs();
  made.set_cert_request_type(mutual ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                    : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  return tls::TlsServerCredentials(made);
}

}  // namespace pullback::server
