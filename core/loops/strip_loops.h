// Loops that hand numbers to each other turn by turn, and are better apart, run strip by strip: so many turns of the
// first, then those of the next. An array holds what there is for a strip:
//
//   %a = alloc f64 [%m]
//   for %i in 0..%m { for %j in 0..%n { … }  %a[%i] = … }
//   for %k in 0..%m { … tanh %a[%k] … }
//
//   %a = alloc f64 [min(%m, 256)]
//   for %strip in 0..(%m + 255) / 256 {
//     for %i in %lo..%hi { for %j in 0..%n { … }  %a[%i - %lo] = … }
//     for %k in %lo..%hi { … tanh %a[%k - %lo] … }
//   }
//
// Turns keep their numbers: every value is computed as before, and every sum adds in its order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "core/ir/known_extents.h"
#include "core/loops/loops.h"
#include "core/loops/writer.h"

namespace pullback::loops {

inline constexpr int64_t kStripTurns = 256;

// A loop over strips of a loop's turns.
struct Strips {
  std::vector<Node> front;  // what has to come in front of it
  Node loop;                // its body has the bounds of a strip, and nothing else yet
  Reg lo, hi;               // these: of the loop whose turns they are
  Reg zero, size;           // of `front`; turns in a strip that is whole
};
// `size_of`: writes how many turns a strip has, 1 or more.
Strips OpenStrips(Function& f, const Node& bounds, const char* name,
                  const std::function<Reg(Writer&)>& size_of, const ir::KnownExtents& known);

// Whether every access to the array inside the loop is to the element of the turn's number.
bool AccessesTurn(const Node& loop, Reg array);

// What runs `parts`, loops each in a branch or not, strip by strip; the last node is the loop over strips. `bounds`: a
// loop over a range that holds theirs, and whose bounds arrays may have as extents. `arrays`: of one axis, whose accesses
// are all in there, at the turn's number; those that map to true are 0 when a strip begins. `known`: of the function.
std::vector<Node> RunByStrips(Function& f, const Node& bounds, std::vector<Node> parts,
                              const std::map<Reg, bool>& arrays, const ir::KnownExtents& known);

// Such an array has the extent of a strip, and first values no more. What has to come in front of `alloc` is returned.
std::vector<Node> ShrinkToStrip(Function& f, Node& alloc);

}  // namespace pullback::loops
