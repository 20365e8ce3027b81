// Loops and arms of branches that do no more than add to numbers, and elements to arrays, as functions: what one turn adds is reversed in the same
// turn, since the cotangent of the sum is the same in all. So nothing of a turn is kept; and where it is known before the loop
// (core/ad/early_cotangents.h), as that of a loss that the program returns, none is run twice. In tools that transform source a
// user declares such loops (Hascoët, Fidanova, Held: Adjoining independent computations, 2001); here they are found.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::ad {

// What was found in a module, by function. The first parameters of each are sums, and so are its first results, as many; others
// are integers and bools, such as a count beside the sum, which loops hand from turn to turn:
//
//   regions  (sums…, integers…, captured…, begin, end) -> sums…, integers…    every turn calls a part
//            (sums…, captured…, condition) -> sums…, integers…                each of two arms calls one
//   parts    (sums…, integers…, captured…, turn) -> sums…, integers…          any code, of which no result depends on a sum
//            (sums…, captured…) -> sums…, integers…                           but by adding to it
struct Adders {
  std::map<uint32_t, size_t> regions, parts;  // with the number of sums
  // By function, and parameter: whether a sum depends on it by more than comparisons and integers.
  std::map<uint32_t, std::vector<bool>> carries;
  // The regions that are reversed for a cotangent of 1 where theirs is not known early; and how many of a function are.
  std::set<uint32_t> for_one;
  std::map<uint32_t, int> for_one_of;

  // Takes those from `params`, by parameter of `f`, that no sum depends on.
  void DropInert(uint32_t f, std::vector<bool>& params) const {
    const std::vector<bool>& carrying = carries.at(f);
    for (size_t k = 0; k < params.size(); ++k) params[k] = params[k] && carrying[k];
  }
  size_t SumsOf(uint32_t f) const {
    const auto it = regions.find(f);
    return it == regions.end() ? 0 : it->second;
  }
};

// `f` prepared for reverse mode, with a call of a region for each outermost loop that does no more than add to sums, and, where
// `f` is a part, for each branch. Loops whose sums' cotangents are not known early are among them where they have one sum, a tape
// would keep what their turns make, and these read all of the arrays that they read (two at most, since that takes arrays); or
// where there are loops inside, which do no more either, or elements are read that loops around change, and turns are not dear,
// nor read what each turn around them updates: those are run again. `f` itself where there is none.
//
//   b1(%i, %s): br lt(%i, %n), b2, b3      b1(%i0, %s0): %s = call @f.adder(%s0, %x, %i0, %n)
//   b2: … %r = add %s, %t  jump b1(…, %r)      jump b3
uint32_t OutlineAdders(ir::Module& module, uint32_t f, Adders& adders);

}  // namespace pullback::ad
