#include "core/lang/lower_place.h"

#include "core/lang/lower_array.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"

namespace pullback::lang {
namespace {

// The leaves that the fields of a path lead to.
struct Range {
  size_t first = 0;
  Type type;
  const TypeExpr* declared = nullptr;  // of a struct's field
};

Range FindRange(const Type& base, const std::vector<Access>& path) {
  Range r{0, base, nullptr};
  for (const Access& a : path) {
    if (!a.IsField()) break;
    const size_t index = static_cast<size_t>(a.index);
    for (size_t i = 0; i < index; ++i) r.first += FlatCount(PartOf(r.type, i));
    const bool is_struct = r.type.kind == Type::Kind::kStruct;
    r.declared = is_struct ? &r.type.structure->fields[index].type : nullptr;
    const Type part = PartOf(r.type, index);
    r.type = part;
  }
  return r;
}

bool CheckField(Context& c, const TypeExpr& declared, const Leaves& value) {
  std::vector<const TypeExpr*> types;
  Flatten(declared, types);
  for (size_t i = 0; i < types.size(); ++i) {
    if (!CheckDeclared(c, *types[i], value[i])) return false;
  }
  return true;
}

}  // namespace

std::optional<Leaves> LowerConstruct(Context& c, const Expr& e) {
  Leaves all;
  for (size_t i = 0; i < e.operands.size(); ++i) {
    PB_TRY(const Leaves leaves, Lower(c, *e.operands[i]));
    c.SetLoc(e.ordinal);
    if (!CheckField(c, e.type.structure->fields[i].type, leaves)) return std::nullopt;
    all.insert(all.end(), leaves.begin(), leaves.end());
  }
  return all;
}

std::optional<Leaves> LowerWith(Context& c, const Expr& e) {
  const Type& base = e.operands[0]->type;
  PB_TRY(Leaves leaves, Lower(c, *e.operands[0]));
  if (e.path.back().IsField()) {
    PB_TRY(const Leaves value, Lower(c, *e.operands[1]));
    c.SetLoc(e.ordinal);
    if (!ReplaceField(c, base, e.path, leaves, value)) return std::nullopt;
    return leaves;
  }
  if (c.InBody()) return std::nullopt;
  Subs subs = LowerPathSubscripts(c, e.path);
  const Value v = *LowerScalar(c, *e.operands[1]);
  Leaf& array = ArrayAt(base, e.path, leaves);
  c.SetLoc(e.ordinal);
  Store(c, array);
  const std::vector<Affine> dims = c.DimsOf(array.value);
  array.value = c.b.Update(array.value, std::move(subs), v);
  c.SetDims(array.value, dims);
  return leaves;
}

Subs LowerPathSubscripts(Context& c, const std::vector<Access>& path) {
  Subs subs;
  for (const Access& a : path) {
    for (const Subscript& s : a.subscripts) subs.push_back(*LowerInt(c, *s.index));
  }
  return subs;
}

Leaf& ArrayAt(const Type& base, const std::vector<Access>& path, Leaves& leaves) {
  return leaves[FindRange(base, path).first];
}

bool ReplaceField(Context& c, const Type& base, const std::vector<Access>& path, Leaves& leaves,
                  const Leaves& value) {
  const Range range = FindRange(base, path);
  if (range.declared && !CheckField(c, *range.declared, value)) return false;
  for (size_t i = 0; i < value.size(); ++i) leaves[range.first + i] = value[i];
  return true;
}

}  // namespace pullback::lang
