// Assignments: to a variable, to an element of one, to several in parallel.
#include <set>

#include "core/lang/check_body.h"

namespace pullback::lang {

void BodyChecker::CheckAssign(Stmt& s) {
  std::vector<Type> wanted;
  for (Target& t : s.targets) wanted.push_back(CheckTarget(t));
  if (s.targets.size() == 1) {
    Check(s.value);
    return CheckAssigned(s.targets[0], wanted[0], s.value);
  }
  CheckDistinct(s);
  Shape shape = Check(s.value);
  const Type& type = s.value->type;
  if (type.kind == Type::Kind::kError) return;
  if (type.kind != Type::Kind::kTuple || type.elements.size() != s.targets.size()) {
    report_.Error(s.value->span, std::to_string(s.targets.size()) +
                                     " targets need as many values, but this is " +
                                     Text(type, shape));
    return;
  }
  CheckParallel(s, wanted);
}

// The value is written as a list, or is one tuple (the result of a call).
void BodyChecker::CheckParallel(Stmt& s, const std::vector<Type>& wanted) {
  if (s.value->kind == Expr::Kind::kTuple) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      CheckAssigned(s.targets[i], wanted[i], s.value->operands[i]);
      s.value->type.elements.Set(i, s.value->operands[i]->type);
    }
    return;
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Type& got = s.value->type.elements[i];
    if (wanted[i].kind == Type::Kind::kError || wanted[i] == got) continue;
    RejectAssigned(s.targets[i], wanted[i], got, s.value->span);
  }
}

void BodyChecker::CheckDistinct(const Stmt& s) {
  std::set<std::string> whole;
  for (const Target& t : s.targets) {
    if (t.path.empty() && !whole.insert(t.name).second) {
      report_.Error(t.span, "'" + t.name + "' is assigned twice in one statement");
    }
  }
}

// The type that the target takes; kError where it may not be assigned.
Type BodyChecker::CheckTarget(Target& t) {
  t.local = scope_.Find(t.name);
  if (t.local == kNone) {
    const std::string near = DidYouMean(t.name, scope_.Names());
    report_.Error(t.span, "unknown variable '" + t.name + "'" +
                              (near.empty() ? "; define it first: var " + t.name + " = …" : near));
    Shape none;
    return CheckPath(t.path, Type(), t.name, none);
  }
  const Local& local = f_.locals[t.local];
  Type type = local.shared ? local.type.elements[0] : local.type;
  if (local.kind != Local::Kind::kVar) {
    NotAVariable(t, local);
    type = {};
  } else if (!value_blocks_.empty() && t.local < value_blocks_.back().first_local) {
    report_.Error(t.span, std::string(value_blocks_.back().what) + " may not assign '" + t.name +
                              "', which is defined outside of it");
    type = {};
  }
  Shape shape;
  return CheckPath(t.path, type, t.name, shape);
}

void BodyChecker::NotAVariable(const Target& t, const Local& local) {
  std::string what;
  switch (local.kind) {
    case Local::Kind::kParam: what = "a parameter; copy it with 'var'"; break;
    case Local::Kind::kSize: what = "a size; copy it with 'var'"; break;
    case Local::Kind::kBinder: what = "an index; copy it with 'var'"; break;
    default: what = "defined with 'let'; define it with 'var' to assign it"; break;
  }
  report_.Error(t.span, "'" + t.name + "' may not be assigned: it is " + what);
}

void BodyChecker::CheckAssigned(const Target& t, const Type& want, ExprPtr& value) {
  if (want.kind == Type::Kind::kError || ConvertPart(*value, t.path, want)) return;
  RejectAssigned(t, want, value->type, value->span);
}

// The target without subscripts: "s.a".
std::string BodyChecker::PlaceText(const Target& t) const {
  std::string text = t.name;
  for (const Access& a : t.path) {
    if (!a.IsField()) continue;
    text += ".";
    text += a.field.empty() ? std::to_string(a.index) : a.field;
  }
  return text;
}

void BodyChecker::RejectAssigned(const Target& t, const Type& want, const Type& got,
                                 const Span& span) {
  bool element = !t.path.empty() && !t.path.back().IsField();
  const bool region = element && t.path.back().region;
  std::string what = (region    ? "this part of '"
                      : element ? "an element of '"
                                : "'") +
                     PlaceText(t) + "' is ";
  std::string advice;
  if (t.path.empty() && want == Type::Scalar(DType::kI64) && got == Type::Scalar(DType::kF64)) {
    advice = "; where its first value is written 0, write 0.0";
  }
  if (t.path.empty() && want.kind == Type::Kind::kFunction && got.kind == want.kind) {
    advice =
        "; to assign different functions, write its type: var " + t.name + ": fn(f64) -> f64 = …";
  }
  report_.Error(span, what + ToString(want) + ", but the value is " + ToString(got) + advice);
}

}  // namespace pullback::lang
