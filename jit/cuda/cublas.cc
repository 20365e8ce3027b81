#include "jit/cuda/cublas.h"

#include <dlfcn.h>

#include "jit/runtime/dynamic_library.h"

namespace pullback::jit::cuda {
namespace {

Status NoBlas(const std::string& why) {
  return {Code::kFailedPrecondition, "NO_BLAS", "there is no cuBLAS here: " + why};
}

}  // namespace

std::string NameOf(const Cublas& cublas) {
  std::string name = "cuBLAS ";
  for (const int property : {kMajor, kMinor, kPatch}) {
    int number = 0;
    if (cublas.cublasGetProperty(property, &number) != kBlasSuccess) return "cuBLAS";
    name += (property == kMajor ? "" : ".") + std::to_string(number);
  }
  return name;
}

StatusOr<Cublas> LoadCublas(const std::vector<std::string>& libraries) {
  void* handle = nullptr;
  std::string library, why;
  for (const std::string& name : libraries) {
    handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    library = name;
    if (handle != nullptr) break;
    why = dlerror();
  }
  if (handle == nullptr) return NoBlas(why);
  Cublas cublas{};
  DynamicSymbols symbols(handle);
  symbols.Find(cublas.cublasGetProperty, "cublasGetProperty");
  symbols.Find(cublas.cublasCreate, "cublasCreate_v2");
  symbols.Find(cublas.cublasDestroy, "cublasDestroy_v2");
  symbols.Find(cublas.cublasDgemmStridedBatched, "cublasDgemmStridedBatched");
  symbols.Find(cublas.cublasSgemmStridedBatched, "cublasSgemmStridedBatched");
  if (symbols.missing().empty()) return cublas;
  dlclose(handle);
  return NoBlas(library + " lacks " + symbols.missing());
}

}  // namespace pullback::jit::cuda
