#include "core/opt/definitions.h"

#include <algorithm>
#include <bit>

namespace pullback::opt {

using ir::Inst;
using ir::Op;
using ir::Value;

Definitions::Definitions(const ir::Function& f) : f_(f), place_(f.values.size(), kNowhere) {
  size_t insts = 0;
  for (const ir::Block& b : f.blocks) insts += b.insts.size();
  defs_.reserve(insts);
}

void Definitions::Record(const Inst& inst) {
  if (inst.results.size() != 1) return;
  const Value result = inst.results[0];
  if (result.id >= place_.size()) place_.resize(f_.values.size(), kNowhere);
  uint32_t& place = place_[result.id];
  if (place == kNowhere) {
    place = static_cast<uint32_t>(defs_.size());
    defs_.emplace_back();
  }
  Def& d = defs_[place];
  d.op = inst.op;
  d.known = true;
  d.bits = inst.bits;
  d.args = inst.args;
  d.guard = inst.guard;
  if (inst.op != Op::AffineOf) return;
  d.bits = affines_.size();
  affines_.push_back(inst.subs[0]);
}

double Definitions::AsDouble(Value v) const {
  return f_.TypeOf(v).elem == DType::kF32
             ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(Bits(v))))
             : std::bit_cast<double>(Bits(v));
}

// n - 2 * (n / 2), or more.
bool Definitions::IsRest(const ir::Affine& sum) const {
  constexpr int64_t kConstant = int64_t{1} << 50;
  if (sum.terms.size() != 2 || sum.constant < 0 || sum.constant > kConstant) return false;
  for (const size_t k : {0, 1}) {
    const ir::Affine::Term &whole = sum.terms[k], &quotient = sum.terms[1 - k];
    const Def& d = Of(quotient.value);
    if (whole.coeff != 1 || !d.known || d.guard.valid() || d.op != Op::Div) continue;
    const std::optional<int64_t> by = Int(d.args[1]);
    if (by && *by > 0 && quotient.coeff == -*by && d.args[0] == whole.value)
      return IsSize(whole.value);
  }
  return false;
}

bool Definitions::IsSize(Value v) const {
  constexpr int64_t kCoeff = 1 << 16, kConstant = int64_t{1} << 50;  // sums of sizes do not wrap
  const Def& d = Of(v);
  if (!d.known || d.guard.valid()) return false;
  const auto is_size = [this](Value x) { return IsSize(x); };
  switch (d.op) {
    case Op::Dim:
    case Op::ListLen: return true;
    case Op::Const: return static_cast<int64_t>(d.bits) >= 0;
    case Op::Max: return std::any_of(d.args.begin(), d.args.end(), is_size);
    case Op::Min: return std::all_of(d.args.begin(), d.args.end(), is_size);
    case Op::Div: {
      const std::optional<int64_t> by = Int(d.args[1]);
      return by && *by > 0 && IsSize(d.args[0]);
    }
    case Op::AffineOf: {
      const ir::Affine& sum = AffineOf(d);
      if (IsRest(sum)) return true;
      return sum.constant >= 0 && sum.constant <= kConstant &&
             std::all_of(sum.terms.begin(), sum.terms.end(), [&](const ir::Affine::Term& t) {
               const Op op = Of(t.value).op;
               const bool is_dim = op == Op::Dim || op == Op::ListLen;
               return t.coeff > 0 && t.coeff <= kCoeff && is_dim && IsSize(t.value);
             });
    }
    default: return false;
  }
}

}  // namespace pullback::opt
