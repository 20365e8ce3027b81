// Kernels as PTX, through LLVM's NVPTX target and our own math (device/math.cc).
#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"
#include "jit/llvm/offload.h"

namespace pullback::jit {

// "sm_75" … "sm_90a", in order.
const std::vector<std::string>& NvptxArchs();
// INVALID_ARGUMENT, UNKNOWN_ARCH; UNIMPLEMENTED, NOT_ON_DEVICE; INTERNAL, LLVM_VERIFY.
StatusOr<std::string> WritePtx(const loops::Module& source, const Offload& offload,
                               const std::string& arch);
// Of the math: part of the key of kernels.
std::string DeviceMathVersion();

}  // namespace pullback::jit
