#include <fstream>
#include <iterator>
#include <utility>

#include "client/impl.h"

namespace pullback::client {
namespace {

StatusOr<std::string> ReadFile(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad() || text.empty()) {
    return Status(Code::kInvalidArgument, "SECURITY_FILE", "cannot read " + path);
  }
  return text;
}

StatusOr<std::string> ReadToken(const Security& security) {
  if (!security.token.empty() || security.token_file.empty()) return security.token;
  std::ifstream file(security.token_file);
  for (std::string line; std::getline(file, line);) {
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    return line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
  }
  return Status(Code::kInvalidArgument, "SECURITY_FILE", "no token in " + security.token_file);
}

// gRPC stops the process where a header holds anything else.
bool IsPrintable(const std::string& text) {
  for (char c : text) {
    if (c < 0x20 || c > 0x7e) return false;
  }
  return true;
}

}  // namespace

StatusOr<Secrets> ReadSecrets(const Security& security) {
  Secrets secrets;
  PB_ASSIGN_OR_RETURN(const std::string token, ReadToken(security));
  if (!IsPrintable(token)) {
    return Status(Code::kInvalidArgument, "INVALID_TOKEN", "a token is printable ASCII");
  }
  if (!token.empty()) secrets.authorization = "Bearer " + token;
  if (!security.tls && security.ca_file.empty() && security.cert_file.empty()) {
    secrets.credentials = grpc::InsecureChannelCredentials();
    return secrets;
  }
  if (security.cert_file.empty() != security.key_file.empty()) {
    return Status(Code::kInvalidArgument, "SECURITY_FILE",
                  "a client's certificate and its key go together");
  }
  grpc::SslCredentialsOptions options;
  PB_ASSIGN_OR_RETURN(options.pem_root_certs, ReadFile(security.ca_file));
  PB_ASSIGN_OR_RETURN(options.pem_cert_chain, ReadFile(security.cert_file));
  PB_ASSIGN_OR_RETURN(options.pem_private_key, ReadFile(security.key_file));
  secrets.credentials = grpc::SslCredentials(options);
  return secrets;
}

}  // namespace pullback::client
