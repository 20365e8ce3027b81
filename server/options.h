// What an operator may set (docs/operations.md). Durations are seconds; 0 means no bound where it says
// so. Flags and environment are read in main.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "jit/engine.h"

namespace pullback::server {

struct ServerOptions {
  std::string host = "127.0.0.1";
  int grpc_port = 8001;  // 0: a free one
  // Metrics and health over HTTP; nothing listens there unless a port is given.
  std::string http_host = "127.0.0.1";
  int http_port = -1;  // 0: a free one; -1: none

  // TLS where a certificate is given; clients need one where their authority is.
  std::string tls_cert, tls_key, tls_client_ca;  // PEM files
  std::string token_file;                        // of bearer tokens; empty: nobody needs one

  // Compute.
  int threads = 0;  // that run kernels; 0: one per core
  int compile_threads =
      0;                // that compile, and run what they compiled; 0: half of threads, at least 1
  size_t queue = 1024;  // requests that wait for a thread, in each of the two pools
  size_t queue_bytes = size_t{1} << 30;  // of those requests
  int stream_window = 64;                // items of one stream in flight

  // One request.
  size_t max_message_bytes = size_t{64} << 20;
  int64_t memory_budget = int64_t{1} << 30;
  int32_t max_depth = 100000;
  double default_deadline = 60;  // where the client sets none; 0: none
  double max_deadline = 3600;    // 0: none

  // The compiler, its limits and its cache.
  jit::EngineOptions engine;
  std::string cache_dir;  // of compiled code that outlives the server; empty: none
  int64_t disk_cache_bytes = int64_t{1} << 30;

  double drain_timeout = 30;
  std::string version;
};

}  // namespace pullback::server
