// What the fuzz targets share: a broken promise stops with what broke it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/base/status.h"

namespace pullback::fuzz {

inline void Require(bool holds, const std::string& what, const std::string& details = "") {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n%s\n", what.c_str(), details.c_str());
  std::abort();
}

// A mistake of the user's or a limit is fine; a fault of ours is not.
inline void RequireNotInternal(const Status& status, const std::string& details = "") {
  Require(status.code() != Code::kInternal, status.ToString(), details);
}

}  // namespace pullback::fuzz
