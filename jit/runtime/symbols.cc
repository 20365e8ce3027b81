#include <vector>

#include "core/base/math.h"
#include "jit/runtime/contract.h"
#include "jit/runtime/device.h"
#include "jit/runtime/support.h"

namespace pullback::jit {
namespace {

template <typename Fn>
RuntimeSymbol Row(const char* name, Fn* f) {
  return {name, reinterpret_cast<const void*>(f)};
}

std::vector<RuntimeSymbol> MakeSymbols() {
  std::vector<RuntimeSymbol> symbols = {
#define PB_SYMBOL(f) Row(#f, f)
      PB_SYMBOL(pb_trap),         PB_SYMBOL(pb_stopped),     PB_SYMBOL(pb_stack_grow),
      PB_SYMBOL(pb_alloc),        PB_SYMBOL(pb_free),        PB_SYMBOL(pb_copy),
      PB_SYMBOL(pb_tape_new),     PB_SYMBOL(pb_tape_grow),   PB_SYMBOL(pb_tape_free),
      PB_SYMBOL(pb_list_new),     PB_SYMBOL(pb_list_of),     PB_SYMBOL(pb_list_get),
      PB_SYMBOL(pb_list_set),     PB_SYMBOL(pb_list_take),   PB_SYMBOL(pb_list_push),
      PB_SYMBOL(pb_list_pop),     PB_SYMBOL(pb_list_free),   PB_SYMBOL(pb_fit),
      PB_SYMBOL(pb_launch),       PB_SYMBOL(pb_device_read), PB_SYMBOL(pb_device_write),
      PB_SYMBOL(pb_device_fresh), PB_SYMBOL(pb_contract),
#undef PB_SYMBOL
  };
  symbols.push_back({"pb_sincos_f64", SinCosF64Address()});
  symbols.push_back({"pb_sincos_f32", SinCosF32Address()});
  for (const auto* f = MathBegin(); f != MathEnd(); ++f) {
    symbols.push_back({f->f64_symbol, f->f64});
    symbols.push_back({f->f32_symbol, f->f32});
  }
  for (const auto* f = VectorMathBegin(); f != VectorMathEnd(); ++f) {
    symbols.push_back({f->symbol, f->address});
  }
  return symbols;
}

const std::vector<RuntimeSymbol>& Symbols() {
  static const std::vector<RuntimeSymbol> symbols = MakeSymbols();
  return symbols;
}

}  // namespace

const RuntimeSymbol* SymbolsBegin() { return Symbols().data(); }
const RuntimeSymbol* SymbolsEnd() { return Symbols().data() + Symbols().size(); }

}  // namespace pullback::jit
