// Comprehensions that are lowered part by part: what the finders of parts share (lower_either.cc, lower_terms.cc).
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "core/lang/lower_context.h"

namespace pullback::lang {

// How often what is lowered now is compiled already.
size_t CasesAround(const Context& c);

// sum or gen.
bool IsLinear(const Expr& comprehension);

// The last body of comprehensions whose bodies are each the next one.
struct Innermost {
  const Expr* body = nullptr;  // nullptr: they are not alike
  std::set<uint32_t> indices;  // and what lets define
  bool adds_up = false;        // the last of them is a sum
};
Innermost InnermostOf(const Context& c, const Expr& comprehension);

// --- lower_terms.cc
// The terms that the body of sums and gens is to be lowered by, of which some tell indices, and that body; none: it is
// lowered as it is.
struct BodyTerms {
  const Expr* body = nullptr;
  std::vector<Context::Term> terms;
};
BodyTerms FindTerms(Context& c, const Expr& comprehension);

}  // namespace pullback::lang
