// gen inside a body: an array that is computed where it is read; and the sizes of what a body
// gives, without running it.
#include <algorithm>
#include <utility>

#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_stmt.h"
#include "core/lang/lower_trial.h"
#include "core/lang/lower_walk.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

// Lets as far as sizes go: what cannot be said in a body, or is assigned later, is unknown.
bool DeclareLets(Context& c, const Block& block) {
  for (const StmtPtr& s : block.stmts) {
    if (s->kind != Stmt::Kind::kLet && s->kind != Stmt::Kind::kVar) continue;
    std::optional<Leaves> value = Lower(c, *s->value);
    size_t next = 0;
    for (const Target& t : s->targets) {
      Leaves& leaves = c.at->locals[t.local];
      leaves.clear();
      const bool changes = s->kind == Stmt::Kind::kVar && !OnlyElementsAssigned(block, t.local);
      for (const ir::Type& type : c.module.Flatten(c.at->function->locals[t.local].type)) {
        const bool known = value && !changes && type.IsArray();
        leaves.push_back(known ? (*value)[next] : Unknown(c, type));
        if (s->kind == Stmt::Kind::kLet && value) leaves.back() = (*value)[next];
        ++next;
      }
    }
  }
  return true;
}

bool BindSubscripts(Context& c, const Expr& e, ir::AffineSpan lows, const Subs& subs) {
  for (size_t i = 0; i < e.binders.size(); ++i) {
    c.at->locals[e.binders[i].local] = {{c.ToValue(lows[i] + subs[i]), nullptr}};
  }
  return c.dims_only ? DeclareLets(c, e.body) : LowerLets(c, e.body);
}

// The leaf of a value, without the others where they stand beside it in the text.
std::optional<Leaf> LowerLeaf(Context& c, const Expr& e, size_t leaf) {
  size_t first = 0;
  for (const ExprPtr& part : e.operands) {
    if (e.kind != Expr::Kind::kTuple && e.kind != Expr::Kind::kConstruct) break;
    const size_t count = FlatCount(part->type);
    const bool here = leaf < first + count;
    // An array in a struct has sizes to check.
    const bool checked = e.kind == Expr::Kind::kConstruct && part->type.kind != Type::Kind::kScalar;
    if (here && !checked) return LowerLeaf(c, *part, leaf - first);
    if (here) break;
    first += count;
  }
  PB_TRY(const Leaves leaves, Lower(c, e));
  return leaves[leaf];
}

MaybeValue ReadGen(Context& c, const Expr& e, ir::AffineSpan lows, const Subs& subs, size_t leaf) {
  if (!BindSubscripts(c, e, lows, subs)) return std::nullopt;
  const Expr& result = *e.body.result;
  if (result.type.kind == Type::Kind::kScalar) return LowerScalar(c, result);
  const auto begin = subs.begin() + static_cast<std::ptrdiff_t>(e.binders.size());
  const Subs rest(begin, subs.end());
  if (!IsComposite(result.type)) {
    PB_TRY(const ArrayRef inner, LowerArray(c, result));
    return ReadAt(c, *inner, rest);
  }
  PB_TRY(const Leaf inner, LowerLeaf(c, result, leaf));
  if (rest.empty()) return inner.value;
  return ReadAt(c, *ArrayOf(c, inner), rest);
}

// What ends the run or has no elements where it is negative (MayBeNegative).
std::optional<Affine> GenExtent(Context& c, const Affine& extent) {
  if (IsNeverNegative(c, extent)) return extent;
  if (!c.IsOuter(extent)) return c.dims_only ? std::optional(extent) : std::nullopt;
  if (c.guard.any || c.MayBeNegative(extent)) return NotNegative(c, extent);
  if (Require(c, {extent, false}, ir::TrapKind::kNegativeSize, extent, extent)) return extent;
  return std::nullopt;
}

// The ranges' starts and extents.
struct Box {
  std::vector<Affine> lows, extents;
};
std::optional<Box> BoxOf(Context& c, const Expr& e) {
  Box box;
  for (const Binder& b : e.binders) {
    PB_TRY(const Range r, RangeInBody(c, b));
    c.SetLoc(e.ordinal);
    PB_TRY(const Affine extent, GenExtent(c, r.hi - r.lo));
    box.lows.push_back(r.lo);
    box.extents.push_back(extent);
  }
  return box;
}

// Reads, additions and the like.
bool IsCheap(const Block& body) {
  bool cheap = true;
  ForEachExpr(body, [&](const Expr& e) {
    switch (e.kind) {
      case Expr::Kind::kInt:
      case Expr::Kind::kFloat:
      case Expr::Kind::kBool:
      case Expr::Kind::kName:
      case Expr::Kind::kUnary:
      case Expr::Kind::kCast:
      case Expr::Kind::kIndex:
      case Expr::Kind::kField:
      case Expr::Kind::kTuple:
      case Expr::Kind::kIverson: return;
      case Expr::Kind::kBinary:
        cheap = cheap && e.binary != BinaryOp::kPow && e.binary != BinaryOp::kMatMul;
        return;
      default: cheap = false;
    }
  });
  return cheap;
}

// An element of an array that is computed where it is read, at a place that data say: reading such an array stores it
// (lower_element.cc), so that a chain of them had better be stored one by one.
bool ReadsComputedAtData(const Context& c, const Block& body) {
  bool reads = false;
  ForEachExpr(body, [&](const Expr& e) {
    if (e.kind != Expr::Kind::kIndex || e.operands[0]->kind != Expr::Kind::kName) return;
    const uint32_t local = e.operands[0]->local;
    if (local == UINT32_MAX) return;
    const Leaves& leaves = c.at->locals[local];
    if (leaves.size() != 1 || !leaves[0].array || leaves[0].array->base.valid()) return;
    for (const Subscript& s : e.subscripts) {
      if (s.is_slice) continue;
      ForEachExpr(s.index, [&](const Expr& part) { reads |= part.kind == Expr::Kind::kIndex; });
    }
  });
  return reads;
}

ArrayRef GenLeaf(Context& c, const Expr& e, const Box& box, ir::AffineSpan inner, DType elem,
                 size_t leaf) {
  auto out = std::make_shared<Array>();
  out->elem = elem;
  out->cheap = IsCheap(e.body);
  out->dear = !out->cheap || ReadsComputedAtData(c, e.body);
  out->made_within = c.CountIndices();
  out->dims = box.extents;
  out->dims.insert(out->dims.end(), inner.begin(), inner.end());
  Context* context = &c;
  Activation* const at = c.at;
  out->at = [context, at, &e, lows = box.lows, leaf](const Subs& subs) {
    Activation* const reader = std::exchange(context->at, at);
    MaybeValue v = ReadGen(*context, e, lows, subs, leaf);
    context->at = reader;
    return v;
  };
  return out;
}

}  // namespace

Leaf Unknown(Context& c, const ir::Type& type) {
  if (!type.IsArray()) return {c.function.NewValue(type), nullptr};
  auto array = std::make_shared<Array>();
  array->elem = type.elem;
  for (int i = 0; i < type.rank; ++i) {
    array->dims.push_back(Affine::Of(c.function.NewValue(ir::Type::I64())));
  }
  Context* context = &c;
  array->at = [context, type](const Subs&) { return context->function.NewValue(type.Element()); };
  return {Value(), array};
}

std::optional<Leaves> UnknownBeforehand(Context& c, const Type& type) {
  if (!c.beforehand || !c.dims_only) return std::nullopt;
  Leaves out;
  for (const ir::Type& t : c.module.Flatten(type)) out.push_back(Unknown(c, t));
  return out;
}

std::optional<ArrayRef> GenInBody(Context& c, const Expr& e) {
  PB_TRY(const Box box, BoxOf(c, e));
  PB_TRY(const std::vector<Affine> inner, BodyDims(c, e, box.lows));
  return GenLeaf(c, e, box, inner, e.type.elem, 0);
}

std::optional<Leaves> GenStructsInBody(Context& c, const Expr& e) {
  PB_TRY(const Box box, BoxOf(c, e));
  PB_TRY(const LeafDims dims, BodyLeafDims(c, e, box.lows));
  const std::vector<ir::Type> types = c.module.Flatten(e.type);
  Leaves out;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!dims[i]) return std::nullopt;
    out.push_back({Value(), GenLeaf(c, e, box, *dims[i], types[i].elem, i)});
  }
  return out;
}

std::optional<ArrayRef> SumDims(Context& c, const Expr& e) {
  auto array = std::make_shared<Array>(*Unknown(c, c.module.Flatten(e.type)[0]).array);
  const std::vector<Affine> lows(e.binders.size(), Affine::Const(0));
  PB_TRY(array->dims, BodyDims(c, e, lows));
  return array;
}

std::optional<std::vector<Affine>> BodyDims(Context& c, const Expr& e, ir::AffineSpan lows) {
  if (e.body.result->type.kind == Type::Kind::kScalar) return std::vector<Affine>();
  PB_TRY(const LeafDims dims, BodyLeafDims(c, e, lows));
  return dims[0];
}

std::optional<LeafDims> BodyLeafDims(Context& c, const Expr& e, ir::AffineSpan lows) {
  const std::vector<ir::Type> types = c.module.Flatten(e.body.result->type);
  const bool arrays =
      std::any_of(types.begin(), types.end(), [](const ir::Type& t) { return t.IsArray(); });
  if (!arrays) return LeafDims(types.size(), std::vector<Affine>());
  SizeTrial trial(c);
  // The binders stand at an index of their own.
  Subs subs;
  for (size_t i = 0; i < e.binders.size(); ++i) {
    const Value index = c.function.NewValue(ir::Type::I64());
    c.frame().indices.push_back({index, index});
    subs.push_back(Affine::Of(index));
  }
  BindSubscripts(c, e, lows, subs);
  const std::optional<Leaves> value = Lower(c, *e.body.result);
  trial.End();
  if (!value) return std::nullopt;
  LeafDims dims;
  for (size_t i = 0; i < types.size(); ++i) {
    dims.emplace_back();
    std::vector<Affine> sizes;
    if (types[i].IsArray()) sizes = ExtentsOf(c, (*value)[i]);
    // Under a bracket a range inside may end early, so that its size is a value that was made here.
    if (trial.KnowsBefore(sizes) || (c.bracketed && trial.PutBack(sizes))) dims.back() = sizes;
  }
  return dims;
}

}  // namespace pullback::lang
