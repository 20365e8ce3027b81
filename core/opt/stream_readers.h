// What is behind a loop and reads the arrays that its turns fill, row by row (stream_rows.cc): statements that make rows of its rows, or
// add up what they make of all of them, and reads of the last rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/opt/statement_rows.h"
#include "core/opt/streams.h"

namespace pullback::opt {

// Of an instruction of the function, or of the body of one.
struct ReadPlace {
  uint32_t block;
  size_t place;
  std::optional<size_t> in_body;
};

// A read of a reader's body that takes a row of the array number `stream`: of the turn, or of so many turns before.
struct TakenRow {
  size_t in_body, stream;
  int64_t before;
};

struct PointsApart {
  bool any;  // there may be some
  ir::Affine
      first;  // `count` from there on, so far as the reader goes over them; 0: not known how many
  int64_t count;
  bool ends_at_turns;  // they lie below those of turns
};

struct StreamReader {
  uint32_t block;
  size_t place;
  ir::Value row;     // the index by which it takes rows
  ir::Value rows;    // how many it goes over
  ir::Affine shift;  // the turn that makes row r of the first array runs its point r - shift
  std::vector<TakenRow> taken;
  // By result: the axis of its rows, one for each; nothing: all are folded into one.
  std::vector<std::optional<size_t>> axes;
  std::set<size_t> stored;  // of those by rows: results that others read, too
  // Points of which the row is not made by a turn, but in front of the first one's or behind the last one's, in the order of turns.
  PointsApart before, behind;
  bool has_less;  // turns may make rows that it does not go over
};

// A read, behind the loop, of a row that is not its own index's.
struct LastRead {
  ReadPlace at;
  size_t stream;
  enum class Of : uint8_t {
    kStart,   // no turn makes it
    kLast,    // the turn `before_end` before the end does, whenever this is read
    kEither,  // that turn, or none does
    kPicked,  // some turn may
  };
  Of of;
  int64_t before_end;
  ir::Affine row;
  ir::Value reader;  // a result of the instruction, and where the read is
  uint32_t loc;
  bool is_asked;  // each point of that ends the run where there is no such row
};

struct StreamReaders {
  std::vector<StreamReader> readers;  // in order
  std::vector<LastRead> last;
  std::vector<int64_t> kept;  // by array: rows of turns before that these read, and the loop
};

class StreamReadersFinder {
 public:
  StreamReadersFinder(const ir::Function& f, const ir::Dominators& dominators,
                      const StreamFinder& streams);

  // Of all that nothing reads otherwise; the others are taken out.
  StreamReaders Find(Streams& streams) const;

 private:
  struct Made {
    size_t reader, axis;
  };
  struct Search {
    const Streams& s;
    const std::set<uint32_t> run;  // blocks that every run gets to that leaves the loop
    StreamReaders found;
    std::map<uint32_t, Made> made;  // by result that has rows
    std::set<uint32_t> banned;      // first results of statements that stay where they are
    ir::Value needed;               // an array that is read otherwise
    std::set<size_t> blocks;        // that may read the arrays, or what is made of them: by order_

    const BlockLoop& loop() const { return s[0].l.loop; }
    const Stream* StreamOf(ir::Value v) const;
    // One of the arrays that the instruction needs; kNoValue: none.
    ir::Value ReadBy(const ir::Inst& inst) const;
  };

  bool Find(Search& search) const;
  bool VisitAll(Search& search) const;

  std::set<uint32_t> BlocksRun(const BlockLoop& loop) const;
  void AddUsers(ir::Value v, Search& search) const;
  bool Visit(const ir::Inst& inst, uint32_t block, size_t place, Search& search) const;
  bool FindLast(const ir::Inst& inst, uint32_t block, size_t place, Search& search) const;
  std::optional<LastRead> LastOf(const ir::Inst& read, const ReadPlace& at,
                                 const Streams& streams) const;
  std::optional<StreamReader> ReaderOf(const ir::Inst& inst, uint32_t block, size_t place,
                                       Search& search) const;
  bool FindRow(const ir::Inst& inst, const Search& search, StreamReader& reader) const;
  bool IsMade(const ir::Each& each, ir::Value row, const ir::Affine& more,
              const StreamReader& maker) const;
  bool NeedsOnlyRows(const ir::Inst& inst, const Search& search) const;
  bool HasForm(const ir::Inst& inst, const BlockLoop& loop, StreamReader& reader) const;
  void FindEnds(const Stream& s, StreamReader& reader) const;
  // False: what is needed cannot be stored; what makes it is banned.
  bool FindStored(Search& search) const;
  bool MayStore(const StreamReader& reader, size_t result) const;
  const ir::Inst& InstOf(const StreamReader& reader) const {
    return f_.blocks[reader.block].insts[reader.place];
  }

  const ir::Function& f_;
  const ir::Dominators& dominators_;
  const StreamFinder& streams_;
  const StatementRows statement_rows_;
  const UsingBlocks users_;
  std::map<uint32_t, uint32_t> exits_;  // of loops that are left by their test alone, by header
  std::vector<size_t> order_;           // by block: its place in reverse postorder
};

}  // namespace pullback::opt
