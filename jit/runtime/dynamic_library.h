// The functions of a library that is loaded when it is asked for: found by name, and those that it lacks told.
#pragma once

#include <dlfcn.h>

#include <string>
#include <type_traits>

namespace pullback::jit {

class DynamicSymbols {
 public:
  explicit DynamicSymbols(void* library) : library_(library) {}

  // `function`, a pointer to one, becomes the library's, or nullptr.
  template <typename Function>
  void Find(Function& function, const char* symbol) {
    void* const address = dlsym(library_, symbol);
    if (address == nullptr) missing_ += (missing_.empty() ? "" : ", ") + std::string(symbol);
    function = reinterpret_cast<std::remove_reference_t<Function>>(address);
  }
  // "a, b"; empty: nothing.
  const std::string& missing() const { return missing_; }

 private:
  void* const library_;
  std::string missing_;
};

}  // namespace pullback::jit
