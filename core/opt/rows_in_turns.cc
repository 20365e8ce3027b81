// Arrays of three axes or more of which a loop's turn takes its own row, a matrix, and nobody anything else, are made in the turns, and
// so are matrices where turns fill a table that is as long:
//
//   b0: e = each(p < b, i < n, k < s) { … } gen [p, i, k]     b0: jump b1(0, 0.0)
//       jump b1(0, 0.0)                                       b1(p, v): br lt(p, b), b4, b3
//   b1(p, v): br lt(p, b), b2, b3                             b4: e = each(i < n, k < s) { … p … } gen [i, k]
//   b2: … e[p, i, k] …                                            jump b2
//                                                             b2: … e[i, k] …
//
// as much is computed, in the same order. What takes the row becomes one statement with it, or takes a matrix row by row. (Of other
// matrices a turn takes a vector: those come by blocks of rows, which are faster, turn_blocks.cc.)
// Only of arrays that may be larger than the function's own. What makes rows that no turn takes, as a break leaves before or the loop
// does not count them, cannot trap. Comes before derivatives are taken: the reverse turn makes the cotangents of its own row.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/opt/row_loops.h"
#include "core/opt/row_statement.h"
#include "core/opt/simplify.h"
#include "core/opt/turn_facts.h"

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

class RowSinker : private RowLoops {
 public:
  RowSinker(ir::Module& m, ir::Function& f) : RowLoops(m, f) {}

  bool Run() {
    return RunPlans([&](const BlockLoop& loop) { return PlanFor(loop); },
                    [&](Plan& plan) { Rewrite(plan); });
  }

 private:
  struct Plan {
    BlockLoop loop;
    Affine row;  // of a turn
    RowMakers::Members members = {};
  };

  std::optional<Plan> PlanFor(const BlockLoop& loop) const {
    const std::optional<Counter> counter = FindCounterByOnes(f_, loop, defs_);
    if (!counter) return std::nullopt;
    const Affine first = FormOf(loop.Arguments(f_)[counter->param], defs_);
    if (!first.IsConst() || first.constant < 0) return std::nullopt;
    const Value turn = f_.blocks[loop.header].params[counter->param];
    const bool fills_table = FillsTable(f_, loop, *counter);
    const bool runs_all = !loop.has_breaks && first.constant == 0;
    for (Order order : {Order::kForwards, Order::kBackwards}) {
      Plan plan{loop, RowOfTurn(Affine::Of(turn), counter->bound, order)};
      const auto may = [&](size_t m) {
        return HasAxes(makers_[m], fills_table ? 2 : 3) &&
               RowsBeyond(makers_[m].rows, counter->bound, defs_) == int64_t{0} &&
               (runs_all || makers_.CannotTrap(makers_[m]));
      };
      plan.members = makers_.MembersOf(
          loop, turn, may, [&](const RowRead& read) { return read.row == plan.row; }, {});
      const auto is_large = [&](size_t m) { return makers_[m].is_large; };
      if (std::any_of(plan.members.begin(), plan.members.end(), is_large)) return std::move(plan);
    }
    return std::nullopt;
  }

  bool HasAxes(const Maker& maker, size_t axes) const {
    const ir::Each& each = *makers_.InstOf(maker).each;
    return std::all_of(each.results.begin(), each.results.end(),
                       [axes](const ir::EachResult& r) { return r.out.size() >= axes; });
  }

  void Rewrite(Plan& plan) {
    for (size_t m : plan.members) makers_.CheckSizes(b_, makers_[m], plan.loop.entry);
    const uint32_t make = b_.NewBlock();
    ir::Edge& stay = f_.blocks[plan.loop.header].term.edges[1 - plan.loop.exit_edge];
    Copier made(f_);
    for (size_t m : plan.members)
      f_.blocks[make].insts.push_back(RowOf(makers_[m], plan.row, made));
    b_.SetBlock(make);
    b_.Jump(stay.block, stay.args);
    stay = {make, {}};
    for (size_t m : plan.members) {
      for (size_t k : makers_.ReadsOf(m)) ReadFrom(made, plan.loop, makers_.Read(k));
    }
  }

  // The statement that makes the row; reads those of what is in `made`.
  Inst RowOf(const Maker& maker, const Affine& turn, Copier& made) {
    const Inst& whole = makers_.InstOf(maker);
    std::vector<char> is_made;
    for (const Inst& read : whole.each->body)
      is_made.push_back(read.op == Op::Index && made.names().contains(read.args[0].id) ? 1 : 0);
    Inst inst = StatementAtRow(f_, whole, maker.row, turn, made);
    for (size_t k = 0; k < is_made.size(); ++k) {
      if (is_made[k] != 0) DropRow(inst.each->body[k + 1]);  // behind what says the row
    }
    return inst;
  }

  void ReadFrom(const Copier& made, const BlockLoop& loop, const RowRead& read) {
    if (!loop.Holds(read.block)) return;
    Inst& inst = f_.blocks[read.block].insts[read.place];
    Inst& index = read.in_body ? inst.each->body[*read.in_body] : inst;
    index.args[0] = made.Get(read.array);
    DropRow(index);
  }
};

}  // namespace

bool MakeRowsInTurns(ir::Module& m, ir::Function& f) {
  return f.blocks.size() > 1 && RowSinker(m, f).Run();
}

}  // namespace pullback::opt
