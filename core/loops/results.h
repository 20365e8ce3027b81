// The results of a tensor statement: where each one's terms go, and what its array holds before.
#pragma once

#include <optional>
#include <vector>

#include "core/loops/accesses.h"
#include "core/loops/best.h"
#include "core/loops/placement.h"

namespace pullback::loops {

struct ResultPlan {
  enum class Mode : uint8_t {
    kLanes,       // reduced in lanes over the loops inside `level`
    kRuns,        // the same; that total is added to the element
    kStore,       // every element is stored at most once
    kAccumulate,  // terms are added to the element where they occur
    kScan,        // the state is stored, then joined with the term
    kArg,         // the offset of the best term so far, over the loops inside `level`
    kArgInTurns,  // the element is the index of its best term so far; those of others come in between
  };
  Mode mode = Mode::kStore;
  int level =
      0;  // kLanes, kRuns, kArg: the loops open where the element is known; kScan: the state begins
  bool once = false;           // kRuns: each element is one run's
  bool of_runs = false;        // its terms are those of runs, which may be one each
  bool complete = false;       // every element is stored: the array needs no initial value
  Access access;               // of out[]
  bool proven_at_end = false;  // that it is in range where there was no point, too

  // Whether an element is stored once the loops inside `level` have run.
  bool StoresAtEnd() const { return IsInLanes() || mode == Mode::kArg; }
  bool IsInLanes() const { return mode == Mode::kLanes || mode == Mode::kRuns; }
};

// `facts`: known where the result's guard is true.
ResultPlan PlanResult(const AccessContext& c, const ir::EachResult& r,
                      const std::vector<Known>& facts);

// Writes one result.
class ResultWriter {
 public:
  // `r`: of `inst`, which calls it `value`.
  ResultWriter(const AccessContext& c, const ir::Inst& inst, const ir::EachResult& r,
               ir::Value value, const ResultPlan& plan)
      : c_(c),
        e_(c.l.e),
        r_(r),
        value_(value),
        plan_(plan),
        first_reduced_(plan.mode == ResultPlan::Mode::kRuns
                           ? c.each.indices.size() - ir::CountInRuns(c.each, r)
                           : r.out.size()),
        loc_(inst.loc),
        out_loc_(ir::LocOfOut(inst, r)) {
    const auto destination = c.l.destinations.find(value);
    if (destination != c.l.destinations.end()) placement_.emplace(c, destination->second, value);
    if (ir::IsArg(r.monoid)) {
      best_.emplace(e_, c.l.f.TypeOf(r.value), r.monoid == ir::Monoid::kArgMax, loc_);
    }
  }

  const ResultPlan& plan() const { return plan_; }

  // Before the nest: the array, with the identity in it where that is needed, or what is added to.
  void Begin();
  void CheckOutBefore();
  // After the checks of what the body reads, where there may be no point. `late`: the nest itself may trap.
  void BeginDestination(bool late);
  // Around the loops inside plan().level, of kLanes, kRuns, kArg and kScan.
  void BeginInner();
  void EndInner();
  // At a point.
  void AddTerm();
  // After the nest.
  void End();
  void LearnChecks() const;

  // Of kLanes and kRuns: where the term of this point joins, and what becomes of the sum.
  Reg OffsetInRest();
  void StoreTotal(Reg total);

  // Of the offset of the best of all terms, by segments of the outermost loop (segments.h).
  bool IsWholeArg() const { return best_ && IsScalar(); }
  Best& best() { return *best_; }
  // The segments tell apart what that loop does.
  void SetSegment(Reg segment, ir::Value loop) {
    segment_ = segment;
    segmented_ = loop;
  }

 private:
  bool IsScalar() const { return r_.out.empty(); }
  bool Adds() const { return r_.into.valid() && !placement_; }
  std::vector<Reg> Extents() const;
  std::vector<Reg> LoopsApart() const;
  void Store(Reg offset, Reg value);  // into array_
  Reg Offset();
  Emitter::About About() const;  // of the element
  void Fill(Reg array, const std::vector<Reg>& extents, Reg identity);
  Reg SingleTerm();
  void JoinToElement(Reg value);
  void CompeteInTurns(Reg value);
  void Step();
  Reg Joined(Reg state, Reg value, ir::Type t);
  size_t FirstInner() const { return c_.space.indices.size() - r_.inner; }
  std::vector<Reg> InnerExtents() const;
  Reg StateOffset();
  void BeginLanes();
  Reg LanesTotal();
  void StoreAtEnd(Reg total);

  const AccessContext& c_;
  Emitter& e_;
  const ir::EachResult& r_;
  const ir::Value value_;
  const ResultPlan plan_;
  const size_t first_reduced_;  // of the indices, in lanes
  const uint32_t loc_;
  const uint32_t out_loc_;
  std::optional<Placement> placement_;  // where r_.into takes the elements
  Reg array_ = ir::kNoValue;
  Reg lanes_ = ir::kNoValue;
  Reg state_ = ir::kNoValue;  // kScan: of each point of the inner indices
  std::vector<Reg> state_extents_;
  std::optional<Best> best_;       // kArg, kArgInTurns
  Reg best_terms_ = ir::kNoValue;  // kArgInTurns: of each element
  Reg segment_ = ir::kNoValue, segmented_ = ir::kNoValue;
};

}  // namespace pullback::loops
