// Constant folding and identities that hold for every IEEE value (x + 0.0 is not one of them: -0.0).
#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "core/opt/rename.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

class Folder {
 public:
  explicit Folder(ir::Function& f) : f_(f), renaming_(f) { def_.resize(f.values.size()); }

  bool Run() {
    for (ir::Block& b : f_.blocks) {
      for (Inst& inst : b.insts) Visit(inst);
    }
    // Uses in blocks that come before in the list (loops) see the renaming only now.
    renaming_.Apply(f_);
    return changed_ || renaming_.any();
  }

 private:
  // What an earlier instruction says of a value; taken by copy since lists move.
  struct Def {
    Op op = Op::Check;
    bool known = false;
    uint64_t bits = 0;
    std::vector<Value> args;
    Affine affine;
    Value guard;
  };

  void Visit(Inst& inst) {
    renaming_.Apply(inst);
    guard_ = inst.guard;
    if (inst.each) {
      ExpandAffines(*inst.each);
      for (Inst& body : inst.each->body) Visit(body);
      for (ir::EachResult& r : inst.each->results) DropTrueGuard(r.guard);
      FoldCopies(inst);
    }
    DropTrueGuard(inst.guard);
    guard_ = inst.guard;
    for (Affine& a : inst.subs) Expand(a, inst.guard);
    for (ir::Constraint& c : inst.constraints) Expand(c.e, inst.guard);
    if (inst.results.size() == 1 && f_.TypeOf(inst.results[0]).IsScalar()) Fold(inst);
    Record(inst);
    RecordExtents(inst);
  }

  void DropTrueGuard(Value& guard) {
    if (!guard.valid()) return;
    const Value v = renaming_.Get(guard);
    const Def& d = def_[v.id];
    if (!d.known || d.op != Op::Const || d.bits == 0 || d.guard.valid()) return;
    guard = ir::kNoValue;
    changed_ = true;
  }

  // The extents of arrays that an instruction makes are known without looking at them.
  void RecordExtents(const Inst& inst) {
    if (inst.each) {
      for (size_t k = 0; k < inst.results.size(); ++k)
        extents_[inst.results[k]] = inst.each->results[k].shape;
    } else if (inst.op == Op::Zeros) {
      extents_[inst.results[0]] = inst.args;
    } else if (inst.op == Op::Update || inst.op == Op::AddAt || inst.op == Op::AddArrays) {
      const auto it = extents_.find(inst.args[0]);
      if (it != extents_.end()) extents_[inst.results[0]] = it->second;
    }
  }
  void FoldDim(Inst& inst) {
    const auto it = extents_.find(inst.args[0]);
    if (it != extents_.end() && !inst.guard.valid()) Replace(inst, it->second[inst.bits]);
  }

  // A result that is every element of some array at its own place is that array.
  void FoldCopies(const Inst& inst) {
    const ir::Each& each = *inst.each;
    if (!each.where.empty()) return;
    for (size_t k = 0; k < inst.results.size(); ++k) {
      const ir::EachResult& r = each.results[k];
      if (r.monoid != ir::Monoid::kGen || r.guard.valid() || !IsPrefixForm(each, r)) continue;
      const auto read = std::find_if(each.body.begin(), each.body.end(), [&](const Inst& body) {
        return body.op == Op::Index && body.results[0] == r.value;
      });
      if (read == each.body.end() || read->guard.valid() || read->subs != r.out) continue;
      if (r.out.size() == each.indices.size() && HasExtents(read->args[0], r.shape, each))
        renaming_.Set(inst.results[k], read->args[0]);
    }
  }
  bool HasExtents(Value array, const std::vector<Value>& shape, const ir::Each& each) const {
    const auto known = extents_.find(array);
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const Def& d = def_[shape[axis].id];
      const bool is_dim = d.known && d.op == Op::Dim && d.args[0] == array && d.bits == axis;
      const bool is_extent = known != extents_.end() && known->second[axis] == shape[axis];
      if ((!is_dim && !is_extent) || each.indices[axis].extent != shape[axis]) return false;
    }
    return true;
  }

  void ExpandAffines(ir::Each& each) {
    for (ir::Constraint& c : each.where) Expand(c.e, ir::kNoValue);
    // Bodies are recorded while they are visited; out subscripts speak of indices and outer values.
    for (ir::EachResult& r : each.results) {
      for (Affine& a : r.out) Expand(a, ir::kNoValue);
    }
  }

  void Record(const Inst& inst) {
    if (inst.results.size() != 1) return;
    Def& d = def_[inst.results[0].id];
    d.op = inst.op;
    d.known = true;
    d.bits = inst.bits;
    d.args = inst.args;
    d.guard = inst.guard;
    if (inst.op == Op::AffineOf) d.affine = inst.subs[0];
  }

  // Replaces terms whose definition is itself affine. A guarded definition stays: it is 0 elsewhere.
  void Expand(Affine& a, Value guard) {
    for (bool again = true; again;) {
      again = false;
      for (const Affine::Term& t : a.terms) {
        const Def& d = def_[t.value.id];
        if (!d.known || (d.guard.valid() && d.guard != guard)) continue;
        const std::optional<Affine> e = AsAffine(d);
        if (!e) continue;
        a = a.Substitute(t.value, *e);
        again = changed_ = true;
        break;
      }
    }
  }

  std::optional<Affine> AsAffine(const Def& d) const {
    switch (d.op) {
      case Op::Const: return Affine::Const(static_cast<int64_t>(d.bits));
      case Op::AffineOf: return d.affine;
      case Op::Add: return Affine::Of(d.args[0]) + Affine::Of(d.args[1]);
      case Op::Sub: return Affine::Of(d.args[0]) - Affine::Of(d.args[1]);
      case Op::Neg: return Affine::Of(d.args[0]) * -1;
      case Op::Mul:
        if (auto k = Int(d.args[1])) return Affine::Of(d.args[0]) * *k;
        if (auto k = Int(d.args[0])) return Affine::Of(d.args[1]) * *k;
        return std::nullopt;
      default: return std::nullopt;
    }
  }

  // What v's definition says holds where the visited instruction is evaluated: a guarded value is 0
  // where its guard is false.
  bool HoldsHere(const Def& d) const { return d.known && (!d.guard.valid() || d.guard == guard_); }
  bool IsConst(Value v) const { return def_[v.id].op == Op::Const && HoldsHere(def_[v.id]); }
  uint64_t Bits(Value v) const { return def_[v.id].bits; }
  std::optional<int64_t> Int(Value v) const {
    if (!IsConst(v)) return std::nullopt;
    return static_cast<int64_t>(Bits(v));
  }
  double AsDouble(Value v) const {
    return f_.TypeOf(v).elem == DType::kF32
               ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(Bits(v))))
               : std::bit_cast<double>(Bits(v));
  }
  bool IsFloatConst(Value v, double x) const {
    return IsConst(v) && f_.TypeOf(v).IsFloat() &&
           std::bit_cast<uint64_t>(AsDouble(v)) == std::bit_cast<uint64_t>(x);
  }
  bool IsIntConst(Value v, int64_t x) const {
    return IsConst(v) && f_.TypeOf(v) == ir::Type::I64() && static_cast<int64_t>(Bits(v)) == x;
  }

  void SetConst(Inst& inst, uint64_t bits) {
    inst.op = Op::Const;
    inst.args.clear();
    inst.subs.clear();
    inst.constraints.clear();
    inst.bits = bits;
    inst.loc = 0;
    changed_ = true;
  }
  void SetFloat(Inst& inst, double v) {
    const bool f32 = f_.TypeOf(inst.results[0]).elem == DType::kF32;
    SetConst(inst,
             f32 ? std::bit_cast<uint32_t>(static_cast<float>(v)) : std::bit_cast<uint64_t>(v));
  }
  // inst's value is v (where inst is guarded, v must be 0 outside the guard as well).
  void Replace(const Inst& inst, Value v) {
    if (inst.guard.valid() && !(def_[v.id].known && def_[v.id].guard == inst.guard)) return;
    renaming_.Set(inst.results[0], v);
  }

  void Fold(Inst& inst) {
    const ir::Type t = f_.TypeOf(inst.results[0]);
    if (inst.op == Op::Dim) return FoldDim(inst);
    if (inst.op == Op::AffineOf) return FoldAffine(inst);
    if (inst.op == Op::Holds) return FoldHolds(inst);
    if (inst.op == Op::Cast) return FoldCast(inst, t);
    if (inst.op == Op::Select) return FoldSelect(inst);
    if (t == ir::Type::Bool()) return FoldBool(inst);
    if (t == ir::Type::I64()) return FoldInt(inst);
    if (t.IsFloat()) FoldFloat(inst);
  }

  void FoldAffine(Inst& inst) {
    if (inst.subs[0].IsConst()) return SetConst(inst, static_cast<uint64_t>(inst.subs[0].constant));
    if (const Value v = inst.subs[0].AsValue(); v.valid()) Replace(inst, v);
  }

  void FoldHolds(Inst& inst) {
    std::vector<ir::Constraint> open;
    for (const ir::Constraint& c : inst.constraints) {
      if (!c.e.IsConst()) {
        open.push_back(c);
      } else if (c.equality ? c.e.constant != 0 : c.e.constant < 0) {
        return SetConst(inst, 0);
      }
    }
    if (open.empty()) return SetConst(inst, 1);
    if (open.size() != inst.constraints.size()) changed_ = true;
    inst.constraints = std::move(open);
  }

  void FoldCast(Inst& inst, ir::Type to) {
    const ir::Type from = f_.TypeOf(inst.args[0]);
    if (from == to) return Replace(inst, inst.args[0]);
    if (!IsConst(inst.args[0]) || !to.IsFloat()) return;
    if (from == ir::Type::I64() && to.elem == DType::kF64)
      return SetFloat(inst, static_cast<double>(*Int(inst.args[0])));
    if (from.IsFloat()) SetFloat(inst, AsDouble(inst.args[0]));
  }

  void FoldSelect(Inst& inst) {
    if (inst.args[1] == inst.args[2]) return Replace(inst, inst.args[1]);
    if (IsConst(inst.args[0])) Replace(inst, Bits(inst.args[0]) ? inst.args[1] : inst.args[2]);
  }

  void FoldBool(Inst& inst) {
    if (inst.op == Op::And || inst.op == Op::Or) {
      for (int k = 0; k < 2; ++k) {
        if (!IsConst(inst.args[k])) continue;
        const bool absorbs = (Bits(inst.args[k]) != 0) == (inst.op == Op::Or);
        return Replace(inst, absorbs ? inst.args[k] : inst.args[1 - k]);
      }
      return;
    }
    if (inst.op == Op::Not && IsConst(inst.args[0])) return SetConst(inst, Bits(inst.args[0]) ^ 1);
    if (inst.args.size() != 2) return;
    if (inst.args[0] == inst.args[1] && !f_.TypeOf(inst.args[0]).IsFloat()) {
      if (inst.op == Op::Eq || inst.op == Op::Le || inst.op == Op::Ge) return SetConst(inst, 1);
      if (inst.op == Op::Ne || inst.op == Op::Lt || inst.op == Op::Gt) return SetConst(inst, 0);
    }
    if (!IsConst(inst.args[0]) || !IsConst(inst.args[1])) return;
    if (f_.TypeOf(inst.args[0]).IsFloat()) {
      FoldCompare(inst, AsDouble(inst.args[0]), AsDouble(inst.args[1]));
    } else {
      FoldCompare(inst, *Int(inst.args[0]), *Int(inst.args[1]));
    }
  }

  template <typename T>
  void FoldCompare(Inst& inst, T a, T b) {
    switch (inst.op) {
      case Op::Eq: return SetConst(inst, a == b);
      case Op::Ne: return SetConst(inst, a != b);
      case Op::Lt: return SetConst(inst, a < b);
      case Op::Le: return SetConst(inst, a <= b);
      case Op::Gt: return SetConst(inst, a > b);
      case Op::Ge: return SetConst(inst, a >= b);
      default: return;
    }
  }

  void FoldInt(Inst& inst) {
    if (inst.args.size() != 2) return;
    const Value a = inst.args[0], b = inst.args[1];
    if (IsConst(a) && IsConst(b)) {
      const uint64_t x = Bits(a), y = Bits(b);
      if (inst.op == Op::Add) return SetConst(inst, x + y);
      if (inst.op == Op::Sub) return SetConst(inst, x - y);
      if (inst.op == Op::Mul) return SetConst(inst, x * y);
      return;
    }
    if (inst.op == Op::Add && IsIntConst(b, 0)) return Replace(inst, a);
    if (inst.op == Op::Add && IsIntConst(a, 0)) return Replace(inst, b);
    if (inst.op == Op::Sub && IsIntConst(b, 0)) return Replace(inst, a);
    if (inst.op == Op::Sub && a == b) return SetConst(inst, 0);
    if (inst.op == Op::Mul && IsIntConst(b, 1)) return Replace(inst, a);
    if (inst.op == Op::Mul && IsIntConst(a, 1)) return Replace(inst, b);
    if (inst.op == Op::Mul && (IsIntConst(a, 0) || IsIntConst(b, 0))) return SetConst(inst, 0);
  }

  void FoldFloat(Inst& inst) {
    if (inst.op == Op::Neg) {
      if (IsConst(inst.args[0])) return SetFloat(inst, -AsDouble(inst.args[0]));
      const Def& d = def_[inst.args[0].id];
      if (d.op == Op::Neg && HoldsHere(d)) return Replace(inst, d.args[0]);
      return;
    }
    if (inst.args.size() != 2) return;
    const Value a = inst.args[0], b = inst.args[1];
    // Double arithmetic rounded once more to f32 is exact for + - * /: 53 >= 2*24 + 2 bits.
    if (IsConst(a) && IsConst(b)) {
      const double x = AsDouble(a), y = AsDouble(b);
      if (inst.op == Op::Add) return SetFloat(inst, x + y);
      if (inst.op == Op::Sub) return SetFloat(inst, x - y);
      if (inst.op == Op::Mul) return SetFloat(inst, x * y);
      if (inst.op == Op::Div) return SetFloat(inst, x / y);
      if (inst.op == Op::SMul) return SetFloat(inst, x == 0 ? 0 : x * y);
    }
    if (inst.op == Op::Mul || inst.op == Op::SMul) {
      if (IsFloatConst(b, 1.0)) return Replace(inst, a);
      if (IsFloatConst(a, 1.0)) return Replace(inst, b);
    }
    if (inst.op == Op::Pow) return FoldPower(inst, a, b);
    if (inst.op == Op::SMul && (IsFloatConst(a, 0.0) || IsFloatConst(a, -0.0)))
      return SetFloat(inst, 0);
    if (inst.op == Op::Div && IsFloatConst(b, 1.0)) return Replace(inst, a);
    if (inst.op == Op::Sub && IsFloatConst(b, 0.0)) return Replace(inst, a);
    if (inst.op == Op::Add && IsFloatConst(b, -0.0)) return Replace(inst, a);
  }

  // Exact, or as exact as a power can be: x * x is rounded once.
  void FoldPower(Inst& inst, Value base, Value exponent) {
    if (IsFloatConst(exponent, 0.0)) return SetFloat(inst, 1.0);
    if (IsFloatConst(exponent, 1.0)) return Replace(inst, base);
    if (!IsFloatConst(exponent, 2.0)) return;
    inst.op = Op::Mul;
    inst.args = {base, base};
    changed_ = true;
  }

  ir::Function& f_;
  Renaming renaming_;
  std::vector<Def> def_;
  Value guard_;  // of the visited instruction
  std::map<Value, std::vector<Value>> extents_;
  bool changed_ = false;
};

}  // namespace

bool FoldConstants(ir::Function& f) { return Folder(f).Run(); }

}  // namespace pullback::opt
