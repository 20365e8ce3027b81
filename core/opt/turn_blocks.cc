// Arrays of which a loop of blocks takes a row in each turn, and nobody anything else, are made a few rows at a time: as
// much is computed, in the same order, and no array of all rows is held, nor one of their cotangents.
//
//   b0: e = each(p < n, k < s) { … } sum [p, k]     b0: jump b4(0, 0.0)
//       jump b1(0, 0.0)                             b4(b, v'): br lt(b, (n + 15) / 16), b5, b3
//   b1(i, v): br lt(i, n), b2, b3                   b5: m = min(16, n - 16 b)
//   b2: … e[i, k] …                                     e = each(p < m, k < s) { … 16 b + p … } sum [p, k]
//       jump b1(i + 1, v2)                              jump b1(0, v')
//   b3: ret v                                       b1(j, v): i = 16 b + j; br lt(j, m), b2, b6
//                                                   b2: … e[j, k] …; jump b1(j + 1, v2)
//                                                   b6: jump b4(b + 1, v)
//                                                   b3: ret v'
//
// Only of arrays that may be larger than the function's own, and not where turns fill a table that is as long. A statement of
// which such a statement reads, at its own row or next to it, alone comes along. Turns may take rows next to their own, e[i - 1] or
// e[max(0, i - 1)], where it is known, or has been asked, that these are there (turn_rows.h): a block makes those of its first and
// last turns, too, so some rows are made twice; so it does of what statements take next to their rows (statement_rows.h). Rows may be
// taken by steps, e[2 * i + 1], by turns or by what makes their rows: a block has as many times the rows of these, and as many fewer
// turns as the largest step. What makes rows that no turn takes, as a break leaves before or
// the loop does not count them, cannot trap.
// A loop may start anywhere and end anywhere, `for i in k..m`: then rows are made as far as the array has them, and a turn asks first
// whether its own is there.
// Statements behind the loop that make a few numbers of each row, or of few rows, may read such arrays, too: blocks make those as well
// (row_asides.h), and so they do larger arrays that these alone read.
// Comes before derivatives are taken: the reverse loop has the same two levels.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/ir/append.h"
#include "core/opt/block_plans.h"
#include "core/opt/part_rows.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

class Blocker : private BlockPlans {
 public:
  Blocker(ir::Module& m, ir::Function& f) : BlockPlans(m, f) {}

  bool MakesAll(const std::vector<PartedRows>& parts) const {
    return std::all_of(parts.begin(), parts.end(), [&](const PartedRows& p) {
      return Makes(p.first_loop, p.first) && Makes(p.second_loop, p.second);
    });
  }
  bool Run() {
    return RunPlans([&](const BlockLoop& loop) { return PlanApart(loop); },
                    [&](BlockPlan& plan) { Rewrite(plan); });
  }

 private:
  // What stands behind two loops is made by one of them; the other one waits for the next round.
  std::optional<BlockPlan> PlanApart(const BlockLoop& loop) {
    std::optional<BlockPlan> plan = PlanFor(loop);
    if (!plan) return plan;
    for (const auto& [m, size] : plan->sizes) {
      if (behind_.contains(m)) return std::nullopt;
    }
    for (const auto& [m, size] : plan->sizes) behind_.insert(m);
    return plan;
  }
  void Rewrite(BlockPlan& plan) {
    BlockLoop& loop = plan.loop;
    const Counter& counter = plan.counter;
    if (plan.bound) plan.counter.bound = InFront(plan, [&] { return b_.I64(*plan.bound); });
    for (size_t m : plan.members) {
      if (makers_.IsOnceInFront(makers_[m], loop)) makers_.CheckSizes(b_, makers_[m], loop.entry);
    }
    if (plan.is_counted) counted_ = InFront(plan, [&] { return CountTurns(plan); });
    const uint32_t around = b_.NewBlock(), make = b_.NewBlock(), next = b_.NewBlock();
    const Value block = b_.AddParam(around, ir::Type::I64());
    Copier names(f_);  // what the loop carries, by its names around it and behind it
    ir::Values in_turns, first;
    for (size_t k = 0; k < f_.blocks[loop.header].params.size(); ++k) {
      const Value v = f_.blocks[loop.header].params[k];
      if (k == counter.param) {
        first.push_back(ir::kNoValue);
        continue;
      }
      first.push_back(names.New(v));
      f_.blocks[around].params.push_back(first.back());
      in_turns.push_back(v);
    }
    names.Set(f_.blocks[loop.header].params[counter.param],
              InFront(plan, [&] { return CountedTo(plan); }));
    const ir::Values tables = StartTables(plan, around, names);
    GoByBlocks(plan, around, make);

    b_.SetBlock(make);
    const Affine base = Affine::Of(block) * plan.turns + plan.start;
    const BlockRows rows = RowsOfTurns(plan, base, plan.window);
    std::map<size_t, BlockRows> rows_of;
    for (size_t m : plan.members) rows_of.emplace(m, RowsMade(plan, base, m, rows, rows_of));
    const Value turns = plan.window.IsOwnRow()
                            ? rows.count
                            : b_.Make(Op::Min, {b_.I64(plan.turns), TurnsLeft(plan, base, block)});
    for (size_t m : plan.asides) rows_of.emplace(m, RowsMade(plan, base, m, rows, rows_of));
    Copier made(f_);
    const Value is_first = plan.asides.empty() ? Value() : b_.Make(Op::Eq, {block, b_.I64(0)});
    const ir::Values filled =
        MakeRows(plan, make, rows_of, made, tables, is_first, /*in_front=*/false);
    b_.SetBlock(make);
    first[counter.param] = b_.I64(0);
    b_.Jump(loop.header, first);

    b_.SetBlock(next);
    in_turns.insert(in_turns.begin(), b_.Make(Op::Add, {block, b_.I64(1)}));
    in_turns.insert(in_turns.end(), filled.begin(), filled.end());
    b_.Jump(around, in_turns);

    // Places of instructions are others behind this.
    const Value row = f_.NewLike(f_, f_.blocks[loop.header].params[counter.param]);
    ReadFrom(made, plan, rows_of, row);
    CheckRows(plan);
    CountRows(loop, counter.param, base, row, turns, next);
    loop.blocks.push_back(next);
    round_.RenameOutside(loop, names);
  }

  // What `make` appends to the block in front of the loop.
  template <typename Make>
  Value InFront(const BlockPlan& plan, Make&& make) {
    const uint32_t entry = plan.loop.entry;
    const ir::Terminator term = std::move(f_.blocks[entry].term);
    b_.SetBlock(entry);
    const Value made = make();
    f_.blocks[entry].term = term;
    return made;
  }
  // How many turns a loop makes that starts or ends anywhere: in front of it, no more than anybody waits for, so that nothing wraps.
  Value CountTurns(const BlockPlan& plan) {
    constexpr int64_t kMost = int64_t{1} << 60;
    const Value start = b_.AffineOf(plan.start), bound = plan.counter.bound, most = b_.I64(kMost);
    const Value apart = b_.Make(Op::Sub, {bound, start});
    const Value has_wrapped = b_.Make(Op::Lt, {apart, b_.I64(0)});
    const Value turns = b_.Make(Op::Select, {has_wrapped, most, b_.Make(Op::Min, {apart, most})});
    return b_.Make(Op::Select, {b_.Make(Op::Lt, {start, bound}), turns, b_.I64(0)});
  }
  // What the counter is behind all turns.
  Value CountedTo(const BlockPlan& plan) {
    return b_.Make(Op::Max, {b_.AffineOf(plan.start), plan.counter.bound});
  }
  Value TurnsLeft(const BlockPlan& plan, const Affine& base, Value block) {
    return b_.AffineOf(plan.is_counted ? Affine::Of(counted_) - Affine::Of(block) * plan.turns
                                       : Affine::Of(plan.counter.bound) - base);
  }

  // The loop around, which is entered instead of the other one and goes on where that did.
  void GoByBlocks(const BlockPlan& plan, uint32_t around, uint32_t make) {
    const BlockLoop& loop = plan.loop;
    const ir::Terminator term = std::move(f_.blocks[loop.entry].term);
    b_.SetBlock(loop.entry);
    const Affine turns =
        plan.is_counted ? Affine::Of(counted_) : Affine::Of(plan.counter.bound) - plan.start;
    const Value rounded = b_.AffineOf(turns + Affine::Const(plan.turns - 1));
    const Value blocks = b_.Make(Op::Div, {rounded, b_.I64(plan.turns)});
    const Value none = b_.I64(0);
    f_.blocks[loop.entry].term = term;
    ir::Edge& entry = f_.blocks[loop.entry].term.edges[loop.entry_edge];
    entry.block = around;
    entry.args.erase(entry.args.begin() + static_cast<long>(plan.counter.param));
    entry.args.insert(entry.args.begin(), none);

    b_.SetBlock(around);
    const Value more = b_.Make(Op::Lt, {f_.blocks[around].params[0], blocks});
    b_.Branch(more, {make, {}}, loop.Exit(f_));
  }

  struct BlockRows {
    Affine first;
    Value count;
    bool from_turn;  // the first is the window's of the first turn in all blocks
  };
  // Of that member; those that another one has, too, are counted once.
  BlockRows RowsMade(const BlockPlan& plan, const Affine& base, size_t m, const BlockRows& of_turns,
                     const std::map<size_t, BlockRows>& others) {
    const Window& window = plan.made.at(m);
    if (window == plan.window) return of_turns;
    for (const auto& [other, rows] : others) {
      if (plan.made.at(other) == window) return rows;
    }
    return RowsOfTurns(plan, base, window);
  }
  // That a window of these turns takes, as far as they are there: no further than where all end, in a form that tells it.
  BlockRows RowsOfTurns(const BlockPlan& plan, const Affine& base, const Window& w) {
    if (w.per != 1) return RowsOfGroups(plan, base, w);
    const Affine first = base * w.step + Affine::Const(w.first);
    const bool starts = plan.start.IsConst() ? plan.start.constant * w.step + w.first >= 0
                                             : plan.starts_at_row && w.first >= 0;
    const Affine lo =
        starts ? first : Affine::Of(b_.Make(Op::Max, {b_.AffineOf(first), b_.I64(0)}));
    const Affine of_block =
        base * w.step + Affine::Const((plan.turns - 1) * w.step + 1 + w.last) - lo;
    const Affine end = w.rows.valid() ? Affine::Of(w.rows)
                                      : Affine::Of(plan.counter.bound) +
                                            Affine::Const(std::min(w.last + w.cut, w.more));
    const Affine left = end - lo;
    const Value most = of_block.IsConst() ? b_.I64(of_block.constant) : b_.AffineOf(of_block);
    Value count = b_.Make(Op::Min, {most, b_.AffineOf(left)});
    if (!starts || w.rows.valid() || w.last + w.cut > w.more)
      count = b_.Make(Op::Max, {count, b_.I64(0)});
    return {lo, count, starts};
  }
  // One row for some turns each: a block has as many, so many fewer in front of it. `base`: that of a block, or nothing, of those that
  // come before the first one.
  BlockRows RowsOfGroups(const BlockPlan& plan, const Affine& base, const Window& w) {
    Affine first = base.IsConst() ? Affine() : base - Affine::Const(w.shift);
    const int64_t turns = base.IsConst() ? plan.turns - w.shift : plan.turns;
    first.constant /= w.per;
    for (Affine::Term& t : first.terms) t.coeff /= w.per;
    Value count =
        b_.Make(Op::Min, {b_.I64(turns / w.per), b_.AffineOf(Affine::Of(w.rows) - first)});
    count = b_.Make(Op::Max, {count, b_.I64(0)});
    return {first, count, true};
  }

  // The statement that makes the member's rows of some turns, of `all_rows`; reads those of what is in `made`.
  Inst RowsOf(size_t m, Value all_rows, Order order, const std::map<size_t, BlockRows>& rows_of,
              Copier& made) {
    const Maker& maker = makers_[m];
    const BlockRows& rows = rows_of.at(m);
    const Inst& whole = makers_.InstOf(maker);
    Inst inst = made.Copy(whole);
    const Value number = made.Get(maker.row), row = f_.NewLike(f_, number);
    const Affine shifted = RowOfTurn(rows.first + Affine::Of(row), all_rows, order);
    for (ir::IndexVar& i : inst.each->indices) {
      if (i.var == number) i = {row, rows.count};
    }
    for (ir::Constraint& c : inst.each->where) c.e = c.e.Substitute(number, shifted);
    for (ir::EachResult& r : inst.each->results) {
      if (maker.folds) continue;
      r.out[0] = Affine::Of(row);
      r.shape[0] = rows.count;
    }
    for (size_t k = 0; k < whole.each->body.size(); ++k) {
      const Inst& read = whole.each->body[k];
      if (read.op != Op::Index || !made.names().contains(read.args[0].id)) continue;
      const BlockRows& of = rows_of.at(makers_.MakerOf({0, 0, k, read.args[0], {}}));
      const bool is_own = read.subs[0] == Affine::Of(maker.row) && of.count == rows.count;
      Affine& sub = inst.each->body[k].subs[0];
      sub = is_own ? Affine::Of(row) : sub - of.first;
    }
    Inst is;
    is.op = Op::AffineOf;
    is.subs = {shifted};
    is.results = {number};
    inst.each->body.insert(inst.each->body.begin(), std::move(is));
    return inst;
  }

  // --- asides

  // Tables that the loop around carries, which hold what the asides make of rows in front of the first turn's. Gives its parameters.
  ir::Values StartTables(BlockPlan& plan, uint32_t around, Copier& names) {
    ir::Values tables;
    if (plan.asides.empty()) return tables;
    const uint32_t entry = plan.loop.entry;
    const ir::Terminator term = std::move(f_.blocks[entry].term);
    b_.SetBlock(entry);
    for (auto& [m, made] : plan.made) {
      const auto makers = plan.sizes.find(m);
      if (makers == plan.sizes.end()) continue;
      Copier sizes(f_);
      for (const Inst& inst : makers->second) f_.blocks[entry].insts.push_back(sizes.Copy(inst));
      rows_in_front_[m] = sizes.Get(makers_[m].rows);
      if (made.per != 1 || made.rows.valid()) made.rows = rows_in_front_[m];
    }
    for (size_t m : plan.asides) {
      const Inst& whole = makers_.InstOf(makers_[m]);
      for (size_t k = 0; k < whole.results.size(); ++k) {
        const Inst table = EmptyTable(f_, ResultOf(m, k), f_.TypeOf(whole.results[k]),
                                      makers_[m].folds, whole.loc);
        tables.push_back(table.results[0]);
        f_.blocks[entry].insts.push_back(table);
      }
    }
    if (!plan.StartsAt0()) tables = FillFront(plan, entry, tables);
    f_.blocks[entry].term = term;
    ir::Values& args = f_.blocks[entry].term.edges[plan.loop.entry_edge].args;
    args.insert(args.end(), tables.begin(), tables.end());
    size_t at = 0;
    for (size_t m : plan.asides) {
      for (Value v : makers_.InstOf(makers_[m]).results) {
        names.Set(v, b_.AddParam(around, f_.TypeOf(v)));
        tables[at++] = names.Get(v);
      }
    }
    return tables;
  }
  // With sizes that are there in front of the loop.
  ir::EachResult ResultOf(size_t aside, size_t k) const {
    ir::EachResult r = makers_.InstOf(makers_[aside]).each->results[k];
    std::replace(r.shape.begin(), r.shape.end(), makers_[aside].rows, rows_in_front_.at(aside));
    return r;
  }
  // The rows in front of the first turn's are those of a block of as many turns.
  ir::Values FillFront(const BlockPlan& plan, uint32_t block, const ir::Values& tables) {
    BlockPlan front = plan;
    front.start = {};
    front.turns = plan.start.constant;
    std::map<size_t, BlockRows> rows_of;
    for (const auto& [m, window] : plan.made) {
      BlockRows rows = RowsOfTurns(front, {}, window);
      rows.count = b_.Make(Op::Max, {rows.count, b_.I64(0)});
      rows_of.emplace(m, rows);
    }
    Copier made(f_);
    return MakeRows(plan, block, rows_of, made, tables, b_.Bool(true), /*in_front=*/true);
  }
  // The rows that the block makes, each behind what it reads, and the tables with those of asides. `is_first`: whether it is the first
  // block; `in_front`: it comes before that.
  ir::Values MakeRows(const BlockPlan& plan, uint32_t block,
                      const std::map<size_t, BlockRows>& rows_of, Copier& made,
                      const ir::Values& tables, Value is_first, bool in_front) {
    RowMakers::Members all = plan.members;
    all.insert(all.end(), plan.asides.begin(), plan.asides.end());
    std::sort(all.begin(), all.end());
    ir::Values filled;
    for (size_t m : all) {
      const BlockRows& rows = rows_of.at(m);
      Inst of_block = RowsOf(m, plan.counter.bound, plan.order, rows_of, made);
      const ir::Values results = of_block.results;
      const uint32_t loc = of_block.loc;
      std::vector<Inst>& out = f_.blocks[block].insts;
      out.push_back(std::move(of_block));
      if (!std::binary_search(plan.asides.begin(), plan.asides.end(), m)) continue;
      // In front of the first block there are rows of it, or none at all.
      const Window& window = plan.made.at(m);
      const bool has_front = !in_front && plan.start.constant - window.shift >= window.per;
      for (size_t k = 0; k < results.size(); ++k) {
        const Value table = tables[filled.size()];
        const ir::EachResult like = ResultOf(m, k);
        filled.push_back(
            makers_[m].folds
                ? FoldInto(f_, table, results[k], has_front ? Value() : is_first, like, loc, out)
                : PutRows(f_, results[k], rows.count, rows.first, like, table, loc, out));
      }
    }
    return filled;
  }

  // The loop counts the rows of a block; what it counted is made of that. Behind the last one it leads to `next`.
  void CountRows(const BlockLoop& loop, size_t param, const Affine& base, Value row, Value rows,
                 uint32_t next) {
    ir::Block& header = f_.blocks[loop.header];
    const Value turn = header.params[param];
    header.params[param] = row;
    for (uint32_t latch : loop.latches) {
      b_.SetBlock(latch);
      const Value one_more = b_.Make(Op::Add, {row, b_.I64(1)});
      for (ir::Edge& e : f_.blocks[latch].term.edges) {
        if (e.block == loop.header) e.args[param] = one_more;
      }
    }
    Inst is;
    is.op = Op::AffineOf;
    is.subs = {base + Affine::Of(row)};
    is.results = {turn};
    header.insts.insert(header.insts.begin(), std::move(is));
    b_.SetBlock(loop.header);
    const Value more = b_.Make(Op::Lt, {row, rows});
    header.term.edges = {loop.Stay(f_), {next, {}}};
    header.term.cond = more;
  }

  void ReadFrom(const Copier& made, const BlockPlan& plan,
                const std::map<size_t, BlockRows>& rows_of, Value row) {
    const Value i = f_.blocks[plan.loop.header].params[plan.counter.param];
    const Affine turn = RowOfTurn(Affine::Of(i), plan.counter.bound, plan.order);
    for (size_t m : plan.members) {
      const BlockRows& rows = rows_of.at(m);
      for (size_t k : makers_.ReadsOf(m)) {
        const RowRead& read = makers_.Read(k);
        if (!plan.loop.Holds(read.block)) continue;
        const int64_t step = plan.window.step;
        const Affine away = read.row - turn * step - Affine::Const(plan.made.at(m).first);
        Inst& inst = f_.blocks[read.block].insts[read.place];
        Inst& index = read.in_body ? inst.each->body[*read.in_body] : inst;
        index.args[0] = made.Get(read.array);
        index.subs[0] = rows.from_turn && away.IsConst() ? Affine::Of(row) * step + away
                                                         : read.row - rows.first;
      }
    }
  }

  // Ends the run in front of what reads a row that may not be there, where that has a point.
  void CheckRows(const BlockPlan& plan) {
    std::vector<size_t> reads = plan.checked;
    // From the last place on; of one place in the statement's order.
    const auto place = [&](size_t k) {
      const RowRead& read = makers_.Read(k);
      return std::tuple(~read.block, ~read.place, read.in_body);
    };
    std::sort(reads.begin(), reads.end(), [&](size_t a, size_t b) { return place(a) < place(b); });
    for (auto k = reads.begin(); k != reads.end();) {
      const RowRead& first = makers_.Read(*k);
      std::vector<Inst> checks;
      for (; k != reads.end() && makers_.Read(*k).block == first.block &&
             makers_.Read(*k).place == first.place;
           ++k)
        CheckRow(makers_.Read(*k), checks);
      std::vector<Inst>& insts = f_.blocks[first.block].insts;
      insts.insert(insts.begin() + static_cast<std::ptrdiff_t>(first.place),
                   std::make_move_iterator(checks.begin()), std::make_move_iterator(checks.end()));
    }
  }
  void CheckRow(const RowRead& read, std::vector<Inst>& checks) {
    const Inst& inst = f_.blocks[read.block].insts[read.place];
    ir::Appender out(f_, checks, (read.in_body ? inst.each->body[*read.in_body] : inst).loc);
    const auto is = [&](Op op, Value a, Value b) { return out.Make(op, ir::Type::Bool(), {a, b}); };
    const Value row = out.Number(read.row), zero = out.Number({}),
                rows = makers_[makers_.MakerOf(read)].rows;
    Value holds = is(Op::And, is(Op::Ge, row, zero), is(Op::Lt, row, rows));
    if (read.in_body) {
      for (const ir::IndexVar& i : inst.each->indices)
        holds = is(Op::Or, holds, is(Op::Le, i.extent, zero));
    }
    out.Check(holds, ir::TrapKind::kIndex, {row, rows});
  }

  Value counted_;                          // of the plan's loop, how many turns
  std::map<size_t, Value> rows_in_front_;  // of what is behind the loop
  std::set<size_t> behind_;                // what plans make
};

// Lengths that are numbers, of windows and sets, are there in front of all loops.
void PutNumbersInFront(ir::Function& f) {
  std::set<Value> lengths;
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      for (size_t k = 0; inst.each && k < inst.each->indices.size(); ++k)
        lengths.insert(inst.each->indices[k].extent);
    }
  }
  std::vector<Inst> numbers;
  for (size_t b = 1; b < f.blocks.size(); ++b) {
    std::erase_if(f.blocks[b].insts, [&](Inst& inst) {
      const bool moves = inst.op == Op::Const && lengths.contains(inst.results[0]);
      if (moves) numbers.push_back(std::move(inst));
      return moves;
    });
  }
  std::vector<Inst>& entry = f.blocks[0].insts;
  entry.insert(entry.begin(), std::make_move_iterator(numbers.begin()),
               std::make_move_iterator(numbers.end()));
}

}  // namespace

bool BlockTurns(ir::Module& m, ir::Function& f) {
  if (f.blocks.size() < 2) return false;
  PutNumbersInFront(f);
  std::optional<ir::Function> open, whole;
  CloseLoops(f, open);
  const std::vector<PartedRows> parts = PartRows(f, whole);
  if (whole && !Blocker(m, f).MakesAll(parts)) f = *std::move(whole);
  const bool blocked = Blocker(m, f).Run();
  if (open && !blocked) f = *std::move(open);
  return blocked;
}

}  // namespace pullback::opt
