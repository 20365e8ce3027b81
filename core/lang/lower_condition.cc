// and, or, if-expressions: control flow in blocks; guards in bodies.
#include <algorithm>

#include "core/lang/builtins.h"
#include "core/lang/lower_array.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_stmt.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

bool IsLogic(const Expr& e) {
  return e.kind == Expr::Kind::kBinary && (e.binary == BinaryOp::kAnd || e.binary == BinaryOp::kOr);
}

// In a < b < c the tree has b twice; while this lives, both are the value computed here.
class SharedOperand {
 public:
  SharedOperand(Context& c, const Expr& e) : c_(c) {
    if (!e.chained || IsLogic(*e.operands[0])) return;
    const Expr* first = e.operands[0]->operands[1].get();
    const Expr* second = e.operands[1]->operands[0].get();
    if (first->type != second->type || first->type.kind != Type::Kind::kScalar) return;
    if (IsPureScalar(*first)) return;
    const MaybeValue v = LowerScalar(c, *first);
    if (!v) return;
    both_ = {first, second};
    for (const Expr* b : both_) c.replaced[b] = *v;
  }
  ~SharedOperand() {
    for (const Expr* b : both_) c_.replaced.erase(b);
  }
  SharedOperand(const SharedOperand&) = delete;
  SharedOperand& operator=(const SharedOperand&) = delete;

 private:
  Context& c_;
  std::vector<const Expr*> both_;
};

// --- blocks

// a and b / a or b where b must only be evaluated when it matters.
Value LogicByBranch(Context& c, const Expr& e) {
  const uint32_t yes = c.b.NewBlock();
  const uint32_t no = c.b.NewBlock();
  LowerBranch(c, e, yes, no);
  std::vector<Exit> exits;
  for (uint32_t block : {yes, no}) {
    c.b.SetBlock(block);
    exits.push_back({block, {{{c.b.Bool(block == yes), nullptr}}}});
  }
  return JoinValues(c, exits)[0].value;
}

Leaves IfByBranch(Context& c, const Expr& e) {
  std::vector<Exit> exits;
  for (const CondArm& arm : e.arms) {
    uint32_t next = 0;
    if (arm.cond) {
      const uint32_t taken = c.b.NewBlock();
      next = c.b.NewBlock();
      LowerBranch(c, *arm.cond, taken, next);
      c.b.SetBlock(taken);
    }
    const Leaves leaves = LowerBlockValue(c, arm.body);
    exits.push_back({c.b.block(), {leaves}});
    if (arm.cond) c.b.SetBlock(next);
  }
  return JoinValues(c, exits);
}

bool IsSelect(const Expr& e) {
  return e.type.kind == Type::Kind::kScalar &&
         std::all_of(e.arms.begin(), e.arms.end(), [](const CondArm& arm) {
           return arm.body.stmts.empty() && IsTrivial(*arm.body.result) &&
                  (!arm.cond || IsPureScalar(*arm.cond));
         });
}

Value IfBySelect(Context& c, const Expr& e) {
  std::vector<Value> conditions, values;
  for (const CondArm& arm : e.arms) {
    if (arm.cond) conditions.push_back(*LowerScalar(c, *arm.cond));
    values.push_back(*LowerScalar(c, *arm.body.result));
  }
  Value v = values.back();
  for (size_t i = conditions.size(); i-- > 0;) {
    v = c.b.Make(Op::Select, {conditions[i], values[i], v});
  }
  return v;
}

// --- bodies

// a and b: b where a;  a or b: b where not a.
MaybeValue LogicByGuard(Context& c, const Expr& e) {
  PB_TRY(const Value a, PredicateValue(c, *e.operands[0]));
  const bool is_and = e.binary == BinaryOp::kAnd;
  const Value when = is_and ? a : c.b.Make(Op::Not, {a});
  Guard outer = c.guard;
  AddGuard(c, when);
  const Value guard = GuardValue(c);
  Value b;
  {
    GuardedRegion region(c, std::move(outer));
    PB_TRY(b, LowerScalar(c, *e.operands[1]));
  }
  b = ZeroElsewhere(c, b, guard);
  return c.b.Make(is_and ? Op::And : Op::Or, {a, b});
}

std::optional<Leaves> IfByGuard(Context& c, const Expr& e, size_t arm);

// What holds where these do not, if that is one inequality: as where an index is not at an end of its range.
std::vector<Constraint> Otherwise(const Context& c, const std::vector<Constraint>& told) {
  if (told.size() != 1) return {};
  const Affine one = Affine::Const(1), &e = told[0].e;
  if (!told[0].equality) return {{e * -1 - one, false}};
  for (const auto& frame : c.frames) {
    for (const ir::IndexVar& i : frame->indices) {
      const Affine first = Affine::Of(i.var), last = c.AffineFor(i.extent) - one - first;
      for (const Affine& end : {first, last}) {
        if (e == end || e * -1 == end) return {{end - one, false}};
      }
    }
  }
  return {};
}

// What a condition says of indices where it holds, and where it does not.
struct Told {
  std::vector<Constraint> yes, no;
};

Told WhatIsTold(Context& c, const Expr& e) {
  if (!IsLogic(e)) {
    Told told{AffinePredicate(c, e).value_or(std::vector<Constraint>()), {}};
    told.no = Otherwise(c, told.yes);
    return told;
  }
  Told told = WhatIsTold(c, *e.operands[0]);
  const Told more = WhatIsTold(c, *e.operands[1]);
  const bool is_and = e.binary == BinaryOp::kAnd;
  (is_and ? told.no : told.yes).clear();
  std::vector<Constraint>& both = is_and ? told.yes : told.no;
  const std::vector<Constraint>& others = is_and ? more.yes : more.no;
  both.insert(both.end(), others.begin(), others.end());
  return told;
}

// `told`: what `when` says of indices.
std::optional<Leaves> GuardedArm(Context& c, const Value& when, const std::vector<Constraint>& told,
                                 const std::function<std::optional<Leaves>()>& arm) {
  Guard outer = c.guard;
  AddGuard(c, when);
  GuardValue(c);
  c.guard.constraints.insert(c.guard.constraints.end(), told.begin(), told.end());
  GuardedRegion region(c, std::move(outer));
  return arm();
}

std::optional<Leaves> ArmValue(Context& c, const Block& block) {
  if (!LowerLets(c, block)) return std::nullopt;
  return Lower(c, *block.result);
}

bool HaveOneShape(Context& c, const Leaf& x, const Leaf& y) {
  return IsArrayLeaf(c, x) && IsArrayLeaf(c, y) && ExtentsOf(c, x) == ExtentsOf(c, y);
}

// Whether a block can evaluate it without a trap: names of its values and what is made of them.
bool IsKnownToBlocks(Context& c, const Expr& e) {
  bool known = IsPureScalar(e);
  ForEachExpr(e, [&](const Expr& part) {
    if (!known || part.kind != Expr::Kind::kName) return;
    for (const Leaf& leaf : c.at->locals[part.local]) {
      known = known && leaf.value.valid() && c.IsOuter(Affine::Of(leaf.value));
    }
  });
  return known;
}

// Of sizes that are looked for beforehand: those of the arm that the condition chooses.
std::optional<Leaf> ChosenSizes(Context& c, const Expr& condition, const Leaf& yes,
                                const Leaf& no) {
  if (!c.beforehand || !c.dims_only || !IsKnownToBlocks(c, condition)) return std::nullopt;
  const std::vector<Affine> a = ExtentsOf(c, yes), b = ExtentsOf(c, no);
  std::vector<Affine> dims;
  for (size_t axis = 0; axis < a.size(); ++axis) {
    if (!c.IsOuter(a[axis]) || !c.IsOuter(b[axis])) return std::nullopt;
    AtBlock block(c);
    const Value when = *LowerScalar(c, condition);
    dims.push_back(
        Affine::Of(c.b.Make(Op::Select, {when, c.ToValue(a[axis]), c.ToValue(b[axis])})));
  }
  auto array = std::make_shared<Array>(*ArrayOf(c, yes));
  array->dims = dims;
  return Leaf{Value(), array};
}

MaybeValue ElementWhere(Context& c, Value when, const Leaf& leaf, const Subs& subs) {
  Guard outer = c.guard;
  AddGuard(c, when);
  GuardValue(c);
  GuardedRegion region(c, std::move(outer));
  return ReadAt(c, *ArrayOf(c, leaf), subs);
}

// The elements of one of two arrays of one shape.
Leaf ChosenElements(Context& c, Value when, Value unless, const Leaf& yes, const Leaf& no) {
  const ArrayRef a = ArrayOf(c, yes), b = ArrayOf(c, no);
  auto chosen = std::make_shared<Array>();
  chosen->elem = a->elem;
  chosen->dims = a->dims;
  chosen->made_within = c.CountIndices();
  chosen->dear = true;  // an element is one of each
  Context* context = &c;
  chosen->at = [context, when, unless, yes, no](const Subs& subs) -> MaybeValue {
    PB_TRY(const Value x, ElementWhere(*context, when, yes, subs));
    PB_TRY(const Value y, ElementWhere(*context, unless, no, subs));
    return context->b.Make(Op::Select, {when, x, y});
  };
  return Leaf{Value(), chosen};
}

std::optional<Leaves> IfByGuard(Context& c, const Expr& e, size_t arm) {
  const CondArm& a = e.arms[arm];
  if (!a.cond) return ArmValue(c, a.body);
  return ChooseByGuard(
      c, *a.cond, [&] { return ArmValue(c, a.body); }, [&] { return IfByGuard(c, e, arm + 1); });
}

}  // namespace

bool IsTrivial(const Expr& e) {
  return IsLiteral(e) || (e.kind == Expr::Kind::kName && e.type.kind == Type::Kind::kScalar);
}

bool IsPureScalar(const Expr& e) {
  if (e.type.kind != Type::Kind::kScalar) return false;
  switch (e.kind) {
    case Expr::Kind::kUnary:
    case Expr::Kind::kCast: return IsPureScalar(*e.operands[0]);
    case Expr::Kind::kBinary: {
      const bool divides = e.binary == BinaryOp::kDiv || e.binary == BinaryOp::kRem;
      if (divides && e.type.elem == DType::kI64) return false;
      return e.binary != BinaryOp::kMatMul && IsPureScalar(*e.operands[0]) &&
             IsPureScalar(*e.operands[1]);
    }
    default: return IsTrivial(e);
  }
}

MaybeValue LowerLogic(Context& c, const Expr& e) {
  if (!c.InBody() && !IsPureScalar(*e.operands[1])) return LogicByBranch(c, e);
  const SharedOperand shared(c, e);
  if (IsPureScalar(*e.operands[1])) {
    PB_TRY(const Value a, LowerScalar(c, *e.operands[0]));
    PB_TRY(const Value b, LowerScalar(c, *e.operands[1]));
    return c.b.Make(e.binary == BinaryOp::kAnd ? Op::And : Op::Or, {a, b});
  }
  return LogicByGuard(c, e);
}

void LowerBranch(Context& c, const Expr& e, uint32_t if_true, uint32_t if_false) {
  if (e.kind == Expr::Kind::kUnary && e.unary == UnaryOp::kNot) {
    return LowerBranch(c, *e.operands[0], if_false, if_true);
  }
  if (!IsLogic(e) || IsPureScalar(*e.operands[1])) {
    const Value condition = *LowerScalar(c, e);
    return c.b.Branch(condition, {if_true, {}}, {if_false, {}});
  }
  const SharedOperand shared(c, e);
  const uint32_t rest = c.b.NewBlock();
  if (e.binary == BinaryOp::kAnd) {
    LowerBranch(c, *e.operands[0], rest, if_false);
  } else {
    LowerBranch(c, *e.operands[0], if_true, rest);
  }
  c.b.SetBlock(rest);
  LowerBranch(c, *e.operands[1], if_true, if_false);
}

Leaves LowerBlockValue(Context& c, const Block& block) {
  if (!LowerStatements(c, block)) StartDeadBlock(c);
  return LowerStored(c, *block.result);
}

std::optional<Leaves> ChooseByGuard(Context& c, const Expr& condition,
                                    const std::function<std::optional<Leaves>()>& arm,
                                    const std::function<std::optional<Leaves>()>& other) {
  PB_TRY(const Value when, PredicateValue(c, condition));
  const Told told = WhatIsTold(c, condition);
  PB_TRY(const Leaves yes, GuardedArm(c, when, told.yes, arm));
  const Value unless = c.b.Make(Op::Not, {when});
  PB_TRY(const Leaves no, GuardedArm(c, unless, told.no, other));
  Leaves out;
  for (size_t i = 0; i < yes.size(); ++i) {
    if (c.dims_only && HaveOneShape(c, yes[i], no[i])) {
      out.push_back(yes[i]);
      continue;
    }
    if (HaveOneShape(c, yes[i], no[i])) {
      out.push_back(ChosenElements(c, when, unless, yes[i], no[i]));
      continue;
    }
    if (IsArrayLeaf(c, yes[i]) && IsArrayLeaf(c, no[i])) {
      PB_TRY(const Leaf chosen, ChosenSizes(c, condition, yes[i], no[i]));
      out.push_back(chosen);
      continue;
    }
    if (!yes[i].value.valid() || !no[i].value.valid()) return std::nullopt;
    if (!c.b.TypeOf(yes[i].value).IsScalar()) return std::nullopt;
    out.push_back({c.b.Make(Op::Select, {when, yes[i].value, no[i].value}), nullptr});
  }
  return out;
}

std::optional<Leaves> LowerIfExpression(Context& c, const Expr& e) {
  if (IsSelect(e)) return Leaves{{IfBySelect(c, e), nullptr}};
  if (!c.InBody()) return IfByBranch(c, e);
  return IfByGuard(c, e, 0);
}

}  // namespace pullback::lang
