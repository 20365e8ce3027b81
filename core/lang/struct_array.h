// Arrays whose elements are tuples or structs, `[n]Camera`. Such an array is a struct of arrays: every
// part of its element is an array over the same indices, with the part's own axes behind them. Its type
// lists those arrays as its parts, so that lowering, derivatives and signatures see nothing else, and
// `ps[i].x` is read as `ps.x[i]`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/lang/check.h"

namespace pullback::lang {

inline bool IsStructArray(const Type& t) { return t.kind == Type::Kind::kStructArray; }

// An array of `rank` more axes whose elements are values of that type; kError where there is none.
Type ArrayOver(const Type& element, int rank);
// The same of sizes: `dims` in front of every array's.
Shape ArrayOver(Shape element, const std::vector<Size>& dims);
// Sizes of what subscripts choose of an array of structs: `dims` in place of the first `rank` axes.
Shape ChosenOf(Shape array, size_t rank, const std::vector<Size>& dims);

// Why values of that type are no elements of an array, as a message; "": they are.
std::string WhyNoElement(const Type& element, const StructTable& structs, const Limits& limits);

// The type of [n]S or [n](T, U), whose parts are written into `t`. `resolve` gives the type of the
// element and of each part (their sizes, too).
using ResolvePart = std::function<Type(TypeExpr& part)>;
Type ResolveStructArray(TypeExpr& t, const StructTable& structs, Reporter& report,
                        const Limits& limits, const ResolvePart& resolve);
// Whether `t` is one, or may be: an array of what has a name.
inline bool IsStructArray(const TypeExpr& t) {
  return t.kind == TypeExpr::Kind::kStructArray ||
         (t.kind == TypeExpr::Kind::kArray && !t.name.empty());
}
// A size that nothing is known of, in types that the checker writes.
inline bool IsUnwritten(const Expr& dim) {
  return dim.kind == Expr::Kind::kName && dim.name.empty();
}

}  // namespace pullback::lang
