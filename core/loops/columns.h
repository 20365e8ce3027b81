// Sums down columns: y[…, j] = Σ_k … b[k, j] …, where neighbours in a row of b lie side by side and those in a
// column do not. One element at a time fetches a cache line for each term. So a strip of kStrip elements is summed
// at once: the loops over k run around the one over j, and the eight lanes of each element wait in a scratch array,
// lane by lane. Every term joins the lane that it joins otherwise, in the same order: the same bits.
#pragma once

#include "core/loops/accesses.h"
#include "core/loops/divisions.h"
#include "core/loops/results.h"

namespace pullback::loops {

inline constexpr int64_t kStrip = 128;  // 8 KiB of lanes in f64: they stay in the first cache

// Whether the statement is such a sum, whose rows are whole and have all terms or, by what a row's indices say, none, and whose body
// does not trap inside.
bool SumsColumns(const AccessContext& c, const Divisions& divisions, ir::Value result,
                 const ResultPlan& plan);

// The loop over the last of the result's `rank` indices becomes the innermost.
void PutColumnInside(Space& space, size_t rank);

class LaneStrips {
 public:
  LaneStrips(const AccessContext& c, size_t rank) : c_(c), e_(c.l.e), rank_(rank) {}

  const SpaceIndex& column() const { return c_.space.indices[rank_ - 1]; }
  // The loops that stand around the strips.
  int level() const { return static_cast<int>(rank_) - 1; }
  Reg lo() const { return lo_; }
  Reg hi() const { return hi_; }

  // In front of the nest, and after it.
  void Begin(uint32_t loc);
  void End();
  // A strip, with its lanes at zero.
  void Open();
  // `offset`: of the term in the box of what is summed over.
  void Add(Reg offset, Reg term);
  // The sum of an element, `store`d where the column's index has that element's value.
  template <typename Store>
  void Close(Store&& store) {
    const Reg total = OpenTotal();
    store(total);
    e_.CloseFor();
    e_.CloseFor();
  }

 private:
  Reg OpenTotal();
  Reg LaneOf(Reg lane, Reg column);  // its place among the lanes

  const AccessContext& c_;
  Emitter& e_;
  const size_t rank_;
  Reg lanes_, lo_, hi_;
};

}  // namespace pullback::loops
