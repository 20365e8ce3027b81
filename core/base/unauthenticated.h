// gRPC's code of a request without valid credentials. It stands beside Code, in whose header everything
// would be built anew for it; CodeName knows it.
#pragma once

#include "core/base/status.h"

namespace pullback {

inline constexpr Code kUnauthenticated = Code{16};

}  // namespace pullback
