// What an expression of the source says, without values.
#pragma once

#include <cstdint>
#include <set>

#include "core/lang/ast.h"

namespace pullback::lang {

// A name in it is one of the locals'.
bool Mentions(const Expr& e, const std::set<uint32_t>& locals);
// Locals that its branches bind.
std::set<uint32_t> LetsIn(const Expr& e);
// Names and numbers, added and subtracted: cheap wherever it is evaluated, and cannot trap.
bool IsSimple(const Expr& e);
// A simple form is this often the local, beside what has nothing to do with it.
int64_t Coefficient(const Expr& e, uint32_t local);
// The same value, where neither has a comprehension.
bool AreAlike(const Expr& a, const Expr& b);

// gen, sum, exists, or: they add up what there is, be it here or elsewhere.
bool AddsUp(const Expr& comprehension);
// not e
bool IsNot(const Expr& e);
// The number, also where it is cast.
bool IsNumber(const Expr& e, int64_t v);

}  // namespace pullback::lang
