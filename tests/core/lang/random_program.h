// Random programs that parse (and mean nothing): every construct, odd layout, comments everywhere.
#pragma once

#include <cstdint>
#include <string>

namespace pullback::lang {

// The same text for the same seed.
std::string RandomProgram(uint64_t seed);

}  // namespace pullback::lang
