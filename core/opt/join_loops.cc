// Two loops over the same turns, behind each other, which read rows of one array that neither of them makes, become one where
// the second needs nothing of the first: what a turn takes is made for both, a few rows at a time (turn_blocks.cc).
//
//   b0: e = …; jump b1(0, s0)               b0: e = …; c; jump b1(0, s0, t0)
//   b1(i, s): br lt(i, n), b2, b3           b1(i, s, t): br lt(i, n), b2, b6
//   b2: s' = … e[i] …; jump b1(i + 1, s')   b2: s' = … e[i] …; jump b7(i + 1, s')
//   b3: c; jump b4(0, t0)                   b7(i', s''): jump b5
//   b4(j, t): br lt(j, n), b5, b6           b5: t' = … e[i] …; jump b1(i', s'', t')
//   b5: t' = … e[j] …; jump b4(j + 1, t')   b6: … s, t …
//   b6: … s, t …
//
// Where one of them starts some turns later than the other, or ends some turns earlier, a branch leaves the others out: in b7, of the
// second one; in a block between b1 and b2, of the first one, which leads to b7 otherwise.
//
// A loop may take rows of an array of which a statement behind it reads a few more. It runs to the last of these, with turns that do
// nothing, so that its blocks make what the statement takes (row_asides.h).
//
// A loop behind one that fills an array, a row in each turn, may take rows of that which are made by then: it becomes one with it, too,
// so that nobody need hold the array (stream_rows.cc).
//
// Of others only where the turns of one of them cannot trap, and what stands between them cannot, or the first one's turns, so that the error
// of a run is the same; and where the array may be larger than the function's own.
// Comes before derivatives are taken: the reverse loop is one, too.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/ir/append.h"
#include "core/ir/block_loops.h"
#include "core/ir/dominance.h"
#include "core/ir/own_arrays.h"
#include "core/opt/block_loops.h"
#include "core/opt/loop_traps.h"
#include "core/opt/simplify.h"
#include "core/opt/streams.h"
#include "core/opt/turn_facts.h"
#include "core/opt/turn_rows.h"

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int kMostJoins = 8;  // of a function: each walks over it
constexpr int64_t kMostRowsAway = 4;
constexpr int64_t kMostStart = 16,
                  kMostMore = 16;  // turns that are left out at first, that do nothing

class LoopJoiner {
 public:
  LoopJoiner(const ir::Module& m, ir::Function& f)
      : f_(f),
        dominators_(f),
        before_(ir::Predecessors(f)),
        defs_(f),
        users_(f),
        own_(f),
        traps_(m, f, defs_),
        all_loops_(FindLoops(f, dominators_)),
        turn_rows_(f, all_loops_, dominators_, defs_) {}

  bool Run() {
    FindRows();
    if (rows_.empty()) return false;
    FindCounted();
    FindTurns();
    return JoinTwo([&](size_t first, size_t second, uint32_t between) {
             return ShareRows(first, second) &&
                    AreApart(loops_[first], loops_[second], between, {}) &&
                    MayMove(between, loops_[first]) &&
                    (CannotTrap(loops_[first]) || CannotTrap(loops_[second]));
           }) ||
           RunToLastRow();
  }
  // Where the second one reads rows that the first one makes, in the same turn or before, or a statement behind them reads rows of both.
  // What ends the run may do so a few turns earlier.
  bool RunMade() {
    is_made_ = true;
    FindCounted();
    const StreamFinder streams(f_);
    const std::vector<RowLoop> row_loops = streams.Loops();
    const auto made_by = [&](size_t k) {
      const auto makes = std::find_if(row_loops.begin(), row_loops.end(), [&](const RowLoop& l) {
        return l.loop.header == loops_[k].loop.header;
      });
      return makes == row_loops.end() ? Streams() : streams.Find(*makes);
    };
    return JoinTwo([&](size_t first, size_t second, uint32_t between) {
      if (!IsMovable(between)) return false;
      const Streams made = made_by(first);
      if (made.empty()) return false;
      made_ = RowsTaken(made, streams, loops_[second]);
      return (!made_.empty() || AreReadTogether(made, made_by(second), second)) &&
             AreApart(loops_[first], loops_[second], between, made_);
    });
  }

 private:
  template <typename May>
  bool JoinTwo(May&& may) {
    std::map<uint32_t, size_t> entered;  // loops, by the block that enters them
    for (size_t k = 0; k < loops_.size(); ++k) entered[loops_[k].loop.entry] = k;
    for (size_t k = 0; k < loops_.size(); ++k) {
      const CountedLoop& first = loops_[k];
      for (uint32_t from : {first.loop.header, first.loop.Exit(f_).block}) {
        const auto next = entered.find(from);
        if (next == entered.end() || next->second == k) continue;
        const CountedLoop& second = loops_[next->second];
        const std::optional<uint32_t> between = Between(first, second);
        if (!between || !may(k, next->second, *between)) continue;
        Join(first, second, *between);
        return true;
      }
    }
    return false;
  }

  // Arrays of rows larger than the function's own, which are read by `index` alone, and where.
  struct Read {
    uint32_t block;
    size_t place;
    std::optional<size_t> in_body;
    Affine row;
    std::vector<size_t> forwards = {}, backwards = {};  // loops of whose turns it is the row
  };
  struct Rows {
    Value count;
    std::vector<Read> reads = {};
  };

  void FindRows() {
    for (const ir::Block& b : f_.blocks) {
      for (const Inst& inst : b.insts) {
        for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
          const ir::ValueSpan shape = inst.each->results[k].shape;
          if (shape.size() > 1 && !own_.IsNoLarger(shape)) rows_[inst.results[k]] = {shape[0]};
        }
      }
    }
    for (uint32_t b = 0; b < f_.blocks.size() && !rows_.empty(); ++b) {
      for (size_t place = 0; place < f_.blocks[b].insts.size(); ++place) {
        const Inst& inst = f_.blocks[b].insts[place];
        if (!inst.each) {
          FindReads(inst, {b, place, {}, {}});
          continue;
        }
        for (size_t k = 0; k < inst.each->body.size(); ++k)
          FindReads(inst.each->body[k], {b, place, k, {}});
        for (const ir::EachResult& r : inst.each->results) rows_.erase(r.into);
      }
      ir::ForEachTermOperand(f_.blocks[b].term, [&](Value v) { rows_.erase(v); });
    }
  }
  void FindReads(const Inst& inst, Read at) {
    ir::ForEachOperand(inst, [&](Value v) {
      const auto it = rows_.find(v);
      if (it == rows_.end()) return;
      if (inst.op != Op::Index || v != inst.args[0]) {
        rows_.erase(it);
        return;
      }
      at.row = inst.subs[0];
      it->second.reads.push_back(at);
    });
  }

  void FindCounted() {
    for (const BlockLoop& loop : all_loops_) {
      if (f_.blocks[loop.header].term.snapshots.valid()) continue;
      const std::optional<Counter> c = FindCounter(f_, loop, defs_);
      if (c && c->op == Op::Lt && c->step == 1)
        loops_.push_back({loop, *c, f_.blocks[loop.header].params[c->param]});
    }
  }
  void FindTurns() {
    std::vector<std::vector<size_t>> around(f_.blocks.size());
    for (size_t k = 0; k < loops_.size(); ++k) {
      for (uint32_t b : loops_[k].loop.blocks) around[b].push_back(k);
    }
    const auto is_near = [](const Affine& away) {
      return away.IsConst() && std::abs(away.constant) <= kMostRowsAway;
    };
    for (auto& [array, rows] : rows_) {
      for (Read& read : rows.reads) {
        for (size_t k : around[read.block]) {
          if (NotesNextTo(read, rows.count, k) || is_near(read.row - Affine::Of(loops_[k].turn)))
            read.forwards.push_back(k);
          if (is_near(read.row - loops_[k].LeftBehind())) read.backwards.push_back(k);
        }
      }
    }
  }
  // By cases, max(0, i - 1), too; it is there then, and noted as such.
  bool NotesNextTo(const Read& read, Value rows, size_t loop) {
    const std::optional<Turns> turns = TurnsOf(loops_[loop]);
    if (!turns) return false;
    const auto span =
        turn_rows_.SpanOf(read.row, rows, read.block, read.place, read.in_body, *turns, 1);
    if (!span || span->first < -kMostRowsAway || span->last > kMostRowsAway) return false;
    const Inst& inst = f_.blocks[read.block].insts[read.place];
    known_.insert(read.in_body ? &inst.each->body[*read.in_body] : &inst);
    return true;
  }
  std::optional<Turns> TurnsOf(const CountedLoop& l) const {
    const std::optional<int64_t> start = StartOf(l);
    return start ? std::optional(Turns{l.loop, l.turn, l.counter.bound, Affine::Const(*start)})
                 : std::nullopt;
  }
  bool CannotTrap(const CountedLoop& l) const {
    std::set<const Inst*> known = known_;
    if (const auto turns = TurnsOf(l)) {
      for (const Inst* check : turn_rows_.IdleChecks(*turns)) known.insert(check);
    }
    return traps_.CannotTrap(l, known);
  }

  // Where the first loop leads to, if that goes on with the second one's turns: the second's header, or a block that enters it.
  std::optional<uint32_t> Between(const CountedLoop& first, const CountedLoop& second) const {
    const uint32_t next = first.loop.Exit(f_).block;
    const bool direct = second.loop.entry == first.loop.header && next == second.loop.header;
    const bool by_block = next == second.loop.entry && !f_.blocks[next].insts.empty() &&
                          f_.blocks[next].params.empty() &&
                          f_.blocks[next].term.kind == ir::Terminator::Kind::kJump &&
                          before_[next].size() == 1;
    if (!direct && !by_block) return std::nullopt;
    if (!RunTogether(first, second)) return std::nullopt;
    const Inst* first_test = defs_.Inst(f_.blocks[first.loop.header].term.cond);
    const Inst* second_test = defs_.Inst(f_.blocks[second.loop.header].term.cond);
    if (first_test->op != second_test->op || first.loop.exit_edge != second.loop.exit_edge)
      return std::nullopt;
    return HasTestAlone(first) && HasTestAlone(second) ? std::optional(next) : std::nullopt;
  }
  // From the same number to the same, or a few turns apart, and where both end is not asked for.
  bool RunTogether(const CountedLoop& first, const CountedLoop& second) const {
    const std::optional<int64_t> a = StartOf(first), b = StartOf(second);
    if (!a || !b || *a < 0 || *b < 0) return false;
    const bool same_end = AreSame(first.counter.bound, second.counter.bound);
    if (a == b && same_end) return true;
    const auto is_bounded = [&](const CountedLoop& l) {
      return TimesBound(l.counter.bound, 1, defs_).has_value();  // k - 1 may wrap
    };
    const bool are_near = TurnsBeyond(first, second) && is_bounded(first) && is_bounded(second);
    return std::max(*a, *b) <= kMostStart && (same_end || are_near) && !IsAskedFor(first) &&
           !IsAskedFor(second);
  }
  // By how many the first one ends later.
  std::optional<int64_t> TurnsBeyond(const CountedLoop& first, const CountedLoop& second) const {
    return RowsBeyond(first.counter.bound, second.counter.bound, defs_);
  }
  std::optional<int64_t> StartOf(const CountedLoop& l) const {
    return NumberOf(l.loop.Arguments(f_)[l.counter.param]);
  }
  // Where its turns have come to, behind it.
  bool IsAskedFor(const CountedLoop& l) const {
    const ir::Values& left = l.loop.Exit(f_).args;
    return users_.AnyOutside(l.turn, l.loop) ||
           std::find(left.begin(), left.end(), l.turn) != left.end();
  }
  // What else its header computes is there when the turns are over, too.
  bool HasTestAlone(const CountedLoop& l) const {
    const ir::Block& header = f_.blocks[l.loop.header];
    return std::all_of(header.insts.begin(), header.insts.end(), [&](const Inst& inst) {
      return inst.op == Op::Const || inst.results[0] == header.term.cond;
    });
  }
  std::optional<int64_t> NumberOf(Value v) const {
    const Inst* inst = defs_.Inst(v);
    if (inst == nullptr || inst->op != Op::Const) return std::nullopt;
    return static_cast<int64_t>(inst->bits);
  }
  bool AreSame(Value a, Value b) const {
    return a == b || (NumberOf(a) && NumberOf(a) == NumberOf(b));
  }

  // Whether both read rows at or next to their turns' of some array, and nobody else does but such loops, and statements behind them.
  bool ShareRows(size_t first, size_t second) const {
    return std::any_of(rows_.begin(), rows_.end(), [&](const auto& array) {
      return !defs_.IsInside(array.first, loops_[first].loop) &&
             (AreOfTurns(array.second.reads, &Read::forwards, first, second) ||
              AreOfTurns(array.second.reads, &Read::backwards, first, second));
    });
  }
  bool AreOfTurns(const std::vector<Read>& reads, std::vector<size_t> Read::* loops, size_t first,
                  size_t second) const {
    bool by_first = false, by_second = false;
    for (const Read& read : reads) {
      const BlockLoop& last = loops_[second].loop;
      const bool is_behind =
          read.in_body && dominators_.Dominates(last.header, read.block) && !last.Holds(read.block);
      if ((read.*loops).empty() && !is_behind) return false;
      for (size_t k : read.*loops) {
        by_first |= k == first;
        by_second |= k == second;
      }
    }
    return by_first && by_second;
  }
  bool RunToLastRow() {
    for (size_t k = 0; k < loops_.size(); ++k) {
      const Value rows = MoreRows(k);
      const CountedLoop& l = loops_[k];
      if (!rows.valid() || IsAskedFor(l) || !HasTestAlone(l) || !TurnsOf(l)) continue;
      const Own own{{}, l.counter.bound};
      RunFirst(l.loop, own, l.counter.param, f_.blocks[l.loop.header].params, l.loop.header);
      CountAll(l.loop, l.counter.param, own, 0, rows);
      return true;
    }
    return false;
  }
  // Of an array whose rows the loop's turns take, and statements behind it, one by one: how many these are, if a few more than turns.
  Value MoreRows(size_t loop) const {
    const CountedLoop& l = loops_[loop];
    for (const auto& [array, rows] : rows_) {
      const auto beyond = RowsBeyond(rows.count, l.counter.bound, defs_);
      if (!beyond || *beyond < 1 || *beyond > kMostMore || defs_.IsInside(array, l.loop)) continue;
      bool by_turns = false, by_rows = false, by_none = false;
      for (const Read& read : rows.reads) {
        const bool of_turn = read.forwards == std::vector<size_t>{loop};
        const bool of_row = read.forwards.empty() && IsByRows(read, rows.count) &&
                            dominators_.Dominates(l.loop.header, read.block);
        by_turns |= of_turn;
        by_rows |= of_row;
        by_none |= !of_turn && !of_row;
      }
      if (by_turns && by_rows && !by_none) return rows.count;
    }
    return {};
  }
  bool IsByRows(const Read& read, Value rows) const {
    if (!read.in_body) return false;
    const ir::Each& each = *f_.blocks[read.block].insts[read.place].each;
    return std::any_of(each.indices.begin(), each.indices.end(), [&](const ir::IndexVar& i) {
      return RowsBeyond(i.extent, rows, defs_) == int64_t{0};
    });
  }

  // Of the arrays, those of which the second loop's turns take rows that the first one has made by then, or does not make, and nothing
  // else.
  std::set<Value> RowsTaken(const Streams& arrays, const StreamFinder& streams,
                            const CountedLoop& second) const {
    std::set<Value> taken, needed;
    const auto look = [&](const Inst& inst, const Stream& s) {
      bool reads = false;
      ir::ForEachOperand(inst, [&](Value v) { reads |= v == s.array; });
      if (!reads) return;
      const bool by_row =
          inst.op == Op::Index &&
          s.TurnsBefore(
              s.row,
              streams.FormOf(inst.subs[s.axis]).Substitute(second.turn, Affine::Of(s.l.turn)));
      (by_row ? taken : needed).insert(s.array);
    };
    for (const Stream& s : arrays) {
      for (uint32_t b : second.loop.blocks) {
        for (const Inst& inst : f_.blocks[b].insts) {
          if (!inst.each) look(inst, s);
          for (size_t k = 0; inst.each && k < inst.each->body.size(); ++k)
            look(inst.each->body[k], s);
        }
      }
    }
    std::erase_if(taken, [&](Value v) { return needed.contains(v); });
    return taken;
  }

  // Whether a statement behind the second loop reads an array of each, whose rows go on in the same direction.
  bool AreReadTogether(const Streams& a, const Streams& b, size_t second) const {
    if (b.empty() || a[0].step != b[0].step) return false;
    const auto reads = [](const Inst& statement, const Streams& of) {
      return std::any_of(
          statement.each->body.begin(), statement.each->body.end(), [&](const Inst& read) {
            return read.op == Op::Index && std::any_of(of.begin(), of.end(), [&](const Stream& s) {
                     return s.array == read.args[0];
                   });
          });
    };
    for (const Stream& s : a) {
      for (uint32_t block : users_.Of(s.array)) {
        if (!dominators_.Dominates(loops_[second].loop.header, block)) continue;
        const std::vector<Inst>& insts = f_.blocks[block].insts;
        if (std::any_of(insts.begin(), insts.end(), [&](const Inst& inst) {
              return inst.each && reads(inst, a) && reads(inst, b);
            }))
          return true;
      }
    }
    return false;
  }

  // Whether neither the second loop nor what stands in front of it reads what the first one defines, but, in turns, these arrays.
  bool AreApart(const CountedLoop& first, const CountedLoop& second, uint32_t between,
                const std::set<Value>& made) const {
    const auto is_outside = [&](Value v) { return !defs_.IsInside(v, first.loop); };
    const auto reads_none = [&](uint32_t b, bool with_term) {
      bool none = true;
      const bool is_turn = second.loop.Holds(b) && b != second.loop.header;
      for (const Inst& inst : f_.blocks[b].insts) {
        ir::ForEachOperand(
            inst, [&](Value v) { none &= is_outside(v) || (is_turn && made.contains(v)); });
      }
      if (with_term)
        ir::ForEachTermOperand(f_.blocks[b].term, [&](Value v) { none &= is_outside(v); });
      return none;
    };
    const ir::Values& start = second.loop.Arguments(f_);
    return std::all_of(start.begin(), start.end(), is_outside) && reads_none(between, true) &&
           std::all_of(second.loop.blocks.begin(), second.loop.blocks.end(), [&](uint32_t b) {
             // Where the second loop leads to may take what the first one leaves.
             return reads_none(b, b != second.loop.header);
           });
  }

  bool IsMovable(uint32_t between) const {
    const std::vector<Inst>& insts = f_.blocks[between].insts;
    return std::all_of(insts.begin(), insts.end(), [&](const Inst& inst) {
      return inst.op == Op::Zeros || inst.each || inst.op == Op::Check || inst.op == Op::Index ||
             (ir::Info(inst.op).flags & ir::kPure) != 0;
    });
  }
  // What stands between the loops: if it traps, no turn of the first loop would have trapped before.
  bool MayMove(uint32_t between, const CountedLoop& first) const {
    const std::vector<Inst>& insts = f_.blocks[between].insts;
    return IsMovable(between) &&
           (CannotTrap(first) || std::all_of(insts.begin(), insts.end(), [&](const Inst& inst) {
              return traps_.CannotTrap(inst, first);
            }));
  }

  void Join(const CountedLoop& earlier, const CountedLoop& second, uint32_t between) {
    BlockLoop first = earlier.loop;
    const Value turn = earlier.turn;
    const Own of_first = OwnTurns(earlier, second), of_second = OwnTurns(second, earlier);
    const int64_t second_start = *StartOf(second);
    // What stands between them is run where the loops are entered, and nowhere else.
    if (f_.blocks[first.entry].term.kind != ir::Terminator::Kind::kJump) AddPreheader(f_, first);
    const ir::Values start = second.loop.Arguments(f_);
    const ir::Edge exit = second.loop.Exit(f_), stay = second.loop.Stay(f_);
    Copier names(f_);  // what the second one carries
    std::vector<Inst>& in_front = f_.blocks[first.entry].insts;
    const auto move = [&](uint32_t b, bool constants) {
      for (Inst& inst : f_.blocks[b].insts) {
        if (!constants || inst.op == Op::Const) in_front.push_back(std::move(inst));
      }
      f_.blocks[b].insts.clear();
    };
    if (between != second.loop.header) move(between, false);
    move(second.loop.header, true);

    const auto middle = static_cast<uint32_t>(f_.blocks.size());
    f_.blocks.emplace_back();
    ir::Block& header = f_.blocks[first.header];
    for (Value v : header.params) f_.blocks[middle].params.push_back(f_.NewLike(f_, v));
    const ir::Values carried = header.params;
    f_.blocks[middle].term = {ir::Terminator::Kind::kJump, ir::kNoValue, {stay}, {}};
    for (uint32_t latch : first.latches) {
      for (ir::Edge& e : f_.blocks[latch].term.edges) {
        if (e.block == first.header) e.block = middle;
      }
    }
    ir::Edge& into = f_.blocks[first.entry].term.edges[first.entry_edge];
    const ir::Values params = f_.blocks[second.loop.header].params;
    for (size_t k = 0; k < params.size(); ++k) {
      if (k == second.counter.param) continue;
      header.params.push_back(names.New(params[k]));
      into.args.push_back(start[k]);
    }
    TakeMade(carried, middle, second.loop);
    names.Set(second.turn, turn);
    names.Set(f_.blocks[second.loop.header].term.cond, header.term.cond);
    for (uint32_t latch : second.loop.latches) {
      for (ir::Edge& e : f_.blocks[latch].term.edges) {
        if (e.block != second.loop.header) continue;
        ir::Values args = f_.blocks[middle].params;
        for (size_t k = 0; k < e.args.size(); ++k) {
          if (k != second.counter.param) args.push_back(e.args[k]);
        }
        e = {first.header, std::move(args)};
      }
    }
    header.term.edges[first.exit_edge] = exit;
    const size_t counter = earlier.counter.param;
    if (!of_second.IsAll()) RunSecond(first, of_second, turn, carried.size(), middle);
    if (!of_first.IsAll()) RunFirst(first, of_first, counter, carried, middle);
    CountAll(first, counter, of_first, second_start, second.counter.bound);
    if (is_made_) MergeBackEdges(first);
    Rename(names);
    SimplifyControlFlow(f_);  // the blocks that nothing leads to
  }
  // Turns end in one block (streams.h).
  void MergeBackEdges(const BlockLoop& joined) {
    const auto end = static_cast<uint32_t>(f_.blocks.size());
    f_.blocks.emplace_back();
    for (uint32_t b = 0; b < end; ++b) {
      for (ir::Edge& e : f_.blocks[b].term.edges) {
        if (e.block == joined.header && b != joined.entry) e.block = end;
      }
    }
    ir::Values params;
    for (Value v : f_.blocks[joined.header].params) params.push_back(f_.NewLike(f_, v));
    f_.blocks[end].params = params;
    f_.blocks[end].term = {
        ir::Terminator::Kind::kJump, ir::kNoValue, {{joined.header, params}}, {}};
  }
  // Turns of the second loop read what the first one's turn has left.
  void TakeMade(const ir::Values& carried, uint32_t middle, const BlockLoop& second) {
    Copier left(f_);
    for (size_t k = 0; k < carried.size(); ++k) {
      if (made_.contains(carried[k])) left.Set(carried[k], f_.blocks[middle].params[k]);
    }
    if (made_.empty()) return;
    for (uint32_t b : second.blocks) {
      for (Inst& inst : f_.blocks[b].insts) left.Rename(inst);
    }
  }
  // Which turns of the joined loop are those of one of the two.
  struct Own {
    std::optional<int64_t> from;
    Value end;
    bool IsAll() const { return !from && !end.valid(); }
  };
  Own OwnTurns(const CountedLoop& one, const CountedLoop& other) const {
    Own own;
    if (*StartOf(one) > *StartOf(other)) own.from = StartOf(one);
    if (TurnsBeyond(one, other).value_or(0) < 0) own.end = one.counter.bound;
    return own;
  }
  void RunOwn(uint32_t block, const Own& own, Value turn, ir::Edge run, ir::Edge past) {
    ir::Appender out(f_, f_.blocks[block].insts, 0);
    const ir::Type type = ir::Type::Bool();
    Value is_own;
    if (own.from) is_own = out.Make(Op::Ge, type, {turn, out.Number(Affine::Const(*own.from))});
    if (own.end.valid()) {
      const Value in_front = out.Make(Op::Lt, type, {turn, own.end});
      is_own = own.from ? out.Make(Op::And, type, {is_own, in_front}) : in_front;
    }
    f_.blocks[block].term = {
        ir::Terminator::Kind::kBranch, is_own, {std::move(run), std::move(past)}, {}};
  }
  // The others of its turns leave what it carries as it is. `carried`: what the first one does; the joined header has that of the second
  // one behind it.
  void RunSecond(const BlockLoop& joined, const Own& own, Value turn, size_t carried,
                 uint32_t middle) {
    ir::Values args = f_.blocks[middle].params;
    const ir::Values& params = f_.blocks[joined.header].params;
    args.insert(args.end(), params.begin() + static_cast<std::ptrdiff_t>(carried), params.end());
    RunOwn(middle, own, turn, f_.blocks[middle].term.edges[0], {joined.header, std::move(args)});
  }
  void RunFirst(const BlockLoop& joined, const Own& own, size_t counter, ir::Values carried,
                uint32_t middle) {
    const auto front = static_cast<uint32_t>(f_.blocks.size());
    f_.blocks.emplace_back();
    ir::Appender out(f_, f_.blocks[front].insts, 0);
    const Value turn = carried[counter];
    carried[counter] = out.Make(Op::Add, ir::Type::I64(), {turn, out.Number(Affine::Const(1))});
    ir::Edge& stay = f_.blocks[joined.header].term.edges[1 - joined.exit_edge];
    RunOwn(front, own, turn, std::exchange(stay, {front, {}}), {middle, std::move(carried)});
  }
  // The turns of both.
  void CountAll(const BlockLoop& joined, size_t counter, const Own& first, int64_t start,
                Value end) {
    if (first.from) {
      ir::Appender entry(f_, f_.blocks[joined.entry].insts, 0);
      f_.blocks[joined.entry].term.edges[joined.entry_edge].args[counter] =
          entry.Number(Affine::Const(start));
    }
    if (!first.end.valid()) return;
    ir::Block& header = f_.blocks[joined.header];
    for (Inst& inst : header.insts) {
      if (inst.results[0] == header.term.cond)
        std::replace(inst.args.begin(), inst.args.end(), first.end, end);
    }
  }
  void Rename(const Copier& names) {
    for (ir::Block& b : f_.blocks) {
      for (Inst& inst : b.insts) names.Rename(inst);
      ir::ForEachTermOperand(b.term, [&](Value& v) { v = names.Get(v); });
    }
  }

  ir::Function& f_;
  const ir::Dominators dominators_;
  const FlatLists before_;  // each block
  const DefinitionBlocks defs_;
  const UsingBlocks users_;
  const ir::OwnArrays own_;
  const LoopTraps traps_;
  const std::vector<BlockLoop> all_loops_;
  const TurnRows turn_rows_;
  std::map<Value, Rows> rows_;
  std::set<const Inst*> known_;  // reads that cannot trap
  std::vector<CountedLoop> loops_;
  bool is_made_ = false;
  std::set<Value> made_;  // by the first of two that are joined, and read by the second
};

}  // namespace

bool JoinMakers(const ir::Module& m, ir::Function& f) {
  bool changed = false;
  for (int k = 0; k < kMostJoins && f.blocks.size() > 1 && LoopJoiner(m, f).RunMade(); ++k)
    changed = true;
  return changed;
}

bool JoinLoops(const ir::Module& m, ir::Function& f) {
  bool changed = false;
  for (int k = 0; k < kMostJoins && f.blocks.size() > 1 && LoopJoiner(m, f).Run(); ++k)
    changed = true;
  return changed;
}

}  // namespace pullback::opt
