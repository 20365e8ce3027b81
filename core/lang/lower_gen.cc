// gen inside a body: an array that is computed where it is read; and the sizes of what a body
// gives, without running it.
#include <utility>

#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_stmt.h"
#include "core/lang/lower_walk.h"

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

bool BindSubscripts(Context& c, const Expr& e, const std::vector<Affine>& lows, const Subs& subs) {
  for (size_t i = 0; i < e.binders.size(); ++i) {
    c.at->locals[e.binders[i].local] = {{c.ToValue(lows[i] + subs[i]), nullptr}};
  }
  return c.dims_only ? DeclareLets(c, e.body) : LowerLets(c, e.body);
}

MaybeValue ReadGen(Context& c, const Expr& e, const std::vector<Affine>& lows, const Subs& subs) {
  if (!BindSubscripts(c, e, lows, subs)) return std::nullopt;
  const Expr& result = *e.body.result;
  if (result.type.kind == Type::Kind::kScalar) return LowerScalar(c, result);
  PB_TRY(const ArrayRef inner, LowerArray(c, result));
  const auto rest = subs.begin() + static_cast<std::ptrdiff_t>(e.binders.size());
  return ReadAt(c, *inner, Subs(rest, subs.end()));
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

std::optional<ArrayRef> GenInBody(Context& c, const Expr& e) {
  auto out = std::make_shared<Array>();
  out->elem = e.type.elem;
  std::vector<Affine> lows;
  for (const Binder& b : e.binders) {
    PB_TRY(const Range r, RangeInBody(c, b));
    c.SetLoc(e.ordinal);
    const Affine extent = r.hi - r.lo;
    if (!Require(c, {extent, false}, ir::TrapKind::kNegativeSize, extent, extent)) {
      return std::nullopt;
    }
    lows.push_back(r.lo);
    out->dims.push_back(extent);
  }
  PB_TRY(const std::vector<Affine> inner, BodyDims(c, e, lows));
  out->dims.insert(out->dims.end(), inner.begin(), inner.end());
  Context* context = &c;
  Activation* const at = c.at;
  out->at = [context, at, &e, lows](const Subs& subs) {
    Activation* const reader = std::exchange(context->at, at);
    MaybeValue v = ReadGen(*context, e, lows, subs);
    context->at = reader;
    return v;
  };
  return out;
}

std::optional<ArrayRef> SumDims(Context& c, const Expr& e) {
  auto array = std::make_shared<Array>(*Unknown(c, c.module.Flatten(e.type)[0]).array);
  const std::vector<Affine> lows(e.binders.size(), Affine::Const(0));
  PB_TRY(array->dims, BodyDims(c, e, lows));
  return array;
}

std::optional<std::vector<Affine>> BodyDims(Context& c, const Expr& e,
                                            const std::vector<Affine>& lows) {
  if (e.body.result->type.kind == Type::Kind::kScalar) return std::vector<Affine>();
  const uint32_t first_new = c.ValueCount();
  const bool outer = std::exchange(c.dims_only, true);
  Mark mark(c);
  // The binders stand at an index of their own; the code is thrown away.
  c.OpenFrame();
  Subs subs;
  for (size_t i = 0; i < e.binders.size(); ++i) {
    const Value index = c.function.NewValue(ir::Type::I64());
    c.frame().indices.push_back({index, index});
    subs.push_back(Affine::Of(index));
  }
  BindSubscripts(c, e, lows, subs);
  const std::optional<ArrayRef> value = LowerArray(c, *e.body.result);
  mark.Rollback();
  c.dims_only = outer;
  if (!value) return std::nullopt;
  for (const Affine& d : (*value)->dims) {
    for (const Affine::Term& t : d.terms) {
      if (t.value.id >= first_new) return std::nullopt;
    }
  }
  return (*value)->dims;
}

}  // namespace pullback::lang
