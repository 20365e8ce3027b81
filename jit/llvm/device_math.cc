#include "jit/llvm/device_math.h"

// PULLBACK_DEVICE_MATH: the file that the build made.
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    "pullback_device_math:\n"
    ".incbin \"" PULLBACK_DEVICE_MATH
    "\"\n"
    "pullback_device_math_end:\n"
    ".globl pullback_device_math\n"
    ".globl pullback_device_math_end\n"
    ".popsection\n");

extern "C" const char pullback_device_math[];      // NOLINT
extern "C" const char pullback_device_math_end[];  // NOLINT

namespace pullback::jit {

std::string_view DeviceMathBitcode() {
  return {pullback_device_math,
          static_cast<size_t>(pullback_device_math_end - pullback_device_math)};
}

}  // namespace pullback::jit
