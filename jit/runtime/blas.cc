#include "jit/runtime/blas.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>

#include "jit/runtime/dynamic_library.h"

namespace pullback::jit {
namespace {

Status NoBlas(const std::string& why) {
  return {Code::kFailedPrecondition, "NO_BLAS", "there is no OpenBLAS here: " + why};
}

// "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH … MAX_THREADS=64" and the core type that it has found.
std::string NameOf(const char* config, const char* core) {
  std::istringstream words(config);
  std::string library, version;
  words >> library >> version;
  return library + " " + version + " " + core;
}

StatusOr<std::unique_ptr<const Blas>> Open(const std::string& library) {
  // It starts a thread for each core while it is loaded, unless it finds this. Requests are the server's threads.
  setenv("OPENBLAS_NUM_THREADS", "1", /*overwrite=*/1);
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return NoBlas(dlerror());
  auto blas = std::make_unique<Blas>();
  DynamicSymbols symbols(handle);
  const char* (*config)() = nullptr;
  const char* (*core)() = nullptr;
  void (*set_threads)(int) = nullptr;
  symbols.Find(config, "openblas_get_config");
  symbols.Find(core, "openblas_get_corename");
  symbols.Find(set_threads, "openblas_set_num_threads");
  symbols.Find(blas->cblas_dgemm, "cblas_dgemm");
  symbols.Find(blas->cblas_sgemm, "cblas_sgemm");
  symbols.Find(blas->cblas_dgemv, "cblas_dgemv");
  symbols.Find(blas->cblas_sgemv, "cblas_sgemv");
  if (!symbols.missing().empty()) {
    dlclose(handle);
    return NoBlas(library + " lacks " + symbols.missing());
  }
  set_threads(1);
  blas->name = NameOf(config(), core());
  return std::unique_ptr<const Blas>(std::move(blas));
}

// Of all threads.
struct BufferCount {
  std::mutex mutex;
  int in_use = 0, made = 0;
};
BufferCount& Buffers() {
  static auto* const buffers = new BufferCount;
  return *buffers;
}

bool HasRoom(size_t bytes) {
  void* const room =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  munmap(room, bytes);
  return true;
}

}  // namespace

BlasBuffer::BlasBuffer() {
  BufferCount& b = Buffers();
  const std::lock_guard lock(b.mutex);
  ok_ = b.in_use < b.made || HasRoom(kBytes);
  if (!ok_) return;
  b.made = std::max(b.made, ++b.in_use);
}

BlasBuffer::~BlasBuffer() {
  if (!ok_) return;
  BufferCount& b = Buffers();
  const std::lock_guard lock(b.mutex);
  --b.in_use;
}

StatusOr<const Blas*> LoadBlas(const std::string& library) {
  static std::mutex mutex;
  static auto* const loaded = new std::map<std::string, StatusOr<std::unique_ptr<const Blas>>>;
  const std::lock_guard lock(mutex);
  auto at = loaded->find(library);
  if (at == loaded->end()) at = loaded->emplace(library, Open(library)).first;
  if (!at->second.ok()) return at->second.status();
  return at->second->get();
}

}  // namespace pullback::jit
