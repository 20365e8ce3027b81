// Expressions and types as layouts. Lines are only broken where the language lets them: behind an
// operator or a comma, and inside ( ) and [ ].
#include "core/lang/formatter.h"
#include "core/lang/number.h"
#include "core/lang/spelling.h"

namespace pullback::lang {
namespace {

int BindingOf(const Expr& e) {
  switch (e.kind) {
    case Expr::Kind::kInt: return e.int_value < 0 ? kUnaryBinding : kPrimaryBinding;
    case Expr::Kind::kFloat:
    case Expr::Kind::kBool: return kPrimaryBinding;
    case Expr::Kind::kUnary: return e.unary == UnaryOp::kNeg ? kUnaryBinding : kNotBinding;
    case Expr::Kind::kBinary: return e.chained ? kCompareBinding : Binding(e.binary);
    case Expr::Kind::kIf:      // it could be taken for a statement
    case Expr::Kind::kLambda:  // it takes all that follows
      return kAnyBinding;
    case Expr::Kind::kWith: return kWithBinding;
    default: return kPostfixBinding;
  }
}

// Brackets written around these say nothing and go.
bool IsAtom(const Expr& e) {
  switch (e.kind) {
    case Expr::Kind::kUnary:
    case Expr::Kind::kBinary:
    case Expr::Kind::kScan:
    case Expr::Kind::kComprehension:
    case Expr::Kind::kLambda:
    case Expr::Kind::kWith:
    case Expr::Kind::kIf: return false;
    default: return true;
  }
}

bool IsRow(const Expr& e) { return e.kind == Expr::Kind::kArray || e.kind == Expr::Kind::kBracket; }

}  // namespace

Layout Formatter::Expression(const Expr& e, int binding) {
  bool brackets = BindingOf(e) < binding || (e.parenthesised && !IsAtom(e));
  if (!brackets) return Bare(e);
  return Group(Parts(Text("("), Indent(Parts(Line(""), Bare(e))), Line(""), Text(")")));
}

Layout Formatter::Bare(const Expr& e) {
  switch (e.kind) {
    case Expr::Kind::kInt:
    case Expr::Kind::kFloat: return Number(e);
    case Expr::Kind::kBool: return Text(e.int_value ? "true" : "false");
    case Expr::Kind::kName: return Text(e.name);
    case Expr::Kind::kUnary: return Unary(e);
    case Expr::Kind::kBinary:
      if (e.chained) return ComparisonChain(e);
      return e.binary == BinaryOp::kPow ? Power(e) : Chain(e);
    case Expr::Kind::kConstruct:
    case Expr::Kind::kCall: return Call(e.name + "(", e.operands, e.labels);
    case Expr::Kind::kBroadcastCall:
      return e.name.empty() ? Postfixes(e) : Call(e.name + ".(", e.operands);
    case Expr::Kind::kCast: return Call(std::string(DTypeName(e.elem)) + "(", e.operands);
    case Expr::Kind::kTuple: return Call("(", e.operands);
    case Expr::Kind::kIndex:
    case Expr::Kind::kTranspose:
    case Expr::Kind::kField:
    case Expr::Kind::kApply: return Postfixes(e);
    case Expr::Kind::kWith: return With(e);
    case Expr::Kind::kIverson:
    case Expr::Kind::kBracket:
      return Concat(Parts(Text("["), Expression(*e.operands[0]), Text("]")));
    case Expr::Kind::kArray: return ArrayLiteral(e);
    case Expr::Kind::kScan:
      return Concat(Parts(Text(e.exclusive ? "exscan " : "scan "),
                          ComprehensionOf(*e.operands[0], e.comprehension)));
    case Expr::Kind::kComprehension: return ComprehensionOf(e, e.comprehension);
    case Expr::Kind::kIf: return Arms(e.arms);
    case Expr::Kind::kLambda: return LambdaOf(*e.lambda);
    case Expr::Kind::kDynamic: return Bare(*e.operands[0]);
    case Expr::Kind::kTag:  // only in functions that the checker makes
    case Expr::Kind::kVariant:
    case Expr::Kind::kClosure:
    case Expr::Kind::kDerive: break;
  }
  return Text("");
}

// As it was written; made anew where the tree did not come from a text.
Layout Formatter::Number(const Expr& e) const {
  std::string_view source = Source(e.span.begin, e.span.end);
  if (!source.empty() && ScanNumber(source, false).length == source.size()) {
    return Text(std::string(source));
  }
  std::string suffix = e.has_suffix ? DTypeName(e.elem) : "";
  if (e.kind == Expr::Kind::kInt) return Text(std::to_string(e.int_value) + suffix);
  return Text(SpellFloat(e.float_value, e.elem) + suffix);
}

Layout Formatter::Unary(const Expr& e) {
  bool neg = e.unary == UnaryOp::kNeg;
  return Concat(Parts(Text(neg ? "-" : "not "),
                      Expression(*e.operands[0], neg ? kUnaryBinding : kNotBinding)));
}

// a ** b ** c …, to the right.
Layout Formatter::Power(const Expr& e) {
  std::vector<Layout> parts;
  const Expr* right = &e;
  do {
    parts.push_back(Expression(*right->operands[0], kPrimaryBinding));
    parts.push_back(Text(" ** "));
    right = right->operands[1].get();
  } while (right->kind == Expr::Kind::kBinary && !right->parenthesised &&
           right->binary == BinaryOp::kPow);
  parts.push_back(Expression(*right, kUnaryBinding));
  return Concat(std::move(parts));
}

// a + b - c …: all operators of one level; lines are filled.
Layout Formatter::Chain(const Expr& e) {
  const int binding = Binding(e.binary);
  const bool comparison = binding == kCompareBinding;
  std::vector<const Expr*> operators;  // last first
  const Expr* left = &e;
  do {
    operators.push_back(left);
    left = left->operands[0].get();
  } while (!comparison && left->kind == Expr::Kind::kBinary && !left->chained &&
           !left->parenthesised && Binding(left->binary) == binding);
  std::vector<Layout> parts = Parts(Expression(*left, comparison ? binding + 1 : binding));
  for (size_t i = operators.size(); i-- > 0;) {
    parts.push_back(Text(" " + std::string(Spelling(operators[i]->binary))));
    parts.push_back(Group(Parts(Line(" "), Expression(*operators[i]->operands[1], binding + 1))));
  }
  return Concat(std::move(parts));
}

// The tree holds (a < b) and (b < c): the copies are left out.
Layout Formatter::ComparisonChain(const Expr& e) {
  std::vector<const Expr*> comparisons;  // last first
  const Expr* left = &e;
  for (; left->chained; left = left->operands[0].get())
    comparisons.push_back(left->operands[1].get());
  comparisons.push_back(left);
  std::vector<Layout> parts = Parts(Expression(*left->operands[0], kSumBinding));
  for (size_t i = comparisons.size(); i-- > 0;) {
    parts.push_back(Text(" " + std::string(Spelling(comparisons[i]->binary))));
    parts.push_back(Group(Parts(Line(" "), Expression(*comparisons[i]->operands[1], kSumBinding))));
  }
  return Concat(std::move(parts));
}

// Items with commas; `fill`: as many on a line as fit, else one a line or all on one.
Layout Formatter::List(const std::vector<ExprPtr>& list, bool fill,
                       const std::vector<std::string>& labels) {
  std::vector<Layout> parts;
  for (const ExprPtr& e : list) {
    std::string label = labels.empty() ? "" : labels[static_cast<size_t>(&e - &list[0])] + ": ";
    Layout item =
        Concat(Parts(Text(std::move(label)), Expression(*e), Text(&e == &list.back() ? "" : ",")));
    if (parts.empty()) {
      parts.push_back(std::move(item));
    } else if (fill) {
      parts.push_back(Group(Parts(Line(" "), std::move(item))));
    } else {
      parts.push_back(Line(" "));
      parts.push_back(std::move(item));
    }
  }
  return Concat(std::move(parts));
}

// A single argument stays beside its brackets.
Layout Formatter::Call(std::string head, const std::vector<ExprPtr>& arguments,
                       const std::vector<std::string>& labels) {
  if (arguments.empty()) return Text(head + ")");
  if (arguments.size() == 1) {
    return Concat(
        Parts(Text(std::move(head)), Indent(Parts(List(arguments, false, labels))), Text(")")));
  }
  return Group(Parts(Text(std::move(head)), Indent(Parts(Line(""), List(arguments, false, labels))),
                     Line(""), Text(")")));
}

Layout Formatter::ArrayLiteral(const Expr& e) {
  if (e.operands.size() == 1)
    return Concat(Parts(Text("["), Expression(*e.operands[0]), Text(",]")));
  bool rows = IsRow(*e.operands[0]);
  return Group(
      Parts(Text("["), Indent(Parts(Line(""), List(e.operands, !rows))), Line(""), Text("]")));
}

Layout Formatter::ComprehensionOf(const Expr& e, Comprehension kind) {
  std::string word(Spelling(kind));
  if (!e.operands.empty()) return Call(word + "(", e.operands);  // the checker made it of sum(x)
  std::vector<Layout> binders;
  for (const Binder& b : e.binders) {
    if (!binders.empty()) binders.push_back(Concat(Parts(Text(","), Line(" "))));
    binders.push_back(BinderOf(b));
  }
  Layout head = Group(Parts(Indent(std::move(binders))));
  if (kind == Comprehension::kExists) {
    return Concat(Parts(Text(word + " "), std::move(head), Text(":"),
                        Group(Parts(Indent(Parts(Line(" "), Expression(*e.body.result)))))));
  }
  return Concat(Parts(Text(word + " "), std::move(head), Text(" "), Group(Parts(Body(e.body)))));
}

Layout Formatter::BinderOf(const Binder& b) {
  if (!b.lo) return Concat(Parts(Text(b.name + " < "), Expression(*b.hi, kSumBinding)));
  return Concat(Parts(Text(b.name + " in "), Expression(*b.lo, kSumBinding), Text(".."),
                      Expression(*b.hi, kSumBinding)));
}

}  // namespace pullback::lang
