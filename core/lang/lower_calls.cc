// Calls: of the IR where it can, inlined into a body where arrays are passed to a function of lets and returns.
#include <algorithm>

#include "core/lang/builtins.h"
#include "core/lang/lower_array.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_derive.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_list.h"
#include "core/lang/lower_relation.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_stmt.h"

namespace pullback::lang {
namespace {

constexpr int kMaxInlineDepth = 16;

bool IsScalar(const Type& t) {
  bool all = IsComposite(t);
  ForEachPart(t, [&](const Type& part) { all = all && IsScalar(part); });
  return all || t.kind == Type::Kind::kScalar;
}

// The arguments' leaves, one after the other.
std::optional<Leaves> LowerArgs(Context& c, const Expr& e) {
  Leaves args;
  for (const ExprPtr& operand : e.operands) {
    PB_TRY(const Leaves more, Lower(c, *operand));
    args.insert(args.end(), more.begin(), more.end());
  }
  return args;
}

// What the caller knows of the results' sizes; the rest is read back.
void DescribeResults(Context& c, const std::vector<Value>& results,
                     const std::vector<Extents>& extents) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (!c.b.TypeOf(results[i]).IsArray()) continue;
    c.ReadDims(results[i]);
    std::vector<Affine> dims = c.DimsOf(results[i]);
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (extents[i][axis]) dims[axis] = *extents[i][axis];
    }
    c.SetDims(results[i], std::move(dims));
  }
}

Leaves EmitCall(Context& c, uint32_t callee, Leaves args, uint32_t loc) {
  const Function& f = *c.module.program.functions[callee];
  const std::vector<Extents> extents = ResultExtents(c, f, args);
  std::vector<Value> values;
  for (Leaf& arg : args) {
    c.b.SetLoc(loc);
    if (!c.InBody()) Store(c, arg);
    values.push_back(arg.value);
  }
  c.b.SetLoc(loc);
  // A callee's sizes are not negative, even where it reads nothing else of an array that nobody makes then.
  for (Value v : values) {
    if (!c.b.TypeOf(v).IsArray()) continue;
    c.b.SetLoc(c.PlaceOf(v));
    for (const Affine& d : std::vector<Affine>(c.DimsOf(v))) {
      PB_CHECK(Require(c, {d, false}, ir::TrapKind::kNegativeSize, d, d));
    }
    c.b.SetLoc(loc);
  }
  const std::vector<Value> results = c.b.Call(c.module.Declare(callee), values);
  DescribeResults(c, results, extents);
  Leaves out;
  for (Value v : results) out.push_back({v, nullptr});
  return out;
}

// Those that are dear, for what the function reads as a whole.
bool StoreArgs(Context& c, const Function& f, Leaves& args) {
  size_t next = 0;
  for (const Param& p : f.params) {
    const auto begin = args.begin() + static_cast<std::ptrdiff_t>(next);
    const size_t count = FlatCount(f.locals[p.local].type);
    Leaves own(begin, begin + static_cast<std::ptrdiff_t>(count));
    if (!StoreIfDear(c, f, p.local, own)) return false;
    std::copy(own.begin(), own.end(), begin);
    next += count;
  }
  return true;
}

std::optional<Leaves> LowerZeros(Context& c, const Expr& e) {
  std::vector<Affine> dims;
  for (const ExprPtr& operand : e.operands) {
    PB_TRY(const Affine extent, LowerInt(c, *operand));
    dims.push_back(extent);
  }
  if (c.InBody()) {
    for (const Affine& d : dims) {
      if (!Require(c, {d, false}, ir::TrapKind::kNegativeSize, d, d)) return std::nullopt;
    }
    return Leaves{LeafOf(c, ZerosArray(c, e.type.elem, std::move(dims)))};
  }
  std::vector<Value> extents;
  for (const Affine& d : dims) extents.push_back(c.ToValue(d));
  c.SetLoc(e.ordinal);
  const Value v = c.b.Zeros(e.type.elem, extents);
  c.SetMade(v, std::move(dims), c.b.loc());
  return Leaves{{v, nullptr}};
}

std::optional<Leaves> LowerSelect(Context& c, const Expr& e) {
  std::vector<Value> operands;
  for (const ExprPtr& operand : e.operands) {
    PB_TRY(const Value v, LowerScalar(c, *operand));
    operands.push_back(v);
  }
  return Leaves{{c.b.Make(Op::Select, operands), nullptr}};
}

std::optional<Leaves> LowerScalarBuiltin(Context& c, const Expr& e) {
  std::vector<Value> operands;
  for (const ExprPtr& operand : e.operands) {
    PB_TRY(const Value v, LowerScalar(c, *operand));
    operands.push_back(v);
  }
  c.SetLoc(e.ordinal);
  return Leaves{{c.b.Make(ScalarOp(e.builtin), operands), nullptr}};
}

}  // namespace

bool MayInline(const Function& f) {
  return f.vjp_rule.name.empty() && f.jvp_rule.name.empty() && ReturnsByConditions(f);
}

bool IsScalarFunction(const Function& f) {
  return f.has_result && IsScalar(f.result_type) &&
         std::all_of(f.params.begin(), f.params.end(),
                     [&](const Param& p) { return IsScalar(f.locals[p.local].type); });
}

std::optional<Leaves> InActivation(Context& c, uint32_t callee, const Leaves& args,
                                   const std::function<std::optional<Leaves>()>& lower) {
  const Function& f = *c.module.program.functions[callee];
  // Arrays computed where they are read keep pointing at the activation they were made in.
  c.inlined_activations.push_back(std::make_unique<Activation>());
  Activation* const caller = c.at;
  Activation& run = *c.inlined_activations.back();
  run.function = &f;
  run.base = c.module.bases[callee];
  run.locals.resize(f.locals.size());
  size_t next = 0;
  for (const Param& p : f.params) {
    for (size_t n = FlatCount(f.locals[p.local].type); n > 0; --n) {
      run.locals[p.local].push_back(args[next++]);
    }
  }
  c.at = &run;
  ++c.inlined;
  const bool bracketed = std::exchange(c.bracketed, false);  // the function's text is not within
  std::optional<Leaves> results = BindSizes(c) ? lower() : std::nullopt;
  c.bracketed = bracketed;
  --c.inlined;
  c.at = caller;
  return results;
}

std::optional<Leaves> InlineCall(Context& c, uint32_t callee, const Leaves& args) {
  const Function& f = *c.module.program.functions[callee];
  if (c.inlined >= kMaxInlineDepth || !MayInline(f)) return std::nullopt;
  if (!c.Work(f.node_count)) return std::nullopt;
  return InActivation(c, callee, args, [&] { return LowerReturned(c); });
}

std::optional<Leaves> CallFunction(Context& c, uint32_t callee, Leaves args, uint32_t loc) {
  const Function& f = *c.module.program.functions[callee];
  if (c.dims_only) return SizesOfCall(c, callee, args);
  if (!c.InBody() || IsScalarFunction(f)) return EmitCall(c, callee, std::move(args), loc);
  c.b.SetLoc(loc);
  if (!StoreArgs(c, f, args)) return std::nullopt;
  return InlineCall(c, callee, args);
}

std::optional<Leaves> LowerCall(Context& c, const Expr& e) {
  if (e.builtin >= 0) {
    return IsScalarBuiltin(e.builtin) ? LowerScalarBuiltin(c, e) : LowerStructural(c, e);
  }
  PB_TRY(Leaves args, LowerArgs(c, e));
  const uint32_t loc = c.at->base + e.ordinal - c.at->function->first_ordinal;
  return CallFunction(c, e.callee, std::move(args), loc);
}

std::optional<Leaves> LowerStructural(Context& c, const Expr& e) {
  if (IsListBuiltin(e.builtin)) return LowerListCall(c, e);
  switch (static_cast<Builtin>(e.builtin)) {
    case Builtin::Select: return LowerSelect(c, e);
    case Builtin::Zeros: return LowerZeros(c, e);
    case Builtin::Related: {
      PB_TRY(const Value related, LowerRelated(c, e));
      return Leaves{{related, nullptr}};
    }
    case Builtin::StopGradient: return LowerStopGradient(c, e);
    case Builtin::ScanLinear: {
      PB_TRY(const ArrayRef x, LowerScanLinear(c, e));
      return Leaves{LeafOf(c, x)};
    }
    case Builtin::Len:
    case Builtin::Dim: {
      PB_TRY(const Affine extent, LowerExtent(c, e));
      return Leaves{{c.ToValue(extent), nullptr}};
    }
    case Builtin::Column:
    case Builtin::Transpose: {
      PB_TRY(const ArrayRef x, LowerArray(c, *e.operands[0]));
      const bool column = static_cast<Builtin>(e.builtin) == Builtin::Column;
      return Leaves{LeafOf(c, column ? AsColumn(x) : Transposed(x))};
    }
    default: PB_CHECK(false);
  }
  return std::nullopt;
}

}  // namespace pullback::lang
