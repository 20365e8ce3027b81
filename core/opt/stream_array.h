// An array that a loop's turns fill and nobody holds (stream_rows.cc): its rows, of a turn and of turns before, and those read behind the
// loop.
#pragma once

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/ir/builder.h"
#include "core/opt/front_values.h"
#include "core/opt/stream_readers.h"
#include "core/opt/streams.h"

namespace pullback::opt {

class StreamArray {
 public:
  StreamArray(ir::Builder& b, const StreamFinder& finder, const Stream& s, int64_t kept);

  const Stream& stream() const { return s_; }
  // Of the turn, where it begins, and of those before, which turns hand on.
  const std::vector<ir::Value>& rows() const { return rows_; }
  // What turns hand on: rows of turns before, and those that are picked.
  std::vector<ir::Value> HandedOn() const;

  // In the block: nothing is the array but its rows.
  void ReadRowsIn(uint32_t block);
  void ReadLast(const LastRead& last);

  // In front of the loop, at the end of the builder's block. Ends the run where the array could not be there.
  void CheckShape();
  // What the first turn gets; `brought` makes what is made behind the loop.
  std::vector<ir::Value> StartRows(BroughtValues& brought);
  // As the row is there; zeros, if it is none of the array's.
  ir::Value RowOfStart(const ir::Affine& row) { return RowOfStart(row, true); }
  // The turn's row as it was, at the end of the builder's block; from then on versions are rows.
  void BeginTurn();
  // What the next turn gets, where the turn has made `row`; behind the builder's block.
  std::vector<ir::Value> EndTurn(ir::Value row);
  // Last rows that the loop may not have made are chosen behind it. `runs`: whether its turns have gone on to its bound.
  bool HasChosen() const { return !chosen_.empty(); }
  void ChooseLast(ir::Value runs);

 private:
  // Where the loop makes no turn, the row is what it was before.
  struct Chosen {
    int64_t before_end;
    ir::Affine row;
    ir::Value value;
  };

  // A row that some turn makes, if any does.
  struct Picked {
    ir::Affine row;
    ir::Value value;
  };

  // Ends the run if the row that the statement stores to is not there, and it stores anything.
  void CheckTheRow(const ir::Inst& maker);
  ir::Value PickedFor(const LastRead& last);
  void ReadRow(ir::Inst& inst);
  ir::Value ChosenFor(const LastRead& last);

  // Of what was there before the loop. `maybe`: that row may not be.
  ir::Value RowOfStart(const ir::Affine& row, bool maybe);
  // A statement that stores to one row, the same for all points, and nothing else.
  bool MakesOneRow(const ir::Inst& maker) const;
  ir::Value TheRow(const ir::Inst& maker, const ir::Affine& row);
  // Of a statement that makes elements of others at little cost: the index of its rows.
  static std::optional<ir::Value> RowIndex(const ir::Inst& maker, size_t axis);
  // Of what some stores have made of an array.
  ir::Value Element(ir::Value array, const std::vector<ir::Affine>& at);
  using ElementAt = absl::FunctionRef<ir::Value(const std::vector<ir::Affine>& own)>;
  ir::Value MakeRow(ElementAt element);

  ir::Builder& b_;
  ir::Function& f_;
  const StreamFinder& finder_;
  const Stream& s_;
  const ir::Type row_type_;
  const ir::Values rest_;
  std::vector<ir::Value> rows_;
  std::vector<Chosen> chosen_;
  std::vector<Picked> picked_;
};

}  // namespace pullback::opt
