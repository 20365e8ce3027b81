// Loops that hand numbers, or rows, to each other and are better apart, or read those of other turns, run strip by strip:
// so many turns of the first, then those of the next. An array holds what there is for a strip:
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
// What reads rows that turns ahead make is as many turns behind, and a window of rows moves along: those that are read again
// come to its start when a strip begins.
//
//   %z = alloc f64 [%n, %m]
//   for %i in 0..%n { for %j in 0..%m { %z[%i * %m + %j] = … } }
//   for %k in 0..%n - 1 { for %j in 0..%m { … %z[%k * %m + %j] … %z[(%k + 1) * %m + %j] … } }
//
//   %z = alloc f64 [min(%n, 17), %m]                                       (here for 17 < %n: an array of no more rows stays)
//   for %strip in 0..(%n + 1 + 15) / 16 {                                  %lo = %strip * 16, %hi = min(%lo + 16, %n + 1)
//     if 0 < %strip { %z[0] = %z[16] }
//     for %i in %lo..min(%hi, %n) { for %j in 0..%m { %z[(%i - %lo + 1) * %m + %j] = … } }
//     for %k in max(%lo - 1, 0)..min(%hi - 1, %n - 1) { … %z[(%k - %lo + 1) * %m + %j] … %z[(%k - %lo + 2) * %m + %j] … } }
//
// Where a turn takes rows by steps of two, %z[%k * 2 * %m + %j], it is turn %k * 2 of the strips (paces.h), whose loop over %k runs
// over half as many turns.
//
// Turns keep their numbers: every value is computed as before, and every sum adds in its order. (Shifted loops that are fused:
// Darte and Huard, 2000, "Loop shifting for loop compaction".)
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/ir/known_extents.h"
#include "core/loops/effects.h"
#include "core/loops/loops.h"
#include "core/loops/paces.h"
#include "core/loops/writer.h"

namespace pullback::loops {

inline constexpr int64_t kStripTurns = 256;
inline constexpr int64_t kStripRows = 16;  // where an array holds rows

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

// A loop, in a branch or not.
struct StripPart {
  Node node;
  Pace pace{};  // in turns of the strips; a rate other than 1: it starts at 0
};

// Not so many turns that keeping their rows would take more than other arrays do: 32.
bool IsNear(const Reach& turns);
// That a loop runs behind the first one: of many together each is near the next, 64.
bool IsShortDelay(const Reach& turns);

// An array that holds what there is for a strip: all accesses are in there. `first`, `last`: in turn t of the strips, rows, or
// elements, t / period + first to t / period + last are accessed.
struct StripArray {
  Reg array;
  std::vector<Reg> extents;  // without strips
  uint64_t zeroed = 0;       // 1: all elements are 0 at first
  Reach first{}, last{};
  int64_t period = 1;  // turns for each row; other than 1: the strips start at 0
  Reg slots;           // rows, or elements, that there are in strips

  bool HasRows() const { return extents.size() > 1; }
  bool IsOfTurn() const { return first == Reach() && last == Reach(); }
  bool HasMore() const { return first != last; }
};
// With the range of `access`, in whole rows.
StripArray MakeStripArray(const Node& alloc, const Effects::Access& access);

// Turns in a strip: whole rows of each array.
int64_t StripTurns(const std::vector<StripArray>& arrays);

// What makes such an array makes it as large as a strip, or leaves it if it is no larger, without first values, and `of` is
// told. What has to come in front of `alloc` is returned. `turns`: in a strip.
std::vector<Node> ShrinkToStrip(Function& f, Node& alloc, StripArray& of, int64_t turns);

// What runs `parts` strip by strip; the last node is the loop over strips. `bounds`: a loop over a range that holds
// theirs, and whose bounds arrays may have as extents. `arrays`: after ShrinkToStrip. `known`: of the function.
std::vector<Node> RunByStrips(Function& f, const Node& bounds, std::vector<StripPart> parts,
                              const std::vector<StripArray>& arrays, const ir::KnownExtents& known);

}  // namespace pullback::loops
