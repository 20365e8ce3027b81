// How the instructions of a block depend on each other, if its statements that run over the indices that they have first, or
// behind those of loops around them, were one loop as far as they may be: what a turn makes is there for the same turn of the
// others; what is made of several turns, for those of a later loop alone. What turns of one later loop alone need is made
// there, if what it is made of is there anyway, or can be made there, too.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::tensor {

// The index behind `depth` others; kNoValue: it is no statement, or has none.
ir::Value IndexAt(const ir::Inst& inst, size_t depth);
// The axis at which the result has this index; nothing: none.
std::optional<size_t> AxisOf(const ir::EachResult& r, ir::Value index);
// Whether a subscript of the statement is near to the index (core/ir/row_windows.h): a window of rows is there for its turn.
using IsNearRow = std::function<bool(const ir::Each&, const ir::Affine& sub, ir::Value index)>;

// fn(array, subscripts) of each read in the body.
template <typename Fn>
void ForEachRead(const ir::Each& each, Fn&& fn) {
  for (const ir::Inst& inst : each.body) {
    if (inst.op == ir::Op::Index) fn(inst.args[0], ir::AffineSpan(inst.subs));
  }
}

class Turns {
 public:
  // From one instruction to another. `first`: by statement, the index that comes first, behind `depth` others that its
  // loops have in common; others keep theirs. `is_near`: rows near to a turn's own count as its own.
  Turns(const std::vector<ir::Inst>& insts, size_t begin, size_t end,
        const std::map<size_t, ir::Value>& first, size_t depth = 0, IsNearRow is_near = nullptr);

  // The number of the loop that an instruction can be part of.
  int LoopOf(size_t at) const { return loops_.at(at); }

 private:
  struct Made {
    size_t at;                   // by that instruction
    int loop;                    // in which it is there, as a whole or by turns
    std::optional<size_t> axis;  // by turns: along this axis
    size_t rank;                 // of an array
  };
  int LoopOf(const ir::Inst& inst) const;
  int LoopOf(const ir::Inst& statement, ir::Value index) const;
  bool IsInFront(const ir::Inst& statement, int loop) const;

  // Which statements read an array, and whether each turn reads what the same turn makes.
  struct Readers {
    std::vector<size_t> at;
    bool by_turns = true;
  };
  void NoteReaders(const ir::Inst& inst, size_t at, ir::Value index);
  void Delay(const std::vector<ir::Inst>& insts, size_t at);
  bool MayWait(const std::vector<ir::Inst>& insts, size_t at, int last,
               std::set<size_t>& waiting) const;
  bool MakerWaits(const std::vector<ir::Inst>& insts, ir::Value v, int last,
                  std::set<size_t>& waiting) const;
  // Whether these statements read what the maker makes, by turns, and no others do.
  bool AreReadIn(const ir::Inst& maker, const std::set<size_t>& statements) const;

  bool IsOwn(const ir::Each& each, const ir::Affine& sub, ir::Value index) const;
  std::optional<size_t> AxisMade(const ir::Each& each, size_t result, ir::Value index) const;

  const IsNearRow is_near_;
  std::map<size_t, int> loops_;
  std::map<ir::Value, Readers> readers_;
  std::map<ir::Value, Made> made_;
};

}  // namespace pullback::tensor
