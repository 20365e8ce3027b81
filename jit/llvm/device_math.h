// The math functions of devices, as LLVM bitcode: jit/llvm/device/math.cc, compiled when this is built.
#pragma once

#include <string_view>

namespace pullback::jit {

std::string_view DeviceMathBitcode();

}  // namespace pullback::jit
