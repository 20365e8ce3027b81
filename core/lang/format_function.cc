// Lambdas, calls of what an expression gives, function types.
#include "core/lang/formatter.h"

namespace pullback::lang {

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

Layout Formatter::Apply(const Expr& e, const char* open) {
  std::vector<Layout> arguments;
  for (size_t i = 1; i < e.operands.size(); ++i) {
    if (i > 1) arguments.push_back(Concat(Parts(Text(","), Line(" "))));
    arguments.push_back(Expression(*e.operands[i]));
  }
  return Group(Parts(Expression(*e.operands[0], kPostfixBinding), Text(open),
                     Indent(std::move(arguments)), Text(")")));
}

}  // namespace pullback::lang
