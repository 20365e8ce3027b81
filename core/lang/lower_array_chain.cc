// Products of arrays with Iverson brackets, and quotients of those: where a bracket is false no
// element of the rest is evaluated. The whole has its sizes all the same; where only a value tells
// them (of an element of a list, of a slice whose ends are data), that is evaluated.
#include <algorithm>
#include <utility>

#include "core/lang/lower_array.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_list.h"
#include "core/lang/lower_stmt.h"
#include "core/lang/lower_trial.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

using Predicates = std::vector<const Expr*>;

std::optional<Leaf> RestOfChain(Context& c, const Expr& e);

// What a chain that is an array is made of: factors without brackets, or dividend and divisor.
std::optional<std::vector<Leaf>> PartsOfChain(Context& c, const Expr& e) {
  std::vector<Leaf> parts;
  for (const ExprPtr& operand : e.operands) {
    const bool divisor = IsQuotient(e) && !parts.empty();
    PB_TRY(const Leaf leaf, divisor ? LowerOperand(c, *operand) : RestOfChain(c, *operand));
    if (leaf.value.valid() || leaf.array) {
      parts.push_back(leaf);
    } else if (IsQuotient(e)) {
      parts.push_back({c.b.One(ir::Type::Scalar(e.type.elem)), nullptr});
    }
  }
  return parts;
}

// The array factors and scalar factors, without brackets; kNoValue and null: nothing.
std::optional<Leaf> RestOfChain(Context& c, const Expr& e) {
  if (e.kind == Expr::Kind::kIverson) return Leaf();
  if (!IsChain(e)) return LowerOperand(c, e);
  if (e.type.kind == Type::Kind::kScalar) {
    PB_TRY(const Value v, LowerRest(c, e));
    return Leaf{v, nullptr};
  }
  PB_TRY(const std::vector<Leaf> parts, PartsOfChain(c, e));
  const bool is_product = e.kind == Expr::Kind::kBinary;
  if (is_product && parts.size() == 1) return parts[0];
  c.SetLoc(e.ordinal);
  PB_TRY(const ArrayRef rest, MapElements(c, e.type.elem, parts, ScalarFunction(c, e)));
  return LeafOf(c, rest);
}

// --- elements

Value ElementByBranch(Context& c, const Array& x, const Subs& subs, Value all) {
  const uint32_t yes = c.b.NewBlock(), no = c.b.NewBlock();
  c.b.Branch(all, {yes, {}}, {no, {}});
  c.b.SetBlock(yes);
  const Value element = *ReadAt(c, x, subs);
  std::vector<Exit> exits = {{c.b.block(), {{{element, nullptr}}}}};
  c.b.SetBlock(no);
  exits.push_back({no, {{{c.b.Zero(c.b.TypeOf(element)), nullptr}}}});
  return JoinValues(c, exits)[0].value;
}

MaybeValue ElementByGuard(Context& c, const Array& x, const Subs& subs, Value all) {
  Guard outer = c.guard;
  AddGuard(c, all);
  const Value guard = GuardValue(c);
  Value element;
  {
    GuardedRegion region(c, std::move(outer));
    PB_TRY(element, ReadAt(c, x, subs));
  }
  return ZeroElsewhere(c, element, guard);
}

// x where `all` holds, which is the same for all elements, and zeros elsewhere.
ArrayRef WhereAll(Context& c, const ArrayRef& x, Value all) {
  auto out = std::make_shared<Array>();
  out->elem = x->elem;
  out->dims = x->dims;
  Context* context = &c;
  out->at = [context, x, all](const Subs& subs) -> MaybeValue {
    return context->InBody() ? ElementByGuard(*context, *x, subs, all)
                             : ElementByBranch(*context, *x, subs, all);
  };
  return out;
}

// --- bodies

std::optional<ArrayRef> ChainInBody(Context& c, const Expr& e, const Predicates& predicates) {
  PB_TRY(const Value all, LowerConjunction(c, predicates));
  Guard outer = c.guard;
  AddGuard(c, all);
  GuardValue(c);
  for (const Expr* p : predicates) {
    if (const auto known = AffinePredicate(c, *p)) {
      c.guard.constraints.insert(c.guard.constraints.end(), known->begin(), known->end());
    }
  }
  Leaf rest;
  {
    GuardedRegion region(c, std::move(outer));
    PB_TRY(rest, RestOfChain(c, e));
  }
  return WhereAll(c, ArrayOf(c, rest), all);
}

// --- blocks

// Whether lowering the rest calls nobody and computes nothing that is dear.
bool IsPlain(const Expr& e) {
  if (e.kind == Expr::Kind::kIverson) return true;
  if (IsChain(e)) {
    return std::all_of(e.operands.begin(), e.operands.end(),
                       [](const ExprPtr& factor) { return IsPlain(*factor); });
  }
  bool plain = true;
  ForEachExpr(e, [&](const Expr& part) {
    switch (part.kind) {
      case Expr::Kind::kInt:
      case Expr::Kind::kFloat:
      case Expr::Kind::kBool:
      case Expr::Kind::kName:
      case Expr::Kind::kUnary:
      case Expr::Kind::kCast:
      case Expr::Kind::kField:
      case Expr::Kind::kIverson:
      case Expr::Kind::kTranspose: return;
      case Expr::Kind::kIndex: plain = plain && !IsListElement(part); return;
      case Expr::Kind::kBinary:
        plain = plain && (part.type.kind == Type::Kind::kArray || IsPureScalar(part));
        return;
      default: plain = false;
    }
  });
  return plain;
}

std::vector<ir::Inst>& InstsOf(Context& c) { return c.function.blocks[c.b.block()].insts; }

// The rest of the chain, where all that stands in the block for it cannot trap.
std::optional<Leaf> RestInVain(Context& c, const Expr& e) {
  if (!IsPlain(e)) return std::nullopt;
  const uint32_t block = c.b.block();
  const auto first = static_cast<std::ptrdiff_t>(InstsOf(c).size());
  Mark mark(c);
  Leaf rest = *RestOfChain(c, e);
  const std::vector<ir::Inst>& insts = InstsOf(c);
  // Another block: a bracket inside took control flow.
  const bool may = c.b.block() == block &&
                   std::all_of(insts.begin() + first, insts.end(),
                               [&](const ir::Inst& inst) { return CannotTrap(c, inst); });
  if (may) return rest;
  mark.Rollback();
  return std::nullopt;
}

// The sizes of the rest, none of them negative, without evaluating it; nullopt: only its value tells them.
std::optional<std::vector<Affine>> SizesOfRest(Context& c, const Expr& e) {
  const LeafDims dims = SizesBeforehand(c, [&]() -> std::optional<Leaves> {
    PB_TRY(const Leaf rest, RestOfChain(c, e));
    return Leaves{rest};
  });
  return dims.empty() ? std::nullopt : dims[0];
}

ArrayRef ChainByBranch(Context& c, const Expr& e, const Predicates& predicates,
                       const std::vector<Affine>& sizes) {
  const uint32_t no = c.b.NewBlock();
  BranchOnAll(c, predicates, no);
  const bool outer = std::exchange(c.bracketed, true);
  Leaf rest = *RestOfChain(c, e);
  c.SetLoc(e.ordinal);
  Store(c, rest);
  c.bracketed = outer;
  std::vector<Exit> exits = {{c.b.block(), {{rest}}}};
  c.b.SetBlock(no);
  std::vector<Value> extents;
  for (const Affine& d : sizes) extents.push_back(c.ToValue(d));
  const Value zeros = c.b.Zeros(e.type.elem, extents);
  c.SetDims(zeros, sizes);
  exits.push_back({no, {{{zeros, nullptr}}}});
  const Leaf joined = JoinValues(c, exits)[0];
  c.SetDims(joined.value, sizes);
  return ArrayOf(c, joined);
}

}  // namespace

std::optional<ArrayRef> LowerArrayChain(Context& c, const Expr& e) {
  Predicates predicates;
  CollectBrackets(c, e, predicates);
  if (c.InBody()) return ChainInBody(c, e, predicates);
  std::optional<Leaf> rest = RestInVain(c, e);
  if (!rest) {
    if (const auto sizes = SizesOfRest(c, e)) return ChainByBranch(c, e, predicates, *sizes);
  }
  const Value all = *LowerConjunction(c, predicates);
  if (!rest) rest = RestOfChain(c, e);
  return WhereAll(c, ArrayOf(c, *rest), all);
}

std::optional<ArrayRef> LowerArrayRest(Context& c, const Expr& e) {
  PB_TRY(const Leaf rest, RestOfChain(c, e));
  return ArrayOf(c, rest);
}

}  // namespace pullback::lang
