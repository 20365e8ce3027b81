#include "jit/runtime/device.h"

#include "jit/runtime/support.h"

namespace pullback::jit {

// Not by a trap, which would skip what the device's methods have on the stack.
bool DeviceRun::Charge(int64_t bytes) {
  if (bytes > Room()) {
    lacking_ = bytes;
    return false;
  }
  pullback::jit::Charge(&context_, 0, bytes);
  return true;
}

// The trap is only the way out: the run's owner asks the device what happened.
void DeviceFailed(RunContext* c) {
  if (c->stop.load(std::memory_order_relaxed) != 0) pb_stopped(c);
  if (c->device->lacking() > 0) OutOfMemory(c, 0, c->device->lacking());
  pb_trap(c, kTrapStopped, 0, 0, 0);
}

int32_t pb_launch(RunContext* c, int32_t kernel, int64_t threads, const uint64_t* slots) {
  if (c->stop.load(std::memory_order_relaxed) != 0) pb_stopped(c);
  const int32_t result = c->device->Launch(static_cast<uint32_t>(kernel), threads, slots);
  if (result < 0) DeviceFailed(c);
  return result;
}

void pb_device_read(RunContext* c, Array* a) {
  if (a->device != nullptr && !c->device->Read(a)) DeviceFailed(c);
}

void pb_device_write(RunContext* c, Array* a) {
  if (a->device != nullptr && !c->device->Write(a)) DeviceFailed(c);
}

void pb_device_fresh(RunContext* c, Array* a, int32_t zeroed) {
  if (!c->device->Fresh(a, zeroed != 0)) DeviceFailed(c);
}

bool BringHome(RunContext* c) {
  for (Array* a = c->arrays; a != nullptr; a = a->next) {
    if (a->device != nullptr && !c->device->Read(a)) return false;
  }
  return true;
}

}  // namespace pullback::jit
