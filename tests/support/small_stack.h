// Runs something on a thread with little stack: what is walked by recursion must fit.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <functional>

namespace pullback::testing {

// A quarter of what threads have by default; the sanitizers' frames are some times as large.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PULLBACK_LARGE_FRAMES
#endif
#endif
#ifdef PULLBACK_LARGE_FRAMES
inline constexpr size_t kSmallStack = size_t{32} << 20;
#else
inline constexpr size_t kSmallStack = size_t{2} << 20;
#endif

// Overflowing ends the process.
inline void OnSmallStack(const std::function<void()>& run, size_t bytes = kSmallStack) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, bytes);
  pthread_t thread;
  const auto start = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  if (pthread_create(&thread, &attributes, start, const_cast<std::function<void()>*>(&run)) == 0) {
    pthread_join(thread, nullptr);
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace pullback::testing
