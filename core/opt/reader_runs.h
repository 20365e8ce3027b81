// What reads, behind a loop, the rows of an array that its turns make is run in the turns (stream_rows.cc).
#pragma once

#include <functional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/ir/builder.h"
#include "core/opt/stream_readers.h"

namespace pullback::opt {

class ReaderRuns {
 public:
  // A number or an array that turns hand on: a sum, or rows that are needed behind the loop.
  struct Table {
    size_t result;
    ir::Value start, param, next;
  };

  // Takes the readers out of the function, to be run by `b`.
  ReaderRuns(ir::Builder& b, const StreamFinder& finder, const Streams& streams,
             const std::vector<StreamReader>& readers);

  // A row of an array, by number, as it is in front of the loop.
  using StartRow = std::function<ir::Value(size_t stream, const ir::Affine& row)>;
  // At the end of a block in front of the loop: what they make of rows that no turn makes.
  void Start(uint32_t block, BroughtValues& brought, const StartRow& start_row);
  // At the end of a block of the turn: of its rows and those of turns before, by array.
  using Rows = std::vector<std::vector<ir::Value>>;
  void Run(uint32_t block, const Rows& rows);
  // What others read of them is what turns have handed on. Takes away where they were.
  void Finish();

  std::vector<Table> Tables() const;

 private:
  struct Reader {
    const StreamReader& how;
    ir::Inst inst;
    ir::Affine shift;
    std::vector<Table> tables;
  };

  const Stream* StreamOf(ir::Value v) const;
  bool IsResult(ir::Value v) const;
  size_t AxisOf(ir::Value result) const;  // of its rows
  void Bring(Reader& r, BroughtValues& brought);
  void CheckSizes(const Reader& r, const DefinitionBlocks& defs);
  ir::Value Identity(const Reader& r, size_t result);
  void StartWhere(const std::vector<ir::Affine>& at_least_0, Reader& r, Copier& names);
  // Its point `at`. `is_turn`: of which the loop's turns are sure, if it has no less.
  using RowTaken = absl::FunctionRef<ir::Value(const TakenRow&)>;
  void Run(Reader& r, const ir::Affine& at, bool is_turn, RowTaken rows, Copier& made);
  void TakeRows(const Reader& r, RowTaken rows, ir::Inst& inst);
  void RunApart(bool in_front, BroughtValues& brought, const StartRow& start_row);
  ir::Value PutRow(const Reader& r, ir::Value table, const ir::Affine& at, ir::Value row,
                   size_t result);
  ir::Value Fold(ir::Value so_far, ir::Value next, const ir::EachResult& like);
  // Where that is a point of the reader's.
  static std::vector<ir::Constraint> HasPoint(const Reader& r, const ir::Affine& at);
  static ir::Value PointsOf(const Reader& r);

  ir::Builder& b_;
  ir::Function& f_;
  const StreamFinder& finder_;
  const Streams& streams_;
  std::vector<Reader> readers_;
};

}  // namespace pullback::opt
