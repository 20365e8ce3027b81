// Types, lambdas, calls of what an expression gives.
#include "core/lang/formatter.h"

namespace pullback::lang {

Layout Formatter::TypeOf(const TypeExpr& t) {
  if (t.kind == TypeExpr::Kind::kStruct) return Text(t.name);
  if (t.kind == TypeExpr::Kind::kList || t.kind == TypeExpr::Kind::kBox) {
    const char* word = t.kind == TypeExpr::Kind::kList ? "list " : "box ";
    return Concat(Parts(Text(word), TypeOf(t.elements[0])));
  }
  std::vector<Layout> parts;
  for (const ExprPtr& d : t.dims) {
    if (!parts.empty()) parts.push_back(Concat(Parts(Text(","), Line(" "))));
    parts.push_back(Expression(*d, kSumBinding));
  }
  if (t.kind == TypeExpr::Kind::kRelation) {
    parts.resize(parts.size() - 2);  // its own 0
    return Group(Parts(Text("rel["), Indent(std::move(parts)), Text("]")));
  }
  if (t.kind == TypeExpr::Kind::kFunction) return FunctionType(t);
  if (t.kind == TypeExpr::Kind::kStructArray) {
    return Concat(
        Parts(Group(Parts(Text("["), Indent(std::move(parts)), Text("]"))), TypeOf(t.elements[0])));
  }
  for (const TypeExpr& e : t.elements) {
    if (!parts.empty()) parts.push_back(Concat(Parts(Text(","), Line(" "))));
    parts.push_back(TypeOf(e));
  }
  if (t.kind == TypeExpr::Kind::kScalar) return Text(DTypeName(t.elem));
  bool tuple = t.kind == TypeExpr::Kind::kTuple;
  return Group(Parts(Text(tuple ? "(" : "["), Indent(std::move(parts)),
                     Text(tuple ? ")" : "]" + (t.name.empty() ? DTypeName(t.elem) : t.name))));
}

Layout Formatter::FunctionType(const TypeExpr& t) {
  std::vector<Layout> params;
  for (size_t i = 0; i + 1 < t.elements.size(); ++i) {
    if (i > 0) params.push_back(Concat(Parts(Text(","), Line(" "))));
    params.push_back(TypeOf(t.elements[i]));
  }
  return Group(
      Parts(Text("fn("), Indent(std::move(params)), Text(") -> "), TypeOf(t.elements.back())));
}

Layout Formatter::LambdaOf(const Lambda& lambda) {
  std::vector<Layout> parts;
  for (const Param& p : lambda.params) {
    if (!parts.empty()) parts.push_back(Concat(Parts(Text(","), Line(" "))));
    parts.push_back(Text(p.name));
    if (p.type.kind == TypeExpr::Kind::kOmitted) continue;
    parts.push_back(Text(": "));
    parts.push_back(TypeOf(p.type));
  }
  Layout head = Group(Parts(Text("|"), Indent(std::move(parts)), Text("| ")));
  Layout body = lambda.braces ? Group(Parts(Body(lambda.body)))
                              : Group(Parts(Indent(Parts(Expression(*lambda.body.result)))));
  return Concat(Parts(std::move(head), std::move(body)));
}

// (a, b), behind what is called.
Layout Formatter::Arguments(const Expr& call) {
  std::vector<Layout> arguments;
  for (size_t i = 1; i < call.operands.size(); ++i) {
    if (i > 1) arguments.push_back(Concat(Parts(Text(","), Line(" "))));
    arguments.push_back(Expression(*call.operands[i]));
  }
  const char* const open = call.kind == Expr::Kind::kBroadcastCall ? ".(" : "(";
  return Group(Parts(Text(open), Indent(std::move(arguments)), Text(")")));
}

}  // namespace pullback::lang
