// A loop over values, `for x in xs { … }`, is read as
//
//   let (the values) = xs
//   for (the index) < len(the values) { let x = (the values)[the index] … }
//
// with names that no program can write, so that only the parser and the formatter know of it.
#pragma once

#include <string>

#include "core/lang/ast.h"

namespace pullback::lang {

inline std::string EachValues(int number) { return "the values " + std::to_string(number); }
inline std::string EachIndex(int number) { return "the index " + std::to_string(number); }
// The call of `len`, whatever the program calls so.
inline constexpr const char* kEachLength = "the length";

inline bool IsEachValues(const std::string& name) { return name.starts_with("the values "); }
inline bool IsEachLoop(const Stmt& s) {
  return s.kind == Stmt::Kind::kFor && s.binder.name.starts_with("the index ");
}
// Whether such a loop means the statement, which stands in no text.
inline bool IsImplied(const Stmt& s) {
  if (s.kind != Stmt::Kind::kLet || s.targets.size() != 1 || !s.value) return false;
  const Expr& v = *s.value;
  return IsEachValues(s.targets[0].name) ||
         (v.kind == Expr::Kind::kIndex && IsEachValues(v.operands[0]->name));
}

}  // namespace pullback::lang
