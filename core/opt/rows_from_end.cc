// Arrays of which a loop's turns take rows next to each other from the end are made from the end, so that turns take them forwards
// (as core/tensor/read_forwards.cc does for statements), and loops that count down to where they take rows count up, by ones, as do those
// that go by some at a time or ask for the row next to it, `while i + 1 < n { … i += 2 }`:
//
//   e = each(p < n, k < s) { … x[p] … } sum [p, k]            e = each(p < n, k < s) { … x[n - 1 - p] … } sum [p, k]
//   b1(i, v): br lt(i, n), b2, b3                             b1(i, v): br lt(i, n), b2, b3
//   b2: … e[n - 1 - i, k] … e[n - i, k] …                     b2: … e[i, k] … e[i - 1, k] …
//
//   b0: jump b1(n - 1, 0.0)                                   b0: jump b1(0, 0.0)
//   b1(i, v): br gt(i, 0), b2, b3                             b1(j, v): i = n - 1 - j; br lt(j, n - 1), b2, b3
//   b2: … e[i, k] …; jump b1(i - 1, v2)                       b2: … e[i, k] …; jump b1(j + 1, v2)
//
// Only of arrays that may be larger than the function's own, which blocks of turns make then (turn_blocks.cc). Where each turn takes
// the row left behind its number alone, blocks do that as it is. A row that may not be there is read as it is: its error names it.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/opt/row_loops.h"
#include "core/opt/simplify.h"
#include "core/opt/turn_facts.h"

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

// A sum of a few extents and a number that is small beside what wraps.
bool IsSmall(const Affine& form, const DefinitionBlocks& defs) {
  constexpr int64_t kMostTimes = 16, kMost = int64_t{1} << 40;
  const auto is_few = [](const Affine::Term& t) {
    return -kMostTimes <= t.coeff && t.coeff <= kMostTimes;
  };
  return IsOfDims(form, defs) && form.terms.size() <= 4 && -kMost <= form.constant &&
         form.constant <= kMost && std::all_of(form.terms.begin(), form.terms.end(), is_few);
}

class RowTurner : private RowLoops {
 public:
  RowTurner(ir::Module& m, ir::Function& f) : RowLoops(m, f) {}

  bool Run() {
    return RunPlans([&](const BlockLoop& loop) { return PlanFor(loop); },
                    [&](const Plan& plan) { Rewrite(plan); });
  }

 private:
  struct Plan {
    BlockLoop loop;
    RowMakers::Members members;
  };

  std::optional<Plan> PlanFor(const BlockLoop& loop) const {
    const std::optional<Counter> counter = FindCounterByOnes(f_, loop, defs_);
    if (!counter || FillsTable(f_, loop, *counter)) return std::nullopt;
    const Affine first = FormOf(loop.Arguments(f_)[counter->param], defs_);
    if (!first.IsConst() || first.constant < 0) return std::nullopt;
    const Turns turns{loop, f_.blocks[loop.header].params[counter->param], counter->bound, first};
    bool by_windows = false;
    const auto may = [&](size_t m) { return IsSmall(FormOf(makers_[m].rows, defs_), defs_); };
    const auto takes = [&](const RowRead& read) {
      const Affine row = FromEnd(read);
      const auto span = turn_rows_.SpanOf(row, makers_[makers_.MakerOf(read)].rows, read.block,
                                          read.place, read.in_body, turns, 1);
      if (!span) return false;
      by_windows |= row != Affine::Of(turns.counter);
      return true;
    };
    Plan plan{loop, makers_.MembersOf(loop, turns.counter, may, takes, {})};
    const auto is_large = [&](size_t m) { return makers_[m].is_large; };
    if (!by_windows || std::none_of(plan.members.begin(), plan.members.end(), is_large))
      return std::nullopt;
    return plan;
  }

  Affine FromEnd(const RowRead& read) const {
    return RowOfTurn(read.row, makers_[makers_.MakerOf(read)].rows, Order::kBackwards);
  }

  void Rewrite(const Plan& plan) {
    const std::set<size_t> members(plan.members.begin(), plan.members.end());
    std::vector<std::pair<size_t, Value>> turned;
    for (size_t m : plan.members) turned.emplace_back(m, f_.NewLike(f_, makers_[m].row));
    for (size_t m : plan.members) {
      for (size_t k : makers_.ReadsOf(m)) {
        const RowRead& read = makers_.Read(k);
        Inst& inst = f_.blocks[read.block].insts[read.place];
        Inst& index = read.in_body ? inst.each->body[*read.in_body] : inst;
        const auto own = std::find_if(turned.begin(), turned.end(), [&](const auto& t) {
          return makers_[t.first].block == read.block && makers_[t.first].place == read.place;
        });
        index.subs[0] = own != turned.end() ? Affine::Of(own->second) : FromEnd(read);
      }
    }
    for (const auto& [m, row] : turned) TurnMaker(makers_[m], row);
  }

  void TurnMaker(const Maker& maker, Value row) {
    ir::Each& each = *f_.blocks[maker.block].insts[maker.place].each;
    const Affine from_end = RowOfTurn(Affine::Of(row), maker.rows, Order::kBackwards);
    for (ir::IndexVar& i : each.indices) {
      if (i.var == maker.row) i.var = row;
    }
    for (ir::Constraint& c : each.where) c.e = c.e.Substitute(maker.row, from_end);
    for (ir::EachResult& r : each.results) r.out[0] = Affine::Of(row);
    Inst is;
    is.op = Op::AffineOf;
    is.subs = {from_end};
    is.results = {maker.row};
    each.body.insert(each.body.begin(), std::move(is));
  }
};

class OtherCounter : private RowLoops {
 public:
  OtherCounter(ir::Module& m, ir::Function& f) : RowLoops(m, f) {}

  bool Run() {
    return RunPlans([&](const BlockLoop& loop) { return PlanFor(loop); },
                    [&](const Plan& plan) { Rewrite(plan); });
  }

 private:
  struct Plan {
    BlockLoop loop;
    size_t param;
    Affine first;  // of the counter
    int64_t step;
    Affine
        way;  // to where it ends, at least where there are turns; by steps, the last one may lead beyond
  };

  std::optional<Plan> PlanFor(const BlockLoop& loop) const {
    std::optional<Plan> plan = Down(loop);
    if (!plan) plan = Up(loop);
    if (!plan) return std::nullopt;
    const bool takes = TakesRows(f_.blocks[loop.header].params[plan->param], loop);
    return takes && IsSmall(plan->first, defs_) && IsSmall(plan->way, defs_) ? plan : std::nullopt;
  }
  std::optional<Plan> Down(const BlockLoop& loop) const {
    const std::optional<Counter> counter = FindCounter(f_, loop, defs_);
    if (!counter || counter->step != -1 || (counter->op != Op::Gt && counter->op != Op::Ge))
      return std::nullopt;
    const Affine first = FormOf(loop.Arguments(f_)[counter->param], defs_);
    return Plan{
        loop, counter->param, first, -1,
        first - FormOf(counter->bound, defs_) + Affine::Const(counter->op == Op::Ge ? 1 : 0)};
  }
  // While i, or i and a few, is less than what does not change.
  std::optional<Plan> Up(const BlockLoop& loop) const {
    const ir::Block& header = f_.blocks[loop.header];
    const Inst* test = defs_.Inst(header.term.cond);
    if (!test || (test->op != Op::Lt && test->op != Op::Le) || loop.exit_edge != 1 ||
        f_.TypeOf(test->args[0]) != ir::Type::I64())
      return std::nullopt;
    const Affine left = FormOf(test->args[0], defs_), right = FormOf(test->args[1], defs_);
    const auto is_counter = [&](Value v) { return (left - Affine::Of(v)).IsConst(); };
    const auto at = std::find_if(header.params.begin(), header.params.end(), is_counter);
    if (at == header.params.end()) return std::nullopt;
    const auto param = static_cast<size_t>(at - header.params.begin());
    const std::optional<int64_t> step = StepUp(loop, param);
    const int64_t more = (left - Affine::Of(*at)).constant, same = test->op == Op::Le ? 1 : 0;
    if (!step || (*step == 1 && more == 0 && same == 0)) return std::nullopt;
    const Affine first = FormOf(loop.Arguments(f_)[param], defs_);
    return Plan{loop, param, first, *step, right + Affine::Const(same - more) - first};
  }
  std::optional<int64_t> StepUp(const BlockLoop& loop, size_t param) const {
    constexpr int64_t kMostStep = 64;
    const Value counter = f_.blocks[loop.header].params[param];
    int64_t step = 0;
    for (uint32_t latch : loop.latches) {
      for (const ir::Edge& e : f_.blocks[latch].term.edges) {
        if (e.block != loop.header) continue;
        const Affine by = FormOf(e.args[param], defs_) - Affine::Of(counter);
        if (!by.IsConst() || by.constant < 1 || by.constant > kMostStep ||
            (step != 0 && step != by.constant))
          return std::nullopt;
        step = by.constant;
      }
    }
    return step == 0 ? std::nullopt : std::optional(step);
  }
  bool TakesRows(Value i, const BlockLoop& loop) const {
    const std::vector<size_t>& reads = makers_.ReadsAt(i);
    return std::any_of(reads.begin(), reads.end(), [&](size_t k) {
      const RowRead& read = makers_.Read(k);
      return loop.Holds(read.block) && makers_[makers_.MakerOf(read)].is_large;
    });
  }

  void Rewrite(const Plan& plan) {
    const BlockLoop& loop = plan.loop;
    const int64_t by = std::max<int64_t>(plan.step, 1);
    ir::Terminator enter = std::move(f_.blocks[loop.entry].term);
    b_.SetBlock(loop.entry);
    Value turns = b_.AffineOf(plan.way + Affine::Const(by - 1));
    if (by != 1) turns = b_.Make(Op::Div, {turns, b_.I64(by)});
    const Value none = b_.I64(0);
    enter.edges[loop.entry_edge].args[plan.param] = none;
    f_.blocks[loop.entry].term = std::move(enter);
    ir::Block& header = f_.blocks[loop.header];
    const Value i = header.params[plan.param], turn = f_.NewValue(ir::Type::I64());
    header.params[plan.param] = turn;
    for (uint32_t latch : loop.latches) {
      b_.SetBlock(latch);
      const Value one_more = b_.Make(Op::Add, {turn, b_.I64(1)});
      for (ir::Edge& e : f_.blocks[latch].term.edges) {
        if (e.block == loop.header) e.args[plan.param] = one_more;
      }
    }
    Inst is;
    is.op = Op::AffineOf;
    is.subs = {plan.first + Affine::Of(turn) * plan.step};
    is.results = {i};
    header.insts.insert(header.insts.begin(), std::move(is));
    b_.SetBlock(loop.header);
    const ir::Edge stay = loop.Stay(f_), leave = loop.Exit(f_);
    header.term.cond = b_.Make(Op::Lt, {turn, turns});
    header.term.edges = {stay, leave};
  }
};

}  // namespace

bool CountUp(ir::Module& m, ir::Function& f) {
  return f.blocks.size() > 1 && OtherCounter(m, f).Run();
}

bool ReadRowsForwards(ir::Module& m, ir::Function& f) {
  return f.blocks.size() > 1 && RowTurner(m, f).Run();
}

}  // namespace pullback::opt
