// The texts of programs that come as tables, so that only a new one is formatted.
#pragma once

#include <memory>
#include <string>

#include "core/base/status.h"
#include "jit/cache.h"
#include "proto/program/tables.h"
#include "pullback/v1/program.pb.h"

namespace pullback::server {

class ProgramTexts {
 public:
  explicit ProgramTexts(const lang::Limits& limits) : limits_(limits) {}

  // Text as it came; the canonical text of tables. Errors as program::TextOf. Thread-safe.
  StatusOr<std::string> TextOf(const v1::Program& program);

 private:
  static constexpr size_t kMaxBytes = size_t{16} << 20;

  const lang::Limits limits_;
  jit::ByteLru<std::shared_ptr<const std::string>> texts_{kMaxBytes};  // by the tables' bytes
};

}  // namespace pullback::server
