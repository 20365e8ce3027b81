// Live code under its key, with what goes in and comes out of it. It speaks of positions only: names
// and places are those of a text (TextView).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "core/ir/ir.h"
#include "core/lang/lang.h"
#include "jit/backend.h"
#include "jit/key.h"
#include "jit/run_history.h"
#include "jit/tiers.h"

namespace pullback::jit {

// The slots of a KernelEntry, in order: params, seeds -> values, derivatives. A list is one of any
// record.
struct Layout {
  std::vector<ir::Type> params;
  std::vector<ir::Type> seeds;
  std::vector<ir::Type> values;
  std::vector<ir::Type> derivatives;
  std::vector<bool> reads;  // by parameter: whether the code looks at it

  size_t arguments() const { return params.size() + seeds.size(); }
  size_t results() const { return values.size() + derivatives.size(); }
};

// The same with the list types, which are the signature's.
struct Slot {
  ir::Type type;
  const ApiType* list = nullptr;
};
struct SlotLayout {
  std::vector<Slot> params, seeds, values, derivatives;
};
SlotLayout MakeSlots(const lang::Signature& signature, const Derivation& derivation);
Layout MakeLayout(const SlotLayout& slots);

// Whether each leaf of the parameters is differentiated, as pipeline::Derive wants it.
std::vector<bool> WrtLeaves(const lang::Signature& signature, const Derivation& derivation);

// Runs stay valid after an eviction: whoever holds the kernel keeps its code.
class Kernel {
 public:
  Kernel(Derivation derivation, Layout layout, std::unique_ptr<TieredCode> code,
         Target target = Target::kCpu, const Blas* blas = nullptr)
      : derivation_(std::move(derivation)),
        layout_(std::move(layout)),
        code_(std::move(code)),
        target_(target),
        blas_(blas) {}

  const Derivation& derivation() const { return derivation_; }
  const Layout& layout() const { return layout_; }
  TieredCode& code() const { return *code_; }
  Target target() const { return target_; }  // kCpu or kCuda
  RunHistory& history() const { return history_; }
  const Blas* blas() const {
    return blas_;
  }  // that takes its contractions on the CPU; nullptr: none
  size_t bytes() const;

 private:
  const Derivation derivation_;
  const Layout layout_;
  const std::unique_ptr<TieredCode> code_;
  const Target target_;
  mutable RunHistory history_;
  const Blas* const blas_;
};

}  // namespace pullback::jit
