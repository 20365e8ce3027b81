// One page of the HTTP port.
#pragma once

#include <string>

namespace pullback::test {

struct HttpAnswer {
  int code = 0;  // 0: nobody answered
  std::string type;
  std::string body;
};

// address: "127.0.0.1:8000".
HttpAnswer HttpGet(const std::string& address, const std::string& path,
                   const std::string& method = "GET");

}  // namespace pullback::test
