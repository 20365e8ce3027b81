// What reads, behind a loop, the rows of an array that its turns make is run in the turns (stream_rows.cc).
#pragma once

#include <vector>

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

  // At the end of a block in front of the loop: what they make of rows that no turn makes.
  void Start(uint32_t block);
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
    std::vector<Table> tables;
  };

  bool IsResult(ir::Value v) const;
  void BringSizes(uint32_t block);
  ir::Values CopyWhere(const ir::Inst& whole, const std::vector<ir::Affine>& at_least_0,
                       Copier& names);
  void Run(Reader& r, const Rows& rows, Copier& made);
  void TakeRows(const Reader& r, const Rows& rows, ir::Inst& inst);
  const Stream* StreamOf(ir::Value v) const;
  ir::Value PutRow(const Reader& r, ir::Value table, const ir::Affine& at, ir::Value row,
                   const ir::EachResult& like);
  // Where the turn's row is one of the reader's.
  static std::vector<ir::Constraint> HasRow(const Reader& r, const ir::Affine& at);

  ir::Builder& b_;
  ir::Function& f_;
  const StreamFinder& finder_;
  const Streams& streams_;
  std::vector<Reader> readers_;
};

}  // namespace pullback::opt
