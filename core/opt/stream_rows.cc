// An array that the turns of a loop fill, a row each, and of which they take no rows but their own and those of few turns before, is not
// held where all that is behind the loop takes its rows one by one, or the last ones: turns hand the rows on, and each runs what reads
// its row.
//
//   b0: jump b1(0, z0)                                    b0: r0 = z0[-1]; s0 = sum of f(z0[i]) for i that no turn makes
//   b1(i, z): br lt(i, n), b2, b3                             jump b1(0, r0, s0)
//   b2: … z' = update z[i, j], … z[i - 1, j] …            b1(i, r, s): br lt(i, n), b4, b3
//       jump b1(i + 1, z')                                b4: c = z0[i]; jump b2
//   b3: s = each(i < n, j < h): sum []: f(z[i, j])        b2: … c' = update c[j], … r[j] …
//                                                             s' = s + each(j < h): sum []: f(c'[j])
//                                                             jump b1(i + 1, c', s')
//                                                         b3: s
//
// What statements behind the loop make for each row, others may take row by row; what is needed otherwise is stored by the turns, where it
// is no larger than the function's own arrays. Sums are added up turn by turn.
// Only of arrays that may be larger than the function's own, and where every run that leaves the loop gets to what reads them: where that
// ends the run, it may do so in a turn. Comes before derivatives are taken: turns take back what they made of their row.
#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/ir/append.h"
#include "core/opt/reader_runs.h"
#include "core/opt/short_index.h"
#include "core/opt/simplify.h"
#include "core/opt/stream_array.h"

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int kMostStreams = 64;  // of a function: each walks over it

// The change of one loop.
class Streaming {
 public:
  Streaming(ir::Module& m, ir::Function& f, const StreamFinder& finder, const Streams& streams)
      : f_(f), b_(m, f), finder_(finder), streams_(streams), loop_(streams[0].l.loop) {}

  void Run(const StreamReaders& found) {
    for (size_t k = 0; k < streams_.size(); ++k)
      arrays_.emplace_back(b_, finder_, streams_[k], found.kept[k]);
    // First what changes no place of an instruction.
    for (StreamArray& a : arrays_) {
      for (uint32_t b : loop_.blocks) a.ReadRowsIn(b);
    }
    for (const LastRead& last : found.last) arrays_[last.stream].ReadLast(last);
    ReaderRuns readers(b_, finder_, streams_, found.readers);
    AddPreheader(f_, loop_);
    BroughtValues brought(f_, finder_.front(), streams_[0].l.loop, loop_.entry);
    b_.SetBlock(loop_.entry);
    for (StreamArray& a : arrays_) a.CheckShape();
    readers.Start(loop_.entry, brought, [&](size_t stream, const Affine& row) {
      return arrays_[stream].RowOfStart(row);
    });
    b_.SetBlock(loop_.entry);
    std::vector<Value> starts;
    for (StreamArray& a : arrays_) {
      const std::vector<Value> rows = a.StartRows(brought);
      starts.insert(starts.end(), rows.begin(), rows.end());
    }
    BeginTurns();
    EndTurns(readers);
    LeaveLoop();
    HandOn(starts, readers.Tables());
    readers.Finish();
    for (const LastRead& last : found.last) {
      if (last.is_asked) CheckRow(last);
    }
  }

 private:
  // In front of a read that would have ended the run.
  void CheckRow(const LastRead& last) {
    std::vector<Inst>& insts = f_.blocks[last.at.block].insts;
    const auto read = std::find_if(insts.begin(), insts.end(), [&](const Inst& inst) {
      return !inst.results.empty() && inst.results[0] == last.reader;
    });
    std::vector<Inst> check;
    ir::Appender out(f_, check, last.loc);
    const Value row = out.Number(last.row), rows = streams_[last.stream].rows();
    const ir::Type type = ir::Type::Bool();
    Value may_read = out.Make(
        Op::And, type,
        {out.Make(Op::Ge, type, {row, out.Number(Affine())}), out.Make(Op::Lt, type, {row, rows})});
    for (size_t k = 0; read->each && k < read->each->indices.size(); ++k) {
      const Value none =
          out.Make(Op::Le, type, {read->each->indices[k].extent, out.Number(Affine())});
      may_read = out.Make(Op::Or, type, {may_read, none});
    }
    out.Check(may_read, ir::TrapKind::kIndex, {row, rows});
    insts.insert(read, std::make_move_iterator(check.begin()),
                 std::make_move_iterator(check.end()));
  }

  void BeginTurns() {
    const uint32_t begin = b_.NewBlock();
    const ir::Edge stay = loop_.Stay(f_);
    b_.SetBlock(begin);
    for (StreamArray& a : arrays_) a.BeginTurn();
    b_.Jump(stay.block, stay.args);
    f_.blocks[loop_.header].term.edges[1 - loop_.exit_edge] = {begin, {}};
  }

  ir::Edge& BackEdge() {
    ir::Edges& edges = f_.blocks[loop_.latches[0]].term.edges;
    return *std::find_if(edges.begin(), edges.end(),
                         [&](const ir::Edge& e) { return e.block == loop_.header; });
  }
  void EndTurns(ReaderRuns& readers) {
    ir::Values args = BackEdge().args;
    const uint32_t end = b_.NewBlock();
    BackEdge() = {end, {}};
    ReaderRuns::Rows rows;
    for (const StreamArray& a : arrays_) {
      rows.push_back(a.rows());
      if (const Value made = args[a.stream().param]; made != a.stream().array)
        rows.back()[0] = made;
    }
    readers.Run(end, rows);
    std::vector<Value> next;
    for (size_t k = 0; k < arrays_.size(); ++k) {
      const std::vector<Value> of_array = arrays_[k].EndTurn(rows[k][0]);
      next.insert(next.end(), of_array.begin(), of_array.end());
    }
    Replace(args, next, readers.Tables(), [](const auto& t) { return t.next; });
    b_.Jump(loop_.header, args);
  }
  // What the arrays were, by rows and what readers hand on.
  template <typename Of>
  void Replace(ir::Values& values, const std::vector<Value>& rows,
               const std::vector<ReaderRuns::Table>& tables, Of&& of) {
    for (auto s = streams_.rbegin(); s != streams_.rend(); ++s)  // by number of parameter
      values.erase(values.begin() + static_cast<std::ptrdiff_t>(s->param));
    values.insert(values.end(), rows.begin(), rows.end());
    for (const ReaderRuns::Table& t : tables) values.push_back(of(t));
  }
  void HandOn(const std::vector<Value>& starts, const std::vector<ReaderRuns::Table>& tables) {
    std::vector<Value> before;
    for (const StreamArray& a : arrays_) {
      const std::vector<Value> rows = a.HandedOn();
      before.insert(before.end(), rows.begin(), rows.end());
    }
    Replace(f_.blocks[loop_.header].params, before, tables, [](const auto& t) { return t.param; });
    Replace(f_.blocks[loop_.entry].term.edges[loop_.entry_edge].args, starts, tables,
            [](const auto& t) { return t.start; });
  }

  void LeaveLoop() {
    if (std::none_of(arrays_.begin(), arrays_.end(),
                     [](const StreamArray& a) { return a.HasChosen(); }))
      return;
    const uint32_t block = b_.NewBlock();
    ir::Edge& exit = f_.blocks[loop_.header].term.edges[loop_.exit_edge];
    const ir::Edge to = std::exchange(exit, {block, {}});
    b_.SetBlock(block);
    const RowLoop& l = streams_[0].l;
    const Value runs = b_.Make(Op::Ge, {b_.AffineOf(l.bound), b_.AffineOf(l.first)});
    for (StreamArray& a : arrays_) a.ChooseLast(runs);
    b_.Jump(to.block, to.args);
  }

  ir::Function& f_;
  ir::Builder b_;
  const StreamFinder& finder_;
  const Streams& streams_;
  BlockLoop loop_;
  std::vector<StreamArray> arrays_;
};

// Windows of rows, `sum k < 3 { z[i + k] }`, are reads of rows next to each other.
bool UnrollWindows(ir::Function& f, const StreamFinder& finder, const UsingBlocks& users,
                   const Stream& s) {
  bool changed = false;
  for (uint32_t b : std::set<uint32_t>(users.Of(s.array).begin(), users.Of(s.array).end())) {
    if (!finder.IsBehind(b, s.l.loop)) continue;
    for (Inst& inst : f.blocks[b].insts) {
      for (size_t k = 0; inst.each && k < inst.each->body.size(); ++k) {
        const Inst& read = inst.each->body[k];
        if (read.op != Op::Index || read.args[0] != s.array || read.subs[s.axis].terms.size() < 2)
          continue;
        for (const ir::IndexVar& i : inst.each->indices) {
          const Affine n = finder.FormOf(Affine::Of(i.extent));
          const bool is_short = n.IsConst() && n.constant <= kMostRowsKept + 1;
          if (read.subs[s.axis].Coeff(i.var) == 0 || !is_short) continue;
          if (UnrollIndex(f, inst, i.var, n.constant)) {
            changed = true;
            k = inst.each->body.size();
          }
          break;
        }
      }
    }
  }
  return changed;
}

bool StreamOne(ir::Module& m, ir::Function& f, bool& changed) {
  const ir::Dominators dominators(f);
  const StreamFinder finder(f);
  const StreamReadersFinder readers(f, dominators, finder);
  const UsingBlocks users(f);
  for (const RowLoop& l : finder.Loops()) {
    Streams streams = finder.Find(l);
    for (const Stream& s : streams) changed |= UnrollWindows(f, finder, users, s);
    const StreamReaders found = readers.Find(streams);
    if (streams.empty()) continue;
    Streaming(m, f, finder, streams).Run(found);
    return changed = true;
  }
  return false;
}

}  // namespace

bool StreamRows(ir::Module& m, ir::Function& f) {
  bool changed = false;
  for (int k = 0; k < kMostStreams && f.blocks.size() > 1 && StreamOne(m, f, changed); ++k) {
  }
  return changed;
}

}  // namespace pullback::opt
