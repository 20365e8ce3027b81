// Templates: type parameters are bound to the types of the arguments, and an instance is a copy of
// the function with those types written in.
#include <algorithm>

#include "core/lang/check.h"
#include "core/lang/relation.h"
#include "core/lang/struct_array.h"
#include "core/lang/walk.h"

namespace pullback::lang {

bool SpeaksOfFunctions(const TypeExpr& t) {
  if (t.kind == TypeExpr::Kind::kList || t.kind == TypeExpr::Kind::kBox) return false;
  return t.kind == TypeExpr::Kind::kFunction ||
         std::any_of(t.elements.begin(), t.elements.end(), SpeaksOfFunctions);
}

TypeExpr GivenType(const Type& type, const Span& span) {
  TypeExpr t;
  t.kind = TypeExpr::Kind::kGiven;
  t.given = type;
  t.span = span;
  return t;
}

Type DynamicOf(const TypeExpr& t, const TypeBindings& bindings) {
  std::vector<Type> elements;
  for (const TypeExpr& e : t.elements) {
    const bool function = e.kind == TypeExpr::Kind::kFunction;
    elements.push_back(function ? DynamicOf(e, bindings) : TypeOf(e, bindings));
    if (elements.back().kind == Type::Kind::kError) return {};
  }
  return Type::Dynamic(std::move(elements));
}

Type TypeOf(const TypeExpr& t, const TypeBindings& bindings) {
  const auto bound = bindings.find(t.name);
  switch (t.kind) {
    case TypeExpr::Kind::kScalar: return Type::Scalar(t.elem);
    case TypeExpr::Kind::kArray: {
      if (t.name.empty()) return Type::Array(t.elem, static_cast<int>(t.dims.size()));
      if (bound == bindings.end() || bound->second.rank > 0) return {};
      return ArrayOver(bound->second, static_cast<int>(t.dims.size()));
    }
    case TypeExpr::Kind::kStructArray:
      return ArrayOver(TypeOf(t.elements[0], bindings), static_cast<int>(t.dims.size()));
    case TypeExpr::Kind::kStruct:
      if (bound != bindings.end()) return bound->second;
      return t.structure ? Type::Of(t.structure) : Type();
    case TypeExpr::Kind::kList:
    case TypeExpr::Kind::kBox: {
      const TypeExpr& of = t.elements[0];
      const bool function = of.kind == TypeExpr::Kind::kFunction;
      Type element = function ? DynamicOf(of, bindings) : TypeOf(of, bindings);
      if (element.kind == Type::Kind::kError) return {};
      const bool list = t.kind == TypeExpr::Kind::kList;
      return list ? Type::List(std::move(element)) : Type::Box(std::move(element));
    }
    case TypeExpr::Kind::kGiven: return t.given;
    case TypeExpr::Kind::kRelation: return RelationType(ArityOf(t));
    case TypeExpr::Kind::kTuple: break;
    default: return {};
  }
  Type type = Type::Tuple({});
  for (const TypeExpr& element : t.elements) {
    type.elements.push_back(TypeOf(element, bindings));
    if (type.elements.back().kind == Type::Kind::kError) return {};
  }
  return type;
}

void BindTypes(const TypeExpr& pattern, const Type& type, const std::vector<std::string>& params,
               TypeBindings& bindings) {
  const bool named = !pattern.name.empty() &&
                     std::find(params.begin(), params.end(), pattern.name) != params.end();
  switch (pattern.kind) {
    case TypeExpr::Kind::kStruct:
      if (named && type.kind != Type::Kind::kError && !HasUnknown(type))
        bindings.emplace(pattern.name, type);
      return;
    case TypeExpr::Kind::kArray:
      if (named && type.kind == Type::Kind::kArray) {
        bindings.emplace(pattern.name, Type::Scalar(type.elem));
      } else if (named && IsStructArray(type)) {
        bindings.emplace(pattern.name, type.elements[0]);
      }
      return;
    case TypeExpr::Kind::kStructArray:
      if (IsStructArray(type)) {
        BindTypes(pattern.elements[0], type.elements[0], params, bindings);
      }
      return;
    case TypeExpr::Kind::kTuple:
      if (type.kind != Type::Kind::kTuple || type.elements.size() != pattern.elements.size())
        return;
      for (size_t i = 0; i < pattern.elements.size(); ++i) {
        BindTypes(pattern.elements[i], type.elements[i], params, bindings);
      }
      return;
    case TypeExpr::Kind::kList:
    case TypeExpr::Kind::kBox: {
      const bool list = pattern.kind == TypeExpr::Kind::kList;
      if (type.kind != (list ? Type::Kind::kList : Type::Kind::kBox)) return;
      return BindTypes(pattern.elements[0], type.elements[0], params, bindings);
    }
    default: return;
  }
}

void SubstituteTypes(TypeExpr& t, const TypeBindings& bindings) {
  const auto bound = bindings.find(t.name);
  for (TypeExpr& element : t.elements) SubstituteTypes(element, bindings);
  if (t.name.empty() || bound == bindings.end()) return;
  if (t.kind == TypeExpr::Kind::kStruct) {
    t = GivenType(bound->second, t.span);
    if (bound->second.kind != Type::Kind::kScalar) return;
    t.kind = TypeExpr::Kind::kScalar;
    t.elem = bound->second.elem;
  } else if (t.kind == TypeExpr::Kind::kArray && bound->second.kind == Type::Kind::kScalar) {
    t.elem = bound->second.elem;
    t.name.clear();
  } else if (t.kind == TypeExpr::Kind::kArray && IsComposite(bound->second)) {
    t.kind = TypeExpr::Kind::kStructArray;
    t.name.clear();
    t.elements.push_back(GivenType(bound->second, t.span));
  }
}

namespace {

void SubstituteIn(Block& block, const TypeBindings& bindings);

// T(x) is a cast where T is a scalar.
void SubstituteIn(Expr& e, const TypeBindings& bindings) {
  if (e.lambda) {
    for (Param& p : e.lambda->params) SubstituteTypes(p.type, bindings);
    SubstituteTypes(e.lambda->body, bindings);
  }
  SubstituteIn(e.body, bindings);
  for (CondArm& arm : e.arms) SubstituteIn(arm.body, bindings);
  const auto bound = bindings.find(e.name);
  const bool cast = e.kind == Expr::Kind::kCall && e.operands.size() == 1 &&
                    bound != bindings.end() && bound->second.kind == Type::Kind::kScalar;
  if (!cast) return;
  e.kind = Expr::Kind::kCast;
  e.elem = bound->second.elem;
}

void SubstituteIn(Block& block, const TypeBindings& bindings) {
  for (StmtPtr& s : block.stmts) {
    if (s->annotation) SubstituteTypes(*s->annotation, bindings);
    for (CondArm& arm : s->arms) SubstituteIn(arm.body, bindings);
    SubstituteIn(s->body, bindings);
  }
}

}  // namespace

void SubstituteTypes(Block& block, const TypeBindings& bindings) {
  SubstituteIn(block, bindings);
  ForEachExpr(block, [&](Expr& e) { SubstituteIn(e, bindings); });
}

}  // namespace pullback::lang
