// What a comprehension's body evaluates alike at every point, and dearly: found in the source; nothing is written.
#pragma once

#include <vector>

#include "core/lang/lower_context.h"

namespace pullback::lang {

// What is worth a place in front of the loop.
enum class Dear : uint8_t {
  kNeverInBodies,  // what no tensor statement can say, and calls of functions with loops
  kInLoops         // also what a loop of blocks would do at each of its turns
};

// An expression, and the let that binds it where later ones speak of that.
struct Invariant {
  const Expr* value;
  const Stmt* let = nullptr;
  bool dear = false;  // else it is there for those that speak of it
};

// In order, those of one body: evaluated whenever that is, and alike at all points of `around` and the comprehension
// that is asked about.
struct Invariants {
  std::vector<const Expr*> around;  // comprehensions inside that one, outermost first
  const Block* body;
  std::vector<Invariant> parts;
};

// Of the binders from `first` on, and of comprehensions in the body whose ranges are simple forms of binders and of
// what is known in front; outer ones first.
std::vector<Invariants> FindInvariants(Context& c, const Expr& comprehension, size_t first,
                                       Dear dear);

}  // namespace pullback::lang
