#include "tests/server/http_get.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <regex>

namespace pullback::test {

HttpAnswer HttpGet(const std::string& address, const std::string& path, const std::string& method) {
  const size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string text;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
    const std::string ask =
        method + " " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    if (write(fd, ask.data(), ask.size()) == static_cast<ssize_t>(ask.size())) {
      char buffer[4096];
      for (ssize_t size; (size = read(fd, buffer, sizeof buffer)) > 0;) {
        text.append(buffer, static_cast<size_t>(size));
      }
    }
  }
  close(fd);
  HttpAnswer answer;
  std::smatch match;
  const std::regex head("^HTTP/1\\.1 ([0-9]+)");
  if (!std::regex_search(text, match, head)) return answer;
  answer.code = std::stoi(match[1]);
  const size_t end = text.find("\r\n\r\n");
  const std::string headers = text.substr(0, end);
  if (std::regex_search(headers, match, std::regex("\nContent-Type: ([^\r\n]*)"))) {
    answer.type = match[1];
  }
  if (end != std::string::npos) answer.body = text.substr(end + 4);
  return answer;
}

}  // namespace pullback::test
