// The sizes of what calls and derivatives give, without calling anybody (Context::dims_only).
#include <algorithm>

#include "core/lang/lower_array.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_derive.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"

namespace pullback::lang {
namespace {

// Functions in functions whose bodies are looked at; Context::Work bounds how much there is in all.
constexpr int kMostInlined = 16;

// A value of which nothing but its sizes is known.
Leaf OfSizes(Context& c, const ir::Type& type, const std::vector<Affine>& dims) {
  Leaf leaf = Unknown(c, type);
  if (!leaf.array) return leaf;
  auto array = std::make_shared<Array>(*leaf.array);
  array->dims = dims;
  leaf.array = array;
  return leaf;
}

std::vector<Affine> SizesOf(Context& c, const ir::Type& type, const Leaf& leaf) {
  return type.IsArray() ? ExtentsOf(c, leaf) : std::vector<Affine>();
}

// As far as the header says.
Leaves SizesByHeader(Context& c, const Function& f, const std::vector<Extents>& extents) {
  const std::vector<ir::Type> types = c.module.Flatten(f.result_type);
  Leaves out;
  for (size_t i = 0; i < types.size(); ++i) {
    const Leaf unknown = Unknown(c, types[i]);
    std::vector<Affine> dims = SizesOf(c, types[i], unknown);
    for (size_t axis = 0; axis < dims.size(); ++axis)
      dims[axis] = extents[i][axis].value_or(dims[axis]);
    out.push_back(unknown.array ? OfSizes(c, types[i], dims) : unknown);
  }
  return out;
}

bool AllKnown(const std::vector<Extents>& extents) {
  return std::all_of(extents.begin(), extents.end(), [](const Extents& axes) {
    return std::all_of(axes.begin(), axes.end(), [](const auto& size) { return size.has_value(); });
  });
}

// --- folds

// var s = first; for … { s = next }; return s
struct Fold {
  uint32_t state, counter;
  const Expr *first, *next;
};

std::optional<Fold> AsFold(const Function& f) {
  const std::vector<StmtPtr>& stmts = f.body.stmts;
  using Kind = Stmt::Kind;
  if (stmts.size() != 3 || stmts[0]->kind != Kind::kVar || stmts[1]->kind != Kind::kFor ||
      stmts[2]->kind != Kind::kReturn || stmts[1]->body.stmts.size() != 1) {
    return std::nullopt;
  }
  const Stmt& step = *stmts[1]->body.stmts[0];
  const Expr* const result = stmts[2]->value.get();
  if (step.kind != Kind::kAssign || step.targets.size() != 1 || stmts[0]->targets.size() != 1) {
    return std::nullopt;
  }
  const uint32_t state = stmts[0]->targets[0].local;
  const bool whole = step.targets[0].local == state && step.targets[0].path.empty();
  const bool given = result && result->kind == Expr::Kind::kName && result->local == state;
  if (!whole || !given || f.locals[state].shared) return std::nullopt;
  return Fold{state, stmts[1]->binder.local, stmts[0]->value.get(), step.value.get()};
}

// A state that has the sizes of the first, if each step gives them again.
std::optional<Leaves> FoldSizes(Context& c, const Fold& fold) {
  const std::vector<ir::Type> types = c.module.Flatten(c.at->function->locals[fold.state].type);
  PB_TRY(Leaves state, Lower(c, *fold.first));
  for (size_t i = 0; i < types.size(); ++i) {
    state[i] = OfSizes(c, types[i], SizesOf(c, types[i], state[i]));
  }
  c.at->locals[fold.state] = state;
  c.at->locals[fold.counter] = {Unknown(c, ir::Type::I64())};
  PB_TRY(const Leaves next, Lower(c, *fold.next));
  for (size_t i = 0; i < types.size(); ++i) {
    if (SizesOf(c, types[i], next[i]) != SizesOf(c, types[i], state[i])) return std::nullopt;
  }
  return state;
}

std::optional<Leaves> SizesByBody(Context& c, uint32_t callee, const Leaves& args) {
  const std::optional<Fold> fold = AsFold(*c.module.program.functions[callee]);
  if (!fold) return InlineCall(c, callee, args);
  return InActivation(c, callee, args, [&] { return FoldSizes(c, *fold); });
}

// --- derivatives

struct Operands {
  Leaves all;  // the callee's, with what it captures
  Leaves by;   // of the arguments that hold floats
  std::vector<ir::Type> by_types;
  std::vector<bool> in_gradient;
};

std::optional<Operands> LowerOperands(Context& c, const Expr& e) {
  const Type& function = e.operands[0]->type;
  const size_t captured = function.IsDynamic() ? 1 : function.elements.size();
  const size_t arity = c.module.program.functions[e.callee]->params.size() - captured;
  Operands o;
  PB_TRY(o.all, Lower(c, *e.operands[0]));
  for (size_t i = 1; i <= arity; ++i) {
    const Type& type = e.operands[i]->type;
    PB_TRY(const Leaves leaves, Lower(c, *e.operands[i]));
    o.all.insert(o.all.end(), leaves.begin(), leaves.end());
    if (!CarriesFloat(type)) continue;
    o.by.insert(o.by.end(), leaves.begin(), leaves.end());
    const std::vector<ir::Type> types = c.module.Flatten(type);
    o.by_types.insert(o.by_types.end(), types.begin(), types.end());
    const std::vector<bool> in_gradient = LeavesInGradient(type);
    o.in_gradient.insert(o.in_gradient.end(), in_gradient.begin(), in_gradient.end());
  }
  return o;
}

// A block for each float of the result and each of the arguments, with the axes of both.
Leaves Blocks(Context& c, const Expr& e, const Operands& o) {
  const Function& callee = *c.module.program.functions[e.callee];
  const Leaves results = SizesOfCall(c, e.callee, o.all);
  const std::vector<ir::Type> rows = c.module.Flatten(callee.result_type);
  const std::vector<ir::Type> types = c.module.Flatten(e.type);
  Leaves out;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t p = 0; p < o.by.size(); ++p) {
      if (!rows[r].IsFloat() || !o.by_types[p].IsFloat()) continue;
      std::vector<Affine> dims = SizesOf(c, rows[r], results[r]);
      const std::vector<Affine> columns = SizesOf(c, o.by_types[p], o.by[p]);
      dims.insert(dims.end(), columns.begin(), columns.end());
      PB_CHECK(out.size() < types.size());
      out.push_back(OfSizes(c, types[out.size()], dims));
    }
  }
  PB_CHECK(out.size() == types.size());
  return out;
}

}  // namespace

// A header that was not written says nothing of sizes, and one of structs not all; what such a function returns does.
// But only a bracket's product is not evaluated for them: elsewhere the sizes of a value are looked for where it is evaluated, and traps stay there.
Leaves SizesOfCall(Context& c, uint32_t callee, const Leaves& args) {
  const Function& f = *c.module.program.functions[callee];
  const std::vector<Extents> extents = ResultExtents(c, f, args);
  if (c.beforehand && !AllKnown(extents) && c.inlined < kMostInlined && !c.HasWastedMuch()) {
    Mark mark(c);
    if (const std::optional<Leaves> results = SizesByBody(c, callee, args)) return *results;
    mark.Rollback();
  }
  return SizesByHeader(c, f, extents);
}

std::optional<Leaves> SizesOfDerive(Context& c, const Expr& e) {
  PB_TRY(const Operands o, LowerOperands(c, e));
  if (e.derive == DeriveOp::kCheckpoint) return SizesOfCall(c, e.callee, o.all);
  if (e.derive == DeriveOp::kJacobian) return Blocks(c, e, o);
  const std::vector<ir::Type> types = c.module.Flatten(e.type);
  Leaves out;
  const auto add = [&](const Leaf& like) {
    const ir::Type& type = types[out.size()];
    out.push_back(OfSizes(c, type, SizesOf(c, type, like)));
  };
  if (e.derive == DeriveOp::kJvp) {
    for (const Leaf& value : SizesOfCall(c, e.callee, o.all)) add(value);
    return out;
  }
  if (e.derive == DeriveOp::kValueAndGrad) out.push_back(Unknown(c, types[0]));
  for (size_t i = 0; i < o.by.size(); ++i) {
    if (o.in_gradient[i]) add(o.by[i]);
  }
  return out;
}

}  // namespace pullback::lang
