#include "core/lang/relation.h"

#include "core/base/relation.h"

namespace pullback::lang {

Type RelationType(size_t arity) {
  Type t;
  t.kind = Type::Kind::kRelation;
  std::vector<Type> arrays(RelationLayout{arity}.Count(), Type::Array(DType::kI64, 1));
  arrays[0] = Type::Array(DType::kI64, static_cast<int>(arity) + 1);
  t.elements = std::move(arrays);
  return t;
}

size_t ArityOf(const Type& relation) { return static_cast<size_t>(relation.elements[0].rank) - 1; }

void FinishRelation(TypeExpr& t) {
  t.elem = DType::kI64;
  const Type type = RelationType(t.dims.size());
  for (size_t i = 1; i < type.elements.size(); ++i) {
    t.elements.emplace_back();
    t.elements.back().kind = TypeExpr::Kind::kGiven;
    t.elements.back().given = type.elements[i];
    t.elements.back().span = t.span;
  }
  auto zero = std::make_unique<Expr>();
  zero->kind = Expr::Kind::kInt;
  zero->span = t.span;
  t.dims.push_back(std::move(zero));
}

}  // namespace pullback::lang
