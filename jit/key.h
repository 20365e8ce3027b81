// The names of kernels in the caches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "core/loops/lower.h"
#include "jit/engine.h"

namespace pullback::jit {

// What is asked of the entry function; equal for all texts of one kernel.
struct Derivation {
  Transform transform = Transform::kValue;
  std::vector<uint32_t> wrt;  // positions of parameters, in the order asked for
  bool sparse = false;
};

// Kernels take and give what belongs to wrt in the order of the parameters, requests and answers in that of wrt:
// the indices into wrt, in the order of the slots.
using SlotOrder = absl::InlinedVector<size_t, 16>;
SlotOrder InSlotOrder(const std::vector<uint32_t>& wrt);

// How it is compiled.
struct Build {
  pipeline::Options passes;
  int opt_level = 2;
  Tier tier = Tier::kLlvm;
  Target target = Target::kCpu;
  Contractions contractions = Contractions::kExact;
  const Blas* blas = nullptr;  // for contractions on the CPU; told apart by the id
  std::string id;              // versions and target: Engine::build_id()
};
inline loops::LowerOptions LowerOptionsOf(const Build& build) {
  const bool cpu = build.target == Target::kCpu;
  return {build.contractions == Contractions::kBlas, /*columns=*/cpu, /*segments=*/!cpu,
          /*rows=*/cpu};
}

// Hex SHA-256 of everything that determines the code. Lengths stand before what varies in length, so
// that no two different questions give the same bytes.
std::string KernelId(const std::string& canonical_text, const Derivation& derivation,
                     const Build& build);

// The request as asked: the hash of its text, and the rest as it is. Needs no parser.
std::string AliasKey(const KernelRequest& request, int opt_level);

}  // namespace pullback::jit
