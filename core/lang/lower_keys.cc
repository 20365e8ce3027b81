// Arguments of relations that are read from data or computed from an index: r(k[i], j), r(2 * i, j). Such a
// key becomes an index that the statement reads, as if another relation had told it.
#include <algorithm>

#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_tuples.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

using ir::Inst;
using ValueSet = std::unordered_set<uint32_t>;

bool Defines(const Inst& inst, const ValueSet& values) {
  return std::any_of(inst.results.begin(), inst.results.end(),
                     [&](Value v) { return values.count(v.id) != 0; });
}

bool IsInside(const Context& c, const Affine& sub, const Affine& extent) {
  return IsNonNegative(c, Least(c, sub)) &&
         IsNonNegative(c, Least(c, extent - sub - Affine::Const(1)));
}

// What a key may be made by: it cannot trap, wherever it is evaluated.
bool IsSafe(Context& c, const Inst& inst) {
  switch (inst.op) {
    case Op::Const:
    case Op::AffineOf:
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Neg: return true;
    case Op::Index: break;
    default: return false;
  }
  const std::vector<Affine>& dims = c.DimsOf(inst.args[0]);
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (!IsInside(c, inst.subs[axis], dims[axis])) return false;
  }
  return true;
}

// The instructions of bodies that make a value, in order, and what they need besides. False: one of them may
// trap.
bool CollectChain(Context& c, Value v, std::vector<Inst>& chain, ValueSet& needed) {
  needed = {v.id};
  for (size_t f = c.frames.size(); f-- > 0;) {
    const std::vector<Inst>& body = c.frames[f]->body;
    for (size_t i = body.size(); i-- > 0;) {
      if (!Defines(body[i], needed)) continue;
      if (!IsSafe(c, body[i])) return false;
      ir::ForEachOperand(body[i], [&](Value operand) { needed.insert(operand.id); });
      chain.push_back(body[i]);
      chain.back().guard = Value();
    }
  }
  std::reverse(chain.begin(), chain.end());
  return true;
}

// Fresh names for what the chain defines; the value's.
Value RenameChain(Context& c, std::vector<Inst>& chain, Value v) {
  std::unordered_map<uint32_t, Value> renaming;
  for (Inst& inst : chain) {
    ir::ForEachOperand(inst, [&](Value& operand) {
      const auto it = renaming.find(operand.id);
      if (it != renaming.end()) operand = it->second;
    });
    ir::CanonicaliseAffines(inst);
    for (Value& result : inst.results) {
      const Value fresh = c.function.NewValue(c.b.TypeOf(result));
      renaming[result.id] = fresh;
      result = fresh;
    }
  }
  return renaming.at(v.id);
}

// The one index that the key is made from, and the frame that runs over it. False: another index that is read,
// or a second one.
bool FindSource(Context& c, const ValueSet& needed, const std::vector<Inst>& chain,
                std::pair<Frame*, ir::IndexVar>& source) {
  ValueSet inside;
  for (const Inst& inst : chain) {
    for (Value v : inst.results) inside.insert(v.id);
  }
  source.first = nullptr;
  for (uint32_t id : needed) {
    if (inside.count(id) != 0 || c.OwnerOf(Value{id}) == 0) continue;
    bool found = false;
    for (const auto& frame : c.frames) {
      for (const ir::IndexVar& i : frame->indices) {
        if (i.var.id != id) continue;
        if (source.first) return false;
        source = {frame.get(), i};
        found = true;
      }
    }
    if (!found) return false;
  }
  return true;
}

}  // namespace

bool IsInside(const Context& c, const Expr& e) {
  const Leaf& x = c.at->locals[e.operands[0]->local][0];
  if (!x.value.valid()) return false;
  const std::vector<Affine>& dims = c.dims.at(x.value.id);
  for (size_t i = 0; i < dims.size(); ++i) {
    const std::optional<Affine> sub = AffineAsIs(c, *e.subscripts[i].index);
    if (!sub || !IsInside(c, *sub, dims[i])) return false;
  }
  return true;
}

bool LooksLikeKey(Context& c, const Expr& e) {
  if (e.type.kind != Type::Kind::kScalar || c.replaced.count(&e) != 0) return false;
  const auto all = [&](const ExprPtr& part) { return LooksLikeKey(c, *part); };
  switch (e.kind) {
    case Expr::Kind::kInt:
    case Expr::Kind::kName: return true;
    case Expr::Kind::kUnary: return e.unary == UnaryOp::kNeg && all(e.operands[0]);
    case Expr::Kind::kBinary:
      return (e.binary == BinaryOp::kAdd || e.binary == BinaryOp::kSub ||
              e.binary == BinaryOp::kMul) &&
             std::all_of(e.operands.begin(), e.operands.end(), all);
    case Expr::Kind::kIndex: {
      const Expr& array = *e.operands[0];
      if (array.kind != Expr::Kind::kName || array.type.kind != Type::Kind::kArray) return false;
      const Leaf& leaf = c.at->locals[array.local][0];
      return leaf.value.valid() && c.OwnerOf(leaf.value) == 0 &&
             std::all_of(e.subscripts.begin(), e.subscripts.end(),
                         [&](const Subscript& s) { return s.index && all(s.index); });
    }
    default: return false;
  }
}

bool IsKey(Context& c, const Expr& e) {
  if (!LooksLikeKey(c, e)) return false;
  bool inside = true;
  ForEachExpr(e, [&](const Expr& part) {
    inside = inside && (part.kind != Expr::Kind::kIndex || IsInside(c, part));
  });
  return inside;
}

std::optional<Key> BindKey(Context& c, const Expr& e) {
  if (!IsKey(c, e)) return std::nullopt;
  std::vector<Inst>& body = c.frame().body;
  const size_t before = body.size();
  PB_TRY(const Value v, LowerScalar(c, e));
  std::vector<Inst> chain;
  ValueSet needed;
  std::pair<Frame*, ir::IndexVar> source;
  const bool good = CollectChain(c, v, chain, needed) && FindSource(c, needed, chain, source);
  body.resize(before);
  if (!good || chain.empty()) return std::nullopt;
  const Value key = RenameChain(c, chain, v);
  if (!source.first) {
    AtBlock block(c);
    for (Inst& inst : chain) c.b.Append(std::move(inst));
    return Key{Affine::Of(key), Value()};
  }
  std::vector<Inst>& reads = source.first->reads;
  std::move(chain.begin(), chain.end(), std::back_inserter(reads));
  source.first->bound.push_back({key, source.second.extent});
  return Key{Affine::Of(key), source.second.var};
}

}  // namespace pullback::lang
