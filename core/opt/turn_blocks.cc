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
// Statements behind the loop that make a few numbers of each row may read such arrays, too: blocks make those as well (row_asides.h).
// Comes before derivatives are taken: the reverse loop has the same two levels.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/opt/row_asides.h"
#include "core/opt/row_loops.h"
#include "core/opt/simplify.h"
#include "core/opt/turn_facts.h"

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int64_t kRows = 16;
constexpr int64_t kMostAway = 4,
                  kMostStart = 16;   // rows next to a turn's own; turns that are left out at first
constexpr int64_t kMostBeside = 12;  // rows next to a turn's own that are made for those
constexpr int64_t kMostStep = 4;     // rows from a turn's own to the next one's

// The rows that turn i takes: step * i + first to step * i + last, of an array that has `more` rows more than the loop counts to; by
// steps of more than 1, `rows` of them.
struct Window {
  int64_t first = 0, last = 0, more = 0;
  int64_t step = 1;
  Value rows = {};
  bool operator==(const Window&) const = default;
};

class Blocker : private RowLoops {
 public:
  Blocker(ir::Module& m, ir::Function& f)
      : RowLoops(m, f), users_(f), asides_(f, dominators_, defs_, makers_), traps_(m, f, defs_) {}

  bool Run() {
    return RunPlans([&](const BlockLoop& loop) { return PlanFor(loop); },
                    [&](Plan& plan) { Rewrite(plan); });
  }

 private:
  using Members = RowMakers::Members;
  struct Plan {
    BlockLoop loop;
    Counter counter;
    Order order;
    Members members;
    int64_t start = 0;                   // of the counter
    Window window{};                     // that the turns take
    std::map<size_t, Window> made = {};  // by member
    int64_t turns = kRows;               // of a block
    Members asides = {};
    std::map<size_t, Affine> aside_rows =
        {};  // how many, of those that are not there in front of the loop
  };

  // No more than a block's rows: k, or min(k, …).
  bool IsFew(Value extent) const {
    const auto is_small = [&](Value v) {
      const Inst* inst = defs_.Inst(v);
      return inst && inst->op == Op::Const && static_cast<int64_t>(inst->bits) <= kRows;
    };
    const Inst* min = defs_.Inst(extent);
    return is_small(extent) ||
           (min && min->op == Op::Min && std::any_of(min->args.begin(), min->args.end(), is_small));
  }

  std::optional<Plan> PlanFor(const BlockLoop& loop) const {
    const std::optional<Counter> counter = FindCounterByOnes(f_, loop, defs_);
    if (!counter) return std::nullopt;
    const Inst* first = defs_.Inst(loop.Arguments(f_)[counter->param]);
    if (!first || first->op != Op::Const) return std::nullopt;
    const auto start = static_cast<int64_t>(first->bits);
    if (start < 0 || start > kMostStart) return std::nullopt;
    if (IsReadBehind(loop, counter->param) || FillsTable(f_, loop, *counter)) return std::nullopt;
    if (start != 0 && !TimesBound(counter->bound, 1, defs_)) return std::nullopt;
    std::vector<Plan> plans = {{loop, *counter, Order::kForwards, {}, start, {}, {}}};
    for (int64_t step = 1; step <= kMostStep; ++step) {
      const bool ends = TimesBound(counter->bound, step, defs_).has_value();
      const Window window = ends ? WindowOf(loop, *counter, start, step) : Window();
      if (window != Window())
        plans.insert(plans.begin(), {loop, *counter, Order::kForwards, {}, start, window, {}});
    }
    if (start == 0) plans.push_back({loop, *counter, Order::kBackwards, {}, start, {}, {}});
    std::optional<Plan> best = FirstOf(plans, /*with_asides=*/false);
    std::optional<Plan> more = FirstOf(plans, /*with_asides=*/true);
    return more && (!best || CountLarge(*more) > CountLarge(*best)) ? more : best;
  }
  // Of those that make rows of large arrays.
  std::optional<Plan> FirstOf(std::vector<Plan> plans, bool with_asides) const {
    for (Plan& plan : plans) {
      if (FindMembers(plan, with_asides) && CountLarge(plan) > 0) return std::move(plan);
    }
    return std::nullopt;
  }
  std::ptrdiff_t CountLarge(const Plan& plan) const {
    return std::count_if(plan.members.begin(), plan.members.end(),
                         [&](size_t m) { return makers_[m].is_large; });
  }

  // Rows around a turn's own that it reads of one array or another, where it is known that they are there.
  Window WindowOf(const BlockLoop& loop, const Counter& counter, int64_t start,
                  int64_t step) const {
    const Turns turns{loop, f_.blocks[loop.header].params[counter.param], counter.bound, start};
    std::optional<Window> window;
    for (size_t k : makers_.ReadsAt(turns.counter)) {
      const RowRead& of = makers_.Read(k);
      if (!loop.Holds(of.block) || makers_.IsWhole(makers_.MakerOf(of))) continue;
      const Value rows = makers_[makers_.MakerOf(of)].rows;
      const std::optional<RowSpan> span = NearRows(of, turns, step);
      const std::optional<Window> read =
          span ? WindowFor(*span, rows, counter, step) : std::nullopt;
      if (!read) continue;
      if (!window) window = read;
      if (window->rows != read->rows) continue;
      window->first = std::min(window->first, read->first);
      window->last = std::max(window->last, read->last);
      window->more = std::min(window->more, read->more);
    }
    return window.value_or(Window{});
  }
  // nullopt: the array has not as many rows as the loop's end says.
  std::optional<Window> WindowFor(const RowSpan& span, Value rows, const Counter& counter,
                                  int64_t step) const {
    Window read{span.first, span.last, 0, step, {}};
    if (step != 1) {
      read.rows = rows;
      return IsOfDims(FormOf(rows, defs_), defs_) ? std::optional(read) : std::nullopt;
    }
    const std::optional<int64_t> more = RowsBeyond(rows, counter.bound, defs_);
    if (!more) return std::nullopt;
    read.more = *more;
    return read;
  }
  std::optional<RowSpan> NearRows(const RowRead& read, const Turns& turns, int64_t step) const {
    const Value rows = makers_[makers_.MakerOf(read)].rows;
    const auto span =
        turn_rows_.SpanOf(read.row, rows, read.block, read.place, read.in_body, turns, step);
    if (!span || span->first < -kMostAway || span->last > kMostAway) return std::nullopt;
    // Of a number of turns that is known all rows may be near, by any step.
    const bool is_one = span->first == span->last;
    return step == 1 || is_one || !FormOf(turns.bound, defs_).IsConst() ? span : std::nullopt;
  }
  // Whether something of the header, other than its parameters but for the counter, is read behind the loop.
  bool IsReadBehind(const BlockLoop& loop, size_t counter) const {
    const ir::Block& header = f_.blocks[loop.header];
    ValueIds inner = {header.params[counter].id};
    for (const Inst& inst : header.insts) {
      for (Value v : inst.results) inner.insert(v.id);
    }
    for (Value v : loop.Exit(f_).args) {
      if (inner.contains(v.id)) return true;
    }
    // A break leaves both loops with what it hands on, the end of the inner one with what the outer one carries.
    if (loop.has_breaks) {
      for (Value v : header.params) inner.insert(v.id);
    }
    return std::any_of(inner.begin(), inner.end(),
                       [&](uint32_t v) { return users_.AnyOutside(Value{v}, loop); });
  }

  bool FindMembers(Plan& plan, bool with_asides) const {
    if (with_asides && plan.order == Order::kBackwards) return false;
    for (const bool beside : {true, false}) {
      if (beside && plan.order == Order::kBackwards) continue;
      plan.members = MembersOf(plan, beside, with_asides);
      plan.asides = AsidesOf(plan);
      plan.aside_rows.clear();
      for (size_t m : plan.asides) {
        if (const auto rows = asides_.RowsToMake(m, plan.loop)) plan.aside_rows.emplace(m, *rows);
      }
      if (FindMade(plan)) return true;
    }
    return false;
  }
  // Whether the aside may end the run before all turns are over: nothing else ends it before.
  bool IsAllowedToTrap(size_t aside, const Turns& turns, const Plan& plan) const {
    const CountedLoop loop{plan.loop, plan.counter, turns.counter};
    std::set<const Inst*> known;  // reads of rows that are there, and checks of these
    for (size_t k : makers_.ReadsAt(turns.counter)) {
      const RowRead& read = makers_.Read(k);
      if (!plan.loop.Holds(read.block) || !NearRows(read, turns, 1)) continue;
      const Inst& inst = f_.blocks[read.block].insts[read.place];
      known.insert(read.in_body ? &inst.each->body[*read.in_body] : &inst);
    }
    for (const Inst* check : turn_rows_.IdleChecks(turns)) known.insert(check);
    return traps_.CannotTrap(loop, known) && asides_.NothingTrapsBefore(aside, loop, traps_);
  }
  // Who else reads rows of members.
  Members AsidesOf(const Plan& plan) const {
    std::set<size_t> asides;
    for (size_t m : plan.members) {
      for (size_t k : makers_.ReadsOf(m)) {
        const RowRead& read = makers_.Read(k);
        if (!plan.loop.Holds(read.block)) asides.insert(*makers_.ReaderOf(read));
      }
    }
    for (size_t m : plan.members) asides.erase(m);
    return {asides.begin(), asides.end()};
  }
  // Which rows of each member the turns and other members take. False: some are not known, or more than a block has of its own.
  bool FindMade(Plan& plan) const {
    plan.made.clear();
    for (size_t m : plan.asides)  // a row for each turn, or no more
      plan.made[m] = {0, 0, *RowsBeyond(makers_[m].rows, plan.counter.bound, defs_), 1, {}};
    int64_t most_step = plan.window.step;
    for (auto m = plan.members.rbegin(); m != plan.members.rend(); ++m) {
      std::optional<RowSpan> span;
      int64_t step = 0;
      bool is_by_one_step = true;
      const auto join = [&](int64_t by, int64_t first, int64_t last) {
        is_by_one_step &= step == 0 || step == by;
        step = by;
        span = span ? RowSpan{std::min(span->first, first), std::max(span->last, last)}
                    : RowSpan{first, last};
      };
      for (size_t k : makers_.ReadsOf(*m)) {
        const RowRead& read = makers_.Read(k);
        if (plan.loop.Holds(read.block)) {
          join(plan.window.step, plan.window.first, plan.window.last);
          continue;
        }
        const size_t reader = *makers_.ReaderOf(read);
        const Window& of = plan.made.at(reader);
        const auto near = makers_.NearIn(reader, read, kMostAway, kMostStep);
        if (!near) return false;
        join(of.step * near->step, of.first * near->step + near->span.first,
             of.last * near->step + near->span.last);
      }
      const Value rows = makers_[*m].rows;
      if (!span || !is_by_one_step || span->first < -kMostBeside || span->last > kMostBeside)
        return false;
      if (step > kRows || !EndsBy(rows, step, plan)) return false;
      Window& made = plan.made[*m] = {span->first, span->last, 0, step, {}};
      if (step == 1) made.more = *RowsBeyond(rows, plan.counter.bound, defs_);
      if (step != 1) made.rows = rows;
      most_step = std::max(most_step, step);
    }
    plan.turns = kRows / most_step;
    return true;
  }

  // `beside`: also of what members read next to the rows that they make; `with_asides`: or statements behind the loop (row_asides.h).
  Members MembersOf(const Plan& plan, bool beside, bool with_asides) const {
    const BlockLoop& loop = plan.loop;
    const Value i = f_.blocks[loop.header].params[plan.counter.param];
    const Affine turn = RowOfTurn(Affine::Of(i), plan.counter.bound, plan.order);
    const Turns turns{loop, i, plan.counter.bound, plan.start};
    const auto may = [&](size_t m) {
      return !IsFew(makers_[m].rows) &&
             (HasRows(makers_[m], plan) || (beside && HasNear(m, plan))) &&
             (MakesAll(plan) || makers_.CannotTrap(makers_[m]));
    };
    const auto takes = [&](const RowRead& read) {
      if (!HasRows(makers_[makers_.MakerOf(read)], plan)) return false;
      if (plan.window == Window()) return read.row == turn;
      const std::optional<RowSpan> span = NearRows(read, turns, plan.window.step);
      return span && plan.window.first <= span->first && span->last <= plan.window.last;
    };
    const RowMakers::Beside is_near = [&](size_t reader, const RowRead& read) {
      if (makers_.IsOwnRow(reader, read)) return true;
      const Maker& maker = makers_[makers_.MakerOf(read)];
      if (!makers_.CannotTrap(maker)) return false;
      const auto near = makers_.NearIn(reader, read, kMostAway, kMostStep);
      return near && (near->step == 1 ? HasNear(makers_.MakerOf(read), plan)
                                      : EndsBy(maker.rows, near->step, plan));
    };
    const RowMakers::Beside aside = [&](size_t reader, const RowRead& read) {
      return asides_.MayBe(reader, loop, plan.counter) && is_near(reader, read) &&
             (makers_.CannotTrap(makers_[reader]) ||
              (makers_.CannotTrap(makers_[makers_.MakerOf(read)]) &&
               IsAllowedToTrap(reader, turns, plan)));
    };
    return makers_.MembersOf(loop, i, may, takes, beside ? is_near : nullptr,
                             with_asides ? aside : nullptr);
  }
  // Whether it is known where rows by such a step end.
  bool EndsBy(Value rows, int64_t step, const Plan& plan) const {
    return step == 1 ? RowsBeyond(rows, plan.counter.bound, defs_).has_value()
                     : TimesBound(rows, 1, defs_).has_value();
  }
  bool HasNear(size_t m, const Plan& plan) const {
    return EndsBy(makers_[m].rows, plan.window.step, plan) || EndsBy(makers_[m].rows, 2, plan);
  }
  // Whether the rows that a plan's blocks make of it are there, and are, if all turns are run, all of them.
  bool HasRows(const Maker& maker, const Plan& plan) const {
    if (plan.window.step != 1) return FormOf(maker.rows, defs_) == FormOf(plan.window.rows, defs_);
    const auto more = RowsBeyond(maker.rows, plan.counter.bound, defs_);
    return more && *more == plan.window.more;
  }
  static bool MakesAll(const Plan& plan) {
    return !plan.loop.has_breaks && plan.start == 0 && plan.window == Window();
  }
  void Rewrite(Plan& plan) {
    auto& [loop, counter, order, members, start, window, windows, block_turns, asides, aside_rows] =
        plan;
    for (size_t m : members) makers_.CheckSizes(b_, makers_[m], loop.entry);
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
    const ir::Values tables = StartTables(plan, around, names);
    GoByBlocks(plan, around, make);

    b_.SetBlock(make);
    const Affine base = Affine::Of(block) * block_turns + Affine::Const(start);
    const BlockRows rows = RowsOfTurns(plan, base, window);
    std::map<size_t, BlockRows> rows_of;
    for (size_t m : members) rows_of.emplace(m, RowsMade(plan, base, m, rows, rows_of));
    Value turns = rows.count;
    if (window.first != 0 || window.last != 0 || window.more < 0 || window.step != 1)
      turns =
          b_.Make(Op::Min, {b_.I64(block_turns), b_.AffineOf(Affine::Of(counter.bound) - base)});
    Copier made(f_);
    for (size_t m : members)
      f_.blocks[make].insts.push_back(RowsOf(m, counter.bound, order, rows_of, made));
    for (size_t m : asides) rows_of.emplace(m, RowsMade(plan, base, m, rows, rows_of));
    const ir::Values filled = FillTables(plan, make, rows_of, made, tables);
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
    CountRows(loop, counter.param, base, row, turns, next);
    loop.blocks.push_back(next);
    round_.RenameOutside(loop, names);
  }

  // The loop around, which is entered instead of the other one and goes on where that did.
  void GoByBlocks(const Plan& plan, uint32_t around, uint32_t make) {
    const auto& [loop, counter, order, members, start, window, windows, turns, asides, aside_rows] =
        plan;
    const ir::Terminator term = std::move(f_.blocks[loop.entry].term);
    b_.SetBlock(loop.entry);
    const Value rounded = b_.AffineOf(Affine::Of(counter.bound) + Affine::Const(turns - 1 - start));
    const Value blocks = b_.Make(Op::Div, {rounded, b_.I64(turns)});
    const Value none = b_.I64(0);
    f_.blocks[loop.entry].term = term;
    ir::Edge& entry = f_.blocks[loop.entry].term.edges[loop.entry_edge];
    entry.block = around;
    entry.args.erase(entry.args.begin() + static_cast<long>(counter.param));
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
  BlockRows RowsMade(const Plan& plan, const Affine& base, size_t m, const BlockRows& of_turns,
                     const std::map<size_t, BlockRows>& others) {
    const Window& window = plan.made.at(m);
    if (window == plan.window) return of_turns;
    for (const auto& [other, rows] : others) {
      if (plan.made.at(other) == window) return rows;
    }
    return RowsOfTurns(plan, base, window);
  }
  // That a window of these turns takes, as far as they are there: no further than where all end, in a form that tells it.
  BlockRows RowsOfTurns(const Plan& plan, const Affine& base, const Window& w) {
    const Affine first = base * w.step + Affine::Const(w.first);
    const bool starts = plan.start * w.step + w.first >= 0;
    const Affine lo =
        starts ? first : Affine::Of(b_.Make(Op::Max, {b_.AffineOf(first), b_.I64(0)}));
    const Affine of_block =
        base * w.step + Affine::Const((plan.turns - 1) * w.step + 1 + w.last) - lo;
    const Affine end =
        w.step != 1 ? Affine::Of(w.rows)
                    : Affine::Of(plan.counter.bound) + Affine::Const(std::min(w.last, w.more));
    const Affine left = end - lo;
    const Value most = of_block.IsConst() ? b_.I64(of_block.constant) : b_.AffineOf(of_block);
    Value count = b_.Make(Op::Min, {most, b_.AffineOf(left)});
    if (!starts || w.step != 1 || w.last > w.more) count = b_.Make(Op::Max, {count, b_.I64(0)});
    return {lo, count, starts};
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
      if (maker.adds) continue;
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
  ir::Values StartTables(const Plan& plan, uint32_t around, Copier& names) {
    ir::Values tables;
    if (plan.asides.empty()) return tables;
    const uint32_t entry = plan.loop.entry;
    const ir::Terminator term = std::move(f_.blocks[entry].term);
    b_.SetBlock(entry);
    for (size_t m : plan.asides) {
      const auto rows = plan.aside_rows.find(m);
      if (rows != plan.aside_rows.end() && !makers_[m].adds)
        rows_in_front_[m] = b_.AffineOf(rows->second);
      const Inst& whole = makers_.InstOf(makers_[m]);
      for (size_t k = 0; k < whole.results.size(); ++k) {
        const Inst table =
            EmptyTable(f_, ResultOf(m, k), f_.TypeOf(whole.results[k]), makers_[m].adds, whole.loc);
        tables.push_back(table.results[0]);
        f_.blocks[entry].insts.push_back(table);
      }
    }
    if (plan.start > 0) tables = FillFront(plan, entry, tables);
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
    if (const auto rows = rows_in_front_.find(aside); rows != rows_in_front_.end())
      std::replace(r.shape.begin(), r.shape.end(), makers_[aside].rows, rows->second);
    return r;
  }
  // The rows in front of the first turn's are those of a block of as many turns.
  ir::Values FillFront(const Plan& plan, uint32_t block, const ir::Values& tables) {
    Plan front = plan;
    front.start = 0;
    front.turns = plan.start;
    std::map<size_t, BlockRows> rows_of;
    Copier made(f_);
    for (size_t m : plan.members) {
      BlockRows rows = RowsOfTurns(front, {}, plan.made.at(m));
      rows.count = b_.Make(Op::Max, {rows.count, b_.I64(0)});
      rows_of.emplace(m, rows);
    }
    for (size_t m : plan.members)
      f_.blocks[block].insts.push_back(RowsOf(m, plan.counter.bound, plan.order, rows_of, made));
    for (size_t m : plan.asides) {  // of no fewer than none: from 0 on
      b_.SetBlock(block);
      rows_of.emplace(m, RowsOfTurns(front, {}, plan.made.at(m)));
    }
    return FillTables(plan, block, rows_of, made, tables);
  }
  // The tables with the rows that the block makes.
  ir::Values FillTables(const Plan& plan, uint32_t block,
                        const std::map<size_t, BlockRows>& rows_of, Copier& made,
                        const ir::Values& tables) {
    ir::Values filled;
    for (size_t m : plan.asides) {
      const BlockRows& rows = rows_of.at(m);
      Inst of_block = RowsOf(m, plan.counter.bound, plan.order, rows_of, made);
      const ir::Values results = of_block.results;
      const uint32_t loc = of_block.loc;
      f_.blocks[block].insts.push_back(std::move(of_block));
      for (size_t k = 0; k < results.size(); ++k) {
        const Value table = tables[filled.size()];
        std::vector<Inst>& out = f_.blocks[block].insts;
        filled.push_back(makers_[m].adds ? AddTo(f_, table, results[k], out)
                                         : PutRows(f_, results[k], rows.count, rows.first,
                                                   ResultOf(m, k), table, loc, out));
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

  void ReadFrom(const Copier& made, const Plan& plan, const std::map<size_t, BlockRows>& rows_of,
                Value row) {
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

  const UsingBlocks users_;
  std::map<size_t, Value> rows_in_front_;  // by aside
  const RowAsides asides_;
  const LoopTraps traps_;
};

}  // namespace

bool BlockTurns(ir::Module& m, ir::Function& f) {
  return f.blocks.size() > 1 && Blocker(m, f).Run();
}

}  // namespace pullback::opt
