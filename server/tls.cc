#include "server/tls.h"

#include <fcntl.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <utility>

#include "server/log.h"

namespace pullback::server {
namespace {

constexpr unsigned kLookSeconds = 1;  // gRPC at what it is given, and we at the files

Status Fault(const std::string& what) {
  char reason[256] = "";
  if (const unsigned long error = ERR_get_error(); error != 0) {
    ERR_error_string_n(error, reason, sizeof reason);
  }
  ERR_clear_error();
  return Status(Code::kFailedPrecondition, "TLS_FILES", what + (*reason ? ": " : "") + reason);
}

StatusOr<std::string> ReadFile(const std::string& what, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file.is_open() && file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  if (!file.is_open() || file.bad() || text.fail()) {
    return Fault("cannot read the " + what + " " + path);
  }
  return text.str();
}

}  // namespace

StatusOr<MemoryFile> MemoryFile::Of(const std::string& text) {
  MemoryFile file(memfd_create("pullback-tls", MFD_CLOEXEC));
  const bool written = file.fd_ >= 0 && write(file.fd_, text.data(), text.size()) ==
                                            static_cast<ssize_t>(text.size());
  if (!written) return Fault("no memory for a file of TLS");
  return file;
}

MemoryFile::MemoryFile(MemoryFile&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}

MemoryFile::~MemoryFile() {
  if (fd_ >= 0) close(fd_);
}

std::string MemoryFile::path() const { return "/proc/self/fd/" + std::to_string(fd_); }

void MemoryFile::Become(const MemoryFile& o) const { PB_CHECK(dup3(o.fd_, fd_, O_CLOEXEC) == fd_); }

StatusOr<Tls::Texts> Tls::Read(const ServerOptions& options) {
  Texts texts;
  PB_ASSIGN_OR_RETURN(texts.cert, ReadFile("certificate", options.tls_cert));
  PB_ASSIGN_OR_RETURN(texts.key, ReadFile("key", options.tls_key));
  if (!options.tls_client_ca.empty()) {
    PB_ASSIGN_OR_RETURN(texts.ca, ReadFile("clients' authority", options.tls_client_ca));
  }
  return texts;
}

// Given bad files gRPC fails at every handshake, given an empty one it ends the process.
StatusOr<Tls::Files> Tls::Check(const ServerOptions& options, const Texts& texts) {
  PB_ASSIGN_OR_RETURN(MemoryFile cert, MemoryFile::Of(texts.cert));
  PB_ASSIGN_OR_RETURN(MemoryFile key, MemoryFile::Of(texts.key));
  PB_ASSIGN_OR_RETURN(MemoryFile ca, MemoryFile::Of(texts.ca));
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_server_method()),
                                                             &SSL_CTX_free);
  if (SSL_CTX_use_certificate_chain_file(context.get(), cert.path().c_str()) != 1) {
    return Fault("cannot use the certificate " + options.tls_cert);
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), key.path().c_str(), SSL_FILETYPE_PEM) != 1) {
    return Fault("cannot use the key " + options.tls_key);
  }
  if (SSL_CTX_check_private_key(context.get()) != 1) {
    return Fault(options.tls_key + " is not the key of " + options.tls_cert);
  }
  if (!options.tls_client_ca.empty() &&
      SSL_CTX_load_verify_locations(context.get(), ca.path().c_str(), nullptr) != 1) {
    return Fault("cannot use the clients' authority " + options.tls_client_ca);
  }
  return Files{std::move(cert), std::move(key), std::move(ca)};
}

StatusOr<std::unique_ptr<Tls>> Tls::Open(const ServerOptions& options) {
  if (options.tls_cert.empty() && options.tls_key.empty() && options.tls_client_ca.empty()) {
    return std::unique_ptr<Tls>();
  }
  if (options.tls_cert.empty() || options.tls_key.empty()) {
    return Fault("TLS needs both --tls-cert and --tls-key");
  }
  PB_ASSIGN_OR_RETURN(Texts texts, Read(options));
  PB_ASSIGN_OR_RETURN(Files files, Check(options, texts));
  return std::unique_ptr<Tls>(new Tls(options, std::move(texts), std::move(files)));
}

Tls::Tls(const ServerOptions& options, Texts seen, Files files)
    : options_(options),
      seen_(std::move(seen)),
      files_(std::move(files)),
      thread_([this] { Watch(); }) {}

Tls::~Tls() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::shared_ptr<grpc::ServerCredentials> Tls::Credentials() const {
  namespace tls = grpc::experimental;
  const bool mutual = !options_.tls_client_ca.empty();
  tls::TlsServerCredentialsOptions made(std::make_shared<tls::FileWatcherCertificateProvider>(
      files_.key.path(), files_.cert.path(), mutual ? files_.ca.path() : "", kLookSeconds));
  made.watch_identity_key_cert_pairs();
  if (mutual) made.watch_root_certs();
  made.set_cert_request_type(mutual ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                    : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  return tls::TlsServerCredentials(made);
}

void Tls::Watch() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::seconds(kLookSeconds), [this] { return stop_; })) {
    lock.unlock();
    Look();
    lock.lock();
  }
}

void Tls::Look() {
  const auto warn = [](const Status& status) {
    log::Write(log::Level::kWarn, "the TLS files are not taken",
               {{"reason", status.reason()}, {"detail", status.message()}});
  };
  auto read = Read(options_);
  if (!read.ok()) {
    if (std::exchange(seen_, std::nullopt)) warn(read.status());
    return;
  }
  if (seen_ == *read) return;
  seen_ = *std::move(read);
  const auto checked = Check(options_, *seen_);
  if (!checked.ok()) return warn(checked.status());
  files_.key.Become(checked->key);
  files_.cert.Become(checked->cert);
  files_.ca.Become(checked->ca);
  log::Write(log::Level::kInfo, "TLS files read again");
}

}  // namespace pullback::server
