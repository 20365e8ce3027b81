#include "core/lang/lower_sizes.h"

#include <algorithm>

#include "core/lang/lower_array.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"

namespace pullback::lang {
namespace {

// --- headers

// The parameters' leaves, in order.
Leaves ParamLeaves(const Context& c) {
  Leaves leaves;
  for (const Param& p : c.at->function->params) {
    const Leaves& more = c.at->locals[p.local];
    leaves.insert(leaves.end(), more.begin(), more.end());
  }
  return leaves;
}

std::optional<Affine> Divide(const Affine& a, int64_t k) {
  if (k == 1 || k == -1) return a * k;
  Affine q = Affine::Const(a.constant / k);
  if (a.constant % k != 0) return std::nullopt;
  for (const Affine::Term& t : a.terms) {
    if (t.coeff % k != 0) return std::nullopt;
    q = q + Affine::Of(t.value) * (t.coeff / k);
  }
  return q;
}

// The size variable's value: (extent - rest) / coeff.
bool BindSize(Context& c, const SizeBinding& s, const Affine& extent) {
  Leaves& local = c.at->locals[s.local];
  local = {{c.I64(0), nullptr}};
  const std::optional<Affine> rest = LowerInt(c, *s.dim);
  if (!rest) return false;
  const Affine scaled = extent - *rest;
  std::optional<Affine> size = Divide(scaled, s.coeff);
  if (!size) {
    if (c.InBody()) return false;
    size = Affine::Of(c.b.Make(Op::Div, {c.ToValue(scaled), c.I64(s.coeff)}));
    c.small.insert(size->AsValue().id);
  }
  local[0].value = c.ToValue(*size);
  std::string& name = c.function.names[local[0].value.id];
  if (name.empty() && !c.InBody()) name = c.at->function->locals[s.local].name;
  return true;
}

bool CheckParam(Context& c, const TypeExpr& type, const Leaf& leaf) {
  if (type.dims.empty()) return true;
  std::vector<Affine> declared;
  const std::vector<Affine> extents = ExtentsOf(c, leaf);
  for (size_t axis = 0; axis < type.dims.size(); ++axis) {
    if (IsAnySize(*type.dims[axis])) {
      declared.push_back(extents[axis]);
      continue;
    }
    const std::optional<Affine> size = LowerInt(c, *type.dims[axis]);
    if (!size || !RequireEqual(c, *size, extents[axis])) return false;
    declared.push_back(*size);
  }
  if (leaf.value.valid() && !c.InBody()) c.SetDims(leaf.value, std::move(declared));
  return true;
}

// Of sizes that are looked for beforehand, a value of the block: it cannot trap.
std::optional<Affine> ProductForm(Context& c, const Affine& a, const Affine& b) {
  if (!c.beforehand || !c.dims_only || !c.IsOuter(a) || !c.IsOuter(b)) return std::nullopt;
  AtBlock block(c);
  return Affine::Of(c.Integer(Op::Mul, c.ToValue(a), c.ToValue(b)));
}

// A size of a header as a form over the locals that are known.
std::optional<Affine> SizeForm(Context& c, const Expr& e, const Extents& locals) {
  if (e.kind == Expr::Kind::kInt) return Affine::Const(e.int_value);
  if (IsAnySize(e)) return std::nullopt;
  if (e.kind == Expr::Kind::kName) return locals[e.local];
  if (e.operands.empty()) return std::nullopt;
  PB_TRY(const Affine a, SizeForm(c, *e.operands[0], locals));
  if (e.kind == Expr::Kind::kUnary) return a * -1;
  if (e.kind != Expr::Kind::kBinary) return std::nullopt;
  PB_TRY(const Affine b, SizeForm(c, *e.operands[1], locals));
  switch (e.binary) {
    case BinaryOp::kAdd: return a + b;
    case BinaryOp::kSub: return a - b;
    case BinaryOp::kMul:
      if (b.IsConst()) return a * b.constant;
      if (a.IsConst()) return b * a.constant;
      return ProductForm(c, a, b);
    default: return std::nullopt;
  }
}

// What a callee's header says of its locals, given the arguments.
Extents CalleeSizes(Context& c, const Function& callee, const Leaves& args) {
  Extents locals(callee.locals.size());
  size_t leaf = 0;
  for (const Param& p : callee.params) {
    const Type& type = callee.locals[p.local].type;
    if (type == Type::Scalar(DType::kI64)) locals[p.local] = c.AffineFor(args[leaf].value);
    leaf += FlatCount(type);
  }
  for (const SizeBinding& s : callee.size_bindings) {
    locals[s.local] = Affine::Const(0);
    const std::optional<Affine> rest = SizeForm(c, *s.dim, locals);
    locals[s.local].reset();
    if (rest) locals[s.local] = Divide(ExtentsOf(c, args[s.leaf])[s.axis] - *rest, s.coeff);
  }
  return locals;
}

// --- corners

const ir::IndexVar* FindIndex(const Context& c, Value v) {
  for (const auto& f : c.frames) {
    for (const ir::IndexVar& i : f->indices) {
      if (i.var == v) return &i;
    }
  }
  return c.FindBound(v);
}

// `a` at the corner of the frames' boxes where `e` is least.
Affine AtCorner(const Context& c, const Affine& e, const Affine& a) {
  Affine out = a;
  for (const Affine::Term& t : a.terms) {
    const ir::IndexVar* i = FindIndex(c, t.value);
    if (!i) continue;
    const bool last = e.Coeff(t.value) < 0;
    const Affine end = c.AffineFor(i->extent) - Affine::Const(1);
    out = out.Substitute(t.value, last ? end : Affine::Const(0));
  }
  return out;
}

// The extents that must be positive for the innermost body to run; nullopt when it may not run
// for other reasons.
std::optional<std::vector<Value>> ExtentsOfBody(const Context& c) {
  if (c.guard.any) return std::nullopt;
  std::vector<Value> extents;
  for (const auto& f : c.frames) {
    if (!f->where.empty()) return std::nullopt;
    for (const ir::IndexVar& i : f->indices) {
      const Affine extent = c.AffineFor(i.extent);
      if (!extent.IsConst() || extent.constant <= 0) extents.push_back(i.extent);
    }
  }
  return extents;
}

bool CheckOutside(Context& c, const std::function<Value()>& condition, ir::TrapKind kind,
                  const Affine& a, const Affine& b) {
  const std::optional<std::vector<Value>> extents = ExtentsOfBody(c);
  if (!extents) return false;
  AtBlock block(c);
  Value good = condition();
  for (Value extent : *extents) {
    good = c.b.Make(Op::Or, {good, c.b.Make(Op::Le, {extent, c.b.I64(0)})});
  }
  c.b.Check(good, kind, c.ToValue(a), c.ToValue(b));
  return true;
}

Value ConditionValue(Context& c, const Constraint& condition) {
  const Value v = c.ToValue(condition.e);
  return c.b.Make(condition.equality ? Op::Eq : Op::Ge, {v, c.b.I64(0)});
}

// e >= 0 wherever the code being written runs, since a constraint of the frames or of the guard is no more than e:
// an index over a range that depends on others has one (AddDependentIndex).
bool FollowsFromWhere(const Context& c, const Affine& e) {
  if (!IsSmall(c, e)) return false;
  const auto among = [&](const std::vector<Constraint>& constraints) {
    return std::any_of(constraints.begin(), constraints.end(), [&](const Constraint& k) {
      return !k.equality && IsSmall(c, k.e) && IsNonNegative(c, Least(c, e - k.e));
    });
  };
  return among(c.guard.constraints) ||
         std::any_of(c.frames.begin(), c.frames.end(),
                     [&](const auto& frame) { return among(frame->where); });
}

bool IsClosed(Context& c, const Affine& a) {
  return std::all_of(a.terms.begin(), a.terms.end(), [&](const Affine::Term& t) {
    return c.OwnerOf(t.value) == 0 || c.IsIndex(t.value);
  });
}

}  // namespace

bool BindSizes(Context& c) {
  const Function& f = *c.at->function;
  const Leaves leaves = ParamLeaves(c);
  c.b.SetLoc(c.at->base);
  for (const SizeBinding& s : f.size_bindings) {
    const Affine extent = ExtentsOf(c, leaves[s.leaf])[s.axis];
    if (!BindSize(c, s, extent)) return false;
  }
  std::vector<const TypeExpr*> types;
  for (const Param& p : f.params) Flatten(p.type, types);
  for (size_t i = 0; i < types.size(); ++i) {
    if (!CheckParam(c, *types[i], leaves[i])) return false;
  }
  return true;
}

bool CheckDeclared(Context& c, const TypeExpr& type, const Leaf& leaf) {
  const uint32_t loc = c.b.loc();
  for (size_t axis = 0; axis < type.dims.size(); ++axis) {
    if (IsAnySize(*type.dims[axis])) continue;
    std::optional<Affine> size = LowerInt(c, *type.dims[axis]);
    // A product of sizes that a body makes is known in front of it.
    if (size && c.InBody() && !c.IsOuter(*size)) {
      if (const std::optional<Affine> known = Hoist(c, *size)) size = known;
    }
    c.b.SetLoc(loc);
    if (!size || !RequireEqual(c, ExtentsOf(c, leaf)[axis], *size)) return false;
  }
  return true;
}

std::vector<Extents> ResultExtents(Context& c, const Function& callee, const Leaves& args) {
  if (!callee.has_result) return {};
  const Extents locals = CalleeSizes(c, callee, args);
  std::vector<const TypeExpr*> types;
  Flatten(callee.result, types);
  std::vector<Extents> out;
  for (const TypeExpr* t : types) {
    out.emplace_back();
    for (const ExprPtr& dim : t->dims) out.back().push_back(SizeForm(c, *dim, locals));
  }
  // Of a given type nothing is known.
  const std::vector<ir::Type> leaves = c.module.Flatten(callee.result_type);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].resize(leaves[i].IsArray() ? static_cast<size_t>(leaves[i].rank) : 0);
  }
  return out;
}

bool IsNonNegative(const Context& c, const Affine& a) {
  return a.constant >= 0 && std::all_of(a.terms.begin(), a.terms.end(), [&](const Affine::Term& t) {
           return t.coeff > 0 && (c.sizes.count(t.value.id) != 0 || c.IsIndex(t.value));
         });
}

bool IsSmall(const Context& c, const Affine& a) {
  constexpr int64_t kCoeff = 1 << 16, kConstant = int64_t{1} << 50;
  constexpr size_t kTerms = 8;
  return a.terms.size() <= kTerms && a.constant <= kConstant && a.constant >= -kConstant &&
         std::all_of(a.terms.begin(), a.terms.end(), [&](const Affine::Term& t) {
           const bool small = c.small.count(t.value.id) != 0 || c.IsIndex(t.value);
           return small && t.coeff <= kCoeff && t.coeff >= -kCoeff;
         });
}

Affine Least(const Context& c, const Affine& a) {
  const Affine corner = AtCorner(c, a, a);
  Affine out = corner;
  for (const Affine::Term& t : corner.terms) {
    const auto counter = c.counters.find(t.value.id);
    if (counter == c.counters.end()) continue;
    const auto& [first, last] = counter->second;
    out = out.Substitute(t.value, t.coeff < 0 ? last : first);
  }
  return out;
}

bool IsNeverNegative(const Context& c, const Affine& a) {
  return IsNonNegative(c, Least(c, a)) || FollowsFromWhere(c, a);
}

bool Require(Context& c, const Constraint& condition, ir::TrapKind kind, const Affine& a,
             const Affine& b) {
  if (c.dims_only) return true;
  if (condition.equality) {
    if (condition.e == Affine::Const(0)) return true;
    if (c.InBody() && !c.IsOuter(condition.e)) return false;
  } else if (IsNeverNegative(c, condition.e)) {
    return true;
  }
  if (!c.InBody()) {
    c.b.Check(ConditionValue(c, condition), kind, c.ToValue(a), c.ToValue(b));
    return true;
  }
  if (!IsClosed(c, condition.e) || !IsClosed(c, a) || !IsClosed(c, b)) return false;
  const Affine corner = AtCorner(c, condition.e, condition.e);
  const Affine x = AtCorner(c, condition.e, a), y = AtCorner(c, condition.e, b);
  return CheckOutside(
      c, [&] { return ConditionValue(c, {corner, condition.equality}); }, kind, x, y);
}

bool RequireEqual(Context& c, const Affine& a, const Affine& b) {
  if (a == b) return true;
  const auto equal = [&] { return c.b.Make(Op::Eq, {c.ToValue(a), c.ToValue(b)}); };
  return RequireValue(c, equal, ir::TrapKind::kSizeMismatch, a, b);
}

bool RequireInside(Context& c, const Affine& sub, const Affine& extent) {
  return Require(c, {sub, false}, ir::TrapKind::kIndex, sub, extent) &&
         Require(c, {extent - sub - Affine::Const(1), false}, ir::TrapKind::kIndex, sub, extent);
}

bool RequireValue(Context& c, const std::function<Value()>& condition, ir::TrapKind kind,
                  const Affine& a, const Affine& b) {
  if (c.dims_only) return true;
  if (!c.InBody()) {
    const Value good = condition();
    c.b.Check(good, kind, c.ToValue(a), c.ToValue(b));
    return true;
  }
  if (!c.IsOuter(a) || !c.IsOuter(b)) return false;
  return CheckOutside(c, condition, kind, a, b);
}

}  // namespace pullback::lang
