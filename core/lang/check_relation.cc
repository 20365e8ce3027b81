// r(i, j) of a relation r: whether the indices are related.
#include "core/lang/builtins.h"
#include "core/lang/check_body.h"
#include "core/lang/relation.h"

namespace pullback::lang {

// operands[0] is the relation.
Shape BodyChecker::CheckRelated(Expr& e, const std::vector<Shape>& shapes) {
  e.kind = Expr::Kind::kCall;
  e.builtin = static_cast<int>(Builtin::Related);
  e.type = Type();
  if (e.operands.empty() || e.operands[0]->type.kind != Type::Kind::kRelation) {
    return Fail(e, "'related' takes a relation and indices");
  }
  const size_t arity = ArityOf(e.operands[0]->type);
  const size_t got = e.operands.size() - 1;
  if (got != arity) {
    return Fail(e, (e.name.empty() ? "this relation" : "'" + e.name + "'") + " is a relation " +
                       Text(e.operands[0]->type, shapes[0]) + ": it takes " +
                       std::to_string(arity) + (arity == 1 ? " index" : " indices") + ", got " +
                       std::to_string(got));
  }
  for (size_t i = 1; i < e.operands.size(); ++i) {
    ExpectI64(e.operands[i], "an index of a relation");
    if (e.operands[i]->type.kind == Type::Kind::kError) return {};
  }
  e.type = Type::Scalar(DType::kBool);
  return {};
}

}  // namespace pullback::lang
