// Elementwise operations on arrays, with NumPy's broadcasting. A tree of them is computed where it
// is read, so that storing it is one statement.
#include <algorithm>

#include "core/lang/builtins.h"
#include "core/lang/lower_array.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"

namespace pullback::lang {
namespace {

const Affine kOne = Affine::Const(1);

// How an axis of an operand follows the result's subscript.
struct Follow {
  enum { kSame, kZero, kScaled } how = kSame;
  Value scale;  // kScaled: 0 where the axis has size 1, else 1
};

// An operand and how it is read.
struct Operand {
  Leaf leaf;
  ArrayRef array;  // null: a scalar
  std::vector<Follow> axes;
};

struct Plan {
  std::vector<Affine> dims;
  std::vector<Operand> operands;
};

// The common extent of two sizes neither of which is known to be 1, and which are not known equal.
std::optional<Affine> CommonExtent(Context& c, const Affine& a, const Affine& b) {
  if (!c.IsOuter(a) || !c.IsOuter(b)) return std::nullopt;
  const auto good = [&] {
    const Value x = c.ToValue(a), y = c.ToValue(b), one = c.b.I64(1);
    const Value expands =
        c.b.Make(Op::Or, {c.b.Make(Op::Eq, {x, one}), c.b.Make(Op::Eq, {y, one})});
    return c.b.Make(Op::Or, {c.b.Make(Op::Eq, {x, y}), expands});
  };
  if (!RequireValue(c, good, ir::TrapKind::kSizeMismatch, a, b)) return std::nullopt;
  if (a.IsConst()) return a;  // b is the same or 1
  if (b.IsConst()) return b;
  AtBlock block(c);
  const Value x = c.ToValue(a), y = c.ToValue(b);
  const Value v = c.b.Make(Op::Select, {c.b.Make(Op::Eq, {x, c.b.I64(1)}), y, x});
  c.small.insert(v.id);
  c.sizes.insert(v.id);
  return Affine::Of(v);
}

std::optional<Affine> Broadcast(Context& c, const Affine& a, const Affine& b) {
  if (a == b || b == kOne) return a;
  if (a == kOne) return b;
  return CommonExtent(c, a, b);
}

Follow FollowAxis(Context& c, const Affine& dim, const Affine& result) {
  if (dim == result) return {};
  if (dim == kOne) return {Follow::kZero, {}};
  if (dim.IsConst()) return {};
  AtBlock block(c);
  const Value is_one = c.b.Make(Op::Eq, {c.ToValue(dim), c.b.I64(1)});
  return {Follow::kScaled, c.b.Make(Op::Select, {is_one, c.b.I64(0), c.b.I64(1)})};
}

std::optional<Plan> MakePlan(Context& c, const std::vector<Leaf>& operands) {
  Plan plan;
  for (const Leaf& leaf : operands) {
    const bool scalar = leaf.value.valid() && c.b.TypeOf(leaf.value).IsScalar();
    plan.operands.push_back({leaf, scalar ? nullptr : ArrayOf(c, leaf), {}});
    if (scalar) continue;
    const std::vector<Affine>& dims = plan.operands.back().array->dims;
    if (dims.size() > plan.dims.size()) {
      plan.dims.insert(plan.dims.begin(), dims.size() - plan.dims.size(), kOne);
    }
    const size_t skipped = plan.dims.size() - dims.size();
    for (size_t i = 0; i < dims.size(); ++i) {
      PB_TRY(plan.dims[skipped + i], Broadcast(c, plan.dims[skipped + i], dims[i]));
    }
  }
  for (Operand& o : plan.operands) {
    if (!o.array) continue;
    const size_t skipped = plan.dims.size() - o.array->dims.size();
    for (size_t i = 0; i < o.array->dims.size(); ++i) {
      o.axes.push_back(FollowAxis(c, o.array->dims[i], plan.dims[skipped + i]));
    }
  }
  return plan;
}

MaybeValue ReadOperand(Context& c, const Operand& o, const Subs& subs) {
  if (!o.array) return o.leaf.value;
  const size_t skipped = subs.size() - o.axes.size();
  Subs at;
  for (size_t i = 0; i < o.axes.size(); ++i) {
    const Affine& sub = subs[skipped + i];
    switch (o.axes[i].how) {
      case Follow::kSame: at.push_back(sub); break;
      case Follow::kZero: at.push_back(Affine::Const(0)); break;
      case Follow::kScaled:
        at.push_back(Affine::Of(c.b.Make(Op::Mul, {c.ToValue(sub), o.axes[i].scale})));
        break;
    }
  }
  return ReadAt(c, *o.array, at);
}

std::optional<std::vector<Value>> ReadOperands(Context& c, const Plan& plan, const Subs& subs) {
  std::vector<Value> values;
  for (const Operand& o : plan.operands) {
    PB_TRY(const Value v, ReadOperand(c, o, subs));
    values.push_back(v);
  }
  return values;
}

std::optional<std::vector<Leaf>> LowerOperands(Context& c, const Expr& e) {
  std::vector<Leaf> leaves;
  for (const ExprPtr& operand : e.operands) {
    PB_TRY(const Leaf leaf, LowerOperand(c, *operand));
    leaves.push_back(leaf);
  }
  c.SetLoc(e.ordinal);
  return leaves;
}

// --- f.(x, y)

ScalarFn UserFunction(Context& c, uint32_t callee, size_t result) {
  Context* context = &c;
  const uint32_t loc = c.b.loc();
  return [context, callee, loc, result](const std::vector<Value>& x) -> MaybeValue {
    Leaves args;
    for (Value v : x) args.push_back({v, nullptr});
    PB_TRY(const Leaves results, CallFunction(*context, callee, std::move(args), loc));
    return results[result].value;
  };
}

// Several results from one statement, in memory.
Leaves StoreResults(Context& c, const Plan& plan, uint32_t callee) {
  const uint32_t loc = c.b.loc();
  c.OpenFrame();
  Statement s;
  s.loc = loc;
  Subs subs;
  for (const Affine& d : plan.dims) subs.push_back(Affine::Of(AddIndex(c, s, d, true, "")));
  Leaves args;
  const std::vector<Value> operands = ReadOperands(c, plan, subs).value();
  for (Value v : operands) args.push_back({v, nullptr});
  const Leaves called = CallFunction(c, callee, std::move(args), loc).value();
  std::vector<Value> values;
  for (const Leaf& leaf : called) values.push_back(leaf.value);
  Leaves out;
  for (Value v : FinishStatement(c, s, values)) out.push_back({v, nullptr});
  return out;
}

// What is computed and read more than once for each of its elements is stored first.
void StoreExpanded(Context& c, Plan& plan) {
  for (Operand& o : plan.operands) {
    if (!o.array || o.array->base.valid()) continue;
    const bool expands =
        o.axes.size() < plan.dims.size() ||
        std::any_of(
            o.axes.begin(), o.axes.end(), [](const Follow& f) { return f.how != Follow::kSame; });
    if (!expands) continue;
    Store(c, o.leaf);
    o.array = ArrayOf(c, o.leaf);
  }
}

}  // namespace

std::optional<Leaf> LowerOperand(Context& c, const Expr& e) {
  PB_TRY(const Leaves leaves, Lower(c, e));
  Leaf leaf = leaves[0];
  if (leaf.array && leaf.array->inner && !c.InBody()) {
    c.SetLoc(e.ordinal);
    Store(c, leaf);
  }
  return leaf;
}

ScalarFn ScalarFunction(Context& c, const Expr& e) {
  Context* context = &c;
  const uint32_t loc = c.b.loc();
  const auto at = [context, loc](auto make) {
    return [context, loc, make](const std::vector<Value>& x) -> MaybeValue {
      context->b.SetLoc(loc);
      return make(*context, x);
    };
  };
  using Operands = const std::vector<Value>&;
  switch (e.kind) {
    case Expr::Kind::kUnary:
      return at([op = e.unary](Context& k, Operands x) { return UnaryScalar(k, op, x[0]); });
    case Expr::Kind::kBinary:
      return at([op = e.binary](Context& k, Operands x) { return Arithmetic(k, op, x[0], x[1]); });
    case Expr::Kind::kCast:
      return at([to = e.elem](Context& k, Operands x) {
        return k.b.TypeOf(x[0]).elem == to ? x[0] : k.b.Cast(x[0], to);
      });
    default: break;
  }
  const Op op =
      static_cast<Builtin>(e.builtin) == Builtin::Select ? Op::Select : ScalarOp(e.builtin);
  return at([op](Context& k, Operands x) { return k.b.Make(op, x); });
}

std::optional<ArrayRef> MapElements(Context& c, DType elem, const std::vector<Leaf>& operands,
                                    ScalarFn fn) {
  PB_TRY(Plan plan, MakePlan(c, operands));
  if (!c.InBody()) StoreExpanded(c, plan);
  auto out = std::make_shared<Array>();
  out->elem = elem;
  out->dims = plan.dims;
  out->made_within = c.CountIndices();
  out->dear = std::any_of(operands.begin(), operands.end(),
                          [](const Leaf& leaf) { return leaf.array && IsDear(*leaf.array); });
  Context* context = &c;
  out->at = [context, plan, fn = std::move(fn)](const Subs& subs) -> MaybeValue {
    PB_TRY(const std::vector<Value> values, ReadOperands(*context, plan, subs));
    return fn(values);
  };
  return out;
}

std::optional<ArrayRef> LowerElementwise(Context& c, const Expr& e) {
  if (IsChain(e)) return LowerArrayChain(c, e);
  PB_TRY(const std::vector<Leaf> operands, LowerOperands(c, e));
  PB_TRY(const ArrayRef array, MapElements(c, e.type.elem, operands, ScalarFunction(c, e)));
  if (e.kind != Expr::Kind::kBinary || e.binary != BinaryOp::kDiv) return array;
  auto quotient = std::make_shared<Array>(*array);
  quotient->dear = true;
  return quotient;
}

std::optional<Leaves> LowerBroadcastCall(Context& c, const Expr& e) {
  PB_TRY(const std::vector<Leaf> operands, LowerOperands(c, e));
  const bool tuple = e.type.kind == Type::Kind::kTuple;
  const Type& first = tuple ? e.type.elements[0] : e.type;
  if (first.kind == Type::Kind::kScalar) {
    std::vector<Value> values;
    for (const Leaf& leaf : operands) values.push_back(leaf.value);
    if (e.builtin < 0) return CallFunction(c, e.callee, Leaves(operands), c.b.loc());
    PB_TRY(const Value v, ScalarFunction(c, e)(values));
    return Leaves{{v, nullptr}};
  }
  if (tuple && !c.InBody()) {
    PB_TRY(Plan plan, MakePlan(c, operands));
    StoreExpanded(c, plan);
    return StoreResults(c, plan, e.callee);
  }
  Leaves out;
  const std::vector<ir::Type> types = c.module.Flatten(e.type);
  for (size_t i = 0; i < types.size(); ++i) {
    ScalarFn fn = e.builtin < 0 ? UserFunction(c, e.callee, i) : ScalarFunction(c, e);
    PB_TRY(const ArrayRef array, MapElements(c, types[i].elem, operands, std::move(fn)));
    auto called = std::make_shared<Array>(*array);
    called->dear = true;
    out.push_back(LeafOf(c, called));
  }
  return out;
}

}  // namespace pullback::lang
