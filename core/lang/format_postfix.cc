// What stands behind an expression, as layouts: x[i].a.T(y), s with a = e.
#include "core/lang/formatter.h"

namespace pullback::lang {
namespace {

// What follows operands[0] without brackets.
bool IsPostfix(const Expr& e) {
  switch (e.kind) {
    case Expr::Kind::kIndex:
    case Expr::Kind::kTranspose:
    case Expr::Kind::kField:
    case Expr::Kind::kApply: return true;
    case Expr::Kind::kBroadcastCall: return e.name.empty();
    default: return false;
  }
}

}  // namespace

Layout Formatter::Postfix(const Expr& e) {
  switch (e.kind) {
    case Expr::Kind::kIndex: return Subscripts(e.subscripts);
    case Expr::Kind::kTranspose: return Text(".T");
    case Expr::Kind::kField:
      return Text("." + (e.name.empty() ? std::to_string(e.int_value) : e.name));
    default: return Arguments(e);
  }
}

// x[i].a.T(y) …: what follows x, one after the other.
Layout Formatter::Postfixes(const Expr& e) {
  std::vector<const Expr*> postfixes;  // last first
  const Expr* base = &e;
  for (; IsPostfix(*base); base = base->operands[0].get()) postfixes.push_back(base);
  std::vector<Layout> parts = Parts(Expression(*base, kPostfixBinding));
  for (size_t i = postfixes.size(); i-- > 0;) {
    parts.push_back(Postfix(*postfixes[i]));
  }
  return Concat(std::move(parts));
}

Layout Formatter::Subscripts(const std::vector<Subscript>& subscripts) {
  std::vector<Layout> parts;
  for (const Subscript& s : subscripts) {
    if (!parts.empty()) parts.push_back(Concat(Parts(Text(","), Line(" "))));
    parts.push_back(SubscriptOf(s));
  }
  return Group(Parts(Text("["), Indent(std::move(parts)), Text("]")));
}

Layout Formatter::SubscriptOf(const Subscript& s) {
  if (!s.is_slice) return Expression(*s.index);
  std::vector<Layout> parts;
  if (s.lo) parts.push_back(Expression(*s.lo));
  parts.push_back(Text(":"));
  if (s.hi) parts.push_back(Expression(*s.hi));
  if (s.step) {
    parts.push_back(Text(":"));
    parts.push_back(Expression(*s.step));
  }
  return Concat(std::move(parts));
}

// s with a.b[i] = e with c = e: from the left.
Layout Formatter::With(const Expr& e) {
  std::vector<const Expr*> changes;  // last first
  const Expr* base = &e;
  do {
    changes.push_back(base);
    base = base->operands[0].get();
  } while (base->kind == Expr::Kind::kWith && !base->parenthesised);
  std::vector<Layout> parts = Parts(Expression(*base, kWithBinding));
  for (size_t i = changes.size(); i-- > 0;) {
    const Expr& change = *changes[i];
    parts.push_back(Text(" with " + change.path[0].field));
    parts.push_back(Path(change.path, 1));
    parts.push_back(Text(" = "));
    parts.push_back(Expression(*change.operands[1], kWithBinding + 1));
  }
  return Concat(std::move(parts));
}

Layout Formatter::Path(const std::vector<Access>& path, size_t from) {
  std::vector<Layout> parts;
  for (size_t i = from; i < path.size(); ++i) {
    const Access& a = path[i];
    if (!a.IsField()) {
      parts.push_back(Subscripts(a.subscripts));
    } else {
      parts.push_back(Text("." + (a.field.empty() ? std::to_string(a.index) : a.field)));
    }
  }
  return Concat(std::move(parts));
}

}  // namespace pullback::lang
