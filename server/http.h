// The HTTP port: a few fixed pages, each made anew for every reader.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "core/base/status.h"

namespace pullback::server {

struct HttpPage {
  int code = 200;
  std::string text;
};

class HttpServer {
 public:
  using Pages = std::map<std::string, std::function<HttpPage()>>;  // by path

  // GET and HEAD of these paths, 404 for others. FAILED_PRECONDITION, CANNOT_LISTEN when the address is
  // not to be had. port 0: a free one.
  static StatusOr<std::unique_ptr<HttpServer>> Start(const std::string& host, int port,
                                                     const Pages& pages);
  ~HttpServer();

  int port() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace pullback::server
