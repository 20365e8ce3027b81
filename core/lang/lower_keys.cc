// Arguments of relations that are read from data or computed from indices: r(k[i], j), r(2 * i, j), r(i + l, j).
// Such a key becomes an index that the statement reads, as if another relation had told it.
#include "core/lang/lower_keys.h"

#include <algorithm>

#include "core/lang/builtins.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_tuples.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

using ir::Inst;

bool IsInside(const Context& c, const Affine& sub, const Affine& extent) {
  return IsNonNegative(c, Least(c, sub)) &&
         IsNonNegative(c, Least(c, extent - sub - Affine::Const(1)));
}

bool IsQuotient(const Expr& e) {
  return e.kind == Expr::Kind::kBinary &&
         (e.binary == BinaryOp::kDiv || e.binary == BinaryOp::kRem);
}

bool IsKeyOp(BinaryOp op) {
  return op == BinaryOp::kAdd || op == BinaryOp::kSub || op == BinaryOp::kMul ||
         op == BinaryOp::kDiv || op == BinaryOp::kRem;
}

bool IsMinOrMax(const Expr& e) {
  return e.builtin == static_cast<int>(Builtin::Min) || e.builtin == static_cast<int>(Builtin::Max);
}

// A predicate that may be evaluated once more: comparisons of such values.
bool IsPlainCondition(Context& c, const Expr& e) {
  if (IsLiteral(e)) return true;
  const bool logic = (e.kind == Expr::Kind::kUnary && e.unary == UnaryOp::kNot) ||
                     (e.kind == Expr::Kind::kBinary && e.binary >= BinaryOp::kEq);
  if (!logic) return LooksLikeKey(c, e);
  return std::all_of(e.operands.begin(), e.operands.end(),
                     [&](const ExprPtr& part) { return IsPlainCondition(c, *part); });
}

// What holds at every point of the frames' boxes that is reached: of the indices that are not restricted, that
// there are any. nullopt: a frame runs over tuples.
std::optional<std::vector<Constraint>> Reached(const Context& c) {
  std::vector<Constraint> reached;
  for (const auto& frame : c.frames) {
    const bool box = std::all_of(frame->bound.begin(), frame->bound.end(),
                                 [&](const auto& i) { return frame->keys.count(i.var.id) != 0; });
    if (!box) return std::nullopt;
    reached.insert(reached.end(), frame->where.begin(), frame->where.end());
    for (const ir::IndexVar& i : frame->indices) {
      const Affine some = c.AffineFor(i.extent) - Affine::Const(1);
      if (!IsNonNegative(c, some)) reached.push_back({some, false});
    }
  }
  return reached;
}

// The key where it may trap: only where the program evaluates it, as far as the indices that it is made from
// tell that.
std::optional<KeyChain> TrappingChain(Context& c, const Expr& e,
                                      const std::vector<const Expr*>& before) {
  const auto reached = Reached(c);
  const bool plain = std::all_of(before.begin(), before.end(),
                                 [&](const Expr* p) { return IsPlainCondition(c, *p); });
  if (!reached || !plain) return std::nullopt;
  Guard outer = c.guard;
  bool good = true;
  for (const Expr* p : before) good = good && AddGuard(c, *p);
  MaybeValue v;
  if (good && c.guard.any) {
    GuardValue(c);
    GuardedRegion region(c, outer);
    v = LowerScalar(c, e);
  } else if (good) {
    v = LowerScalar(c, e);
  }
  c.guard = outer;
  if (!v) return std::nullopt;
  ApplyGuards(c);
  PB_TRY(KeyChain chain, ChainOf(c, *v, /*guarded=*/true));
  TrapOnlyWhere(c, chain, *reached);
  return chain;
}

std::optional<KeyChain> LowerKeyChain(Context& c, const Expr& e,
                                      const std::vector<const Expr*>& before) {
  if (!LooksLikeKey(c, e)) return std::nullopt;
  std::vector<Inst>& body = c.frame().body;
  const size_t size = body.size();
  PB_TRY(const Value v, LowerScalar(c, e));
  std::optional<KeyChain> chain = ChainOf(c, v, /*guarded=*/false);
  if (chain && MayTrap(c, *chain)) {
    body.resize(size);
    chain = TrappingChain(c, e, before);
  } else if (chain && IsBeyond(c, *chain)) {
    KeepInside(c, *chain);
  }
  body.resize(size);
  return chain && !chain->insts.empty() ? chain : std::nullopt;
}

// The innermost frame that has an index, or what stands for one, from which the chain is made; and one of those.
// None: it is made of values of blocks. False: of something else, too.
bool FindFrame(Context& c, const KeyChain& chain, Frame*& frame, ir::IndexVar& source) {
  std::unordered_set<uint32_t> inside, outside;
  for (const Inst& inst : chain.insts) {
    for (Value v : inst.results) inside.insert(v.id);
    ir::ForEachOperand(inst, [&](Value v) {
      if (inside.count(v.id) == 0 && c.OwnerOf(v) != 0) outside.insert(v.id);
    });
  }
  frame = nullptr;
  for (const auto& f : c.frames) {
    for (const auto* list : {&f->indices, &f->bound}) {
      for (const ir::IndexVar& i : *list) {
        if (outside.erase(i.var.id) == 0) continue;
        frame = f.get();
        source = i;
      }
    }
  }
  return outside.empty();
}

Key BlockKey(Context& c, KeyChain chain) {
  const bool guarded = std::any_of(chain.insts.begin(), chain.insts.end(),
                                   [](const Inst& i) { return i.guard.valid(); });
  if (guarded) return Key{Affine::Of(AtOnePoint(c, chain.insts, {chain.value})[0]), {}};
  AtBlock block(c);
  for (Inst& inst : chain.insts) c.b.Append(std::move(inst));
  return Key{Affine::Of(chain.value), {}};
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
      return IsKeyOp(e.binary) && std::all_of(e.operands.begin(), e.operands.end(), all);
    case Expr::Kind::kCall:
      return IsMinOrMax(e) && std::all_of(e.operands.begin(), e.operands.end(), all);
    case Expr::Kind::kIndex: {
      const Expr& array = *e.operands[0];
      if (array.kind != Expr::Kind::kName || array.type.kind != Type::Kind::kArray) return false;
      const Leaves& leaves = c.at->locals[array.local];
      return !leaves.empty() && leaves[0].value.valid() && c.OwnerOf(leaves[0].value) == 0 &&
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
    const bool traps = (part.kind == Expr::Kind::kIndex && !IsInside(c, part)) ||
                       (IsQuotient(part) && (part.operands[1]->kind != Expr::Kind::kInt ||
                                             part.operands[1]->int_value == 0));
    inside = inside && !traps;
  });
  return inside;
}

std::optional<Key> BindKey(Context& c, const Expr& e, const std::vector<const Expr*>& before) {
  PB_TRY(KeyChain chain, LowerKeyChain(c, e, before));
  Frame* frame = nullptr;
  ir::IndexVar source;
  if (!FindFrame(c, chain, frame, source)) return std::nullopt;
  Rename(c, chain);
  if (!frame) return BlockKey(c, std::move(chain));
  std::move(chain.insts.begin(), chain.insts.end(), std::back_inserter(frame->reads));
  frame->bound.push_back({chain.value, source.extent});
  frame->keys.insert(chain.value.id);
  Key key{Affine::Of(chain.value), {}};
  for (const ir::IndexVar& i : SourcesOf(c, chain.value)) key.sources.push_back(i.var);
  return key.sources.empty() ? std::nullopt : std::optional<Key>(std::move(key));
}

}  // namespace pullback::lang
