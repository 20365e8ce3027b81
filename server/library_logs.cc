#include "server/library_logs.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <string>

#include "server/log.h"

namespace pullback::server {
namespace {

void FromGrpc(gpr_log_func_args* args) {
  const bool error = args->severity == GPR_LOG_SEVERITY_ERROR;
  const auto level = error ? log::Level::kWarn : log::Level::kDebug;
  log::Write(level, args->message,
             {{"library", "grpc"}, {"file", args->file}, {"line", std::to_string(args->line)}});
}

void FromProtobuf(google::protobuf::LogLevel, const char* file, int line,
                  const std::string& message) {
  log::Write(log::Level::kDebug, message,
             {{"library", "protobuf"}, {"file", file}, {"line", std::to_string(line)}});
}

}  // namespace

void RouteLibraryLogs() {
  gpr_set_log_function(&FromGrpc);
  google::protobuf::SetLogHandler(&FromProtobuf);
}

}  // namespace pullback::server
