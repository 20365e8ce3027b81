#include "server/http.h"

#include <httplib.h>
#include <sys/socket.h>

#include <chrono>
#include <thread>
#include <utility>

namespace pullback::server {
namespace {

constexpr char kType[] = "text/plain; version=0.0.4; charset=utf-8";  // as Prometheus wants it
constexpr int kThreads = 16;
constexpr time_t kSeconds = 3;  // for a client to send its request, and to take the answer
constexpr size_t kMaxBody = 1024;

// Who connects and sends nothing, or does not read, holds one of the threads for kSeconds at most.
void Configure(httplib::Server* server) {
  server->new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server->set_read_timeout(kSeconds);
  server->set_write_timeout(kSeconds);
  server->set_keep_alive_max_count(1);
  server->set_payload_max_length(kMaxBody);
  // Its own choice would let two servers share a port unseen.
  server->set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
}

}  // namespace

struct HttpServer::Impl {
  httplib::Server server;
  int port = 0;
  std::thread thread;
  ~Impl() {
    if (!thread.joinable()) return;
    server.stop();
    thread.join();
  }
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const std::string& host, int port,
                                                        const Pages& pages) {
  auto impl = std::make_unique<Impl>();
  Configure(&impl->server);
  for (const auto& [path, make] : pages) {
    impl->server.Get(path, [make = make](const httplib::Request&, httplib::Response& response) {
      const HttpPage page = make();
      response.status = page.code;
      response.set_content(page.text, kType);
      response.set_header("Cache-Control", "no-store");
    });
  }
  impl->port = port > 0 && impl->server.bind_to_port(host, port) ? port
               : port == 0 ? impl->server.bind_to_any_port(host)
                           : -1;
  if (impl->port <= 0) {
    return Status(Code::kFailedPrecondition, "CANNOT_LISTEN",
                  "cannot listen on " + host + ":" + std::to_string(port) + " (HTTP)");
  }
  impl->thread = std::thread([server = &impl->server] { server->listen_after_bind(); });
  // Before it runs it cannot be stopped.
  while (!impl->server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

int HttpServer::port() const { return impl_->port; }

}  // namespace pullback::server
