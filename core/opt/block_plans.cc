#include "core/opt/block_plans.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace pullback::opt {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int64_t kRows = 16, kMostRows = 512;
constexpr int64_t kMostTwice = 8;    // rows of two blocks of 16
constexpr int64_t kMostAway = 4;     // rows next to one that others are made of
constexpr int64_t kMostLag = 64;     // rows next to a turn's own
constexpr int64_t kMostStart = 64;   // turns that are left out at first
constexpr int64_t kMostBeside = 12;  // rows next to a turn's own that are made for those
constexpr int64_t kMostStep =
    4;  // rows from a turn's own to the next one's, if no coefficient says it

}  // namespace

// No more than a block's rows: k, or min(k, …).
bool BlockPlans::IsFew(Value extent) const {
  const auto is_small = [&](Value v) {
    const Inst* inst = defs_.Inst(v);
    return inst && inst->op == Op::Const && static_cast<int64_t>(inst->bits) <= kRows;
  };
  const Inst* min = defs_.Inst(extent);
  return is_small(extent) ||
         (min && min->op == Op::Min && std::any_of(min->args.begin(), min->args.end(), is_small));
}

Turns BlockPlans::TurnsOf(const BlockPlan& plan) const {
  return {plan.loop, f_.blocks[plan.loop.header].params[plan.counter.param], plan.counter.bound,
          plan.start};
}

std::optional<BlockPlan> BlockPlans::PlanFor(const BlockLoop& loop) const {
  const std::optional<Counter> counter = FindCounterByOnes(f_, loop, defs_);
  if (!counter) return std::nullopt;
  if (IsReadBehind(loop) || FillsTable(f_, loop, *counter)) return std::nullopt;
  BlockPlan plan{loop, *counter, Order::kForwards};
  plan.start = FormOf(loop.Arguments(f_)[counter->param], defs_);
  if (const Inst* bound = defs_.Inst(counter->bound); bound && bound->op == Op::Const)
    plan.bound = static_cast<int64_t>(bound->bits);
  plan.starts_at_row = IsNotNegative(plan.start, defs_);
  const bool has_end = TimesBound(counter->bound, 1, defs_).has_value();
  plan.is_counted = !has_end || !turn_rows_.IsBounded(plan.start);
  std::vector<BlockPlan> plans;
  const auto add_windows = [&] {
    for (const int64_t step : StepsOf(plan)) {
      plan.window = WindowOf(plan, step);
      if (plan.window != Window()) plans.push_back(plan);
    }
    plan.window = {};
  };
  if (HasUsualStart(plan) && (plan.StartsAt0() || has_end)) {
    add_windows();
    plans.push_back(plan);
    if (plan.StartsAt0()) {
      plans.push_back(plan);
      plans.back().order = Order::kBackwards;
    }
  }
  plan.by_rows = true;
  add_windows();
  std::optional<BlockPlan> best = FirstOf(plans, /*with_asides=*/false);
  std::optional<BlockPlan> more = FirstOf(plans, /*with_asides=*/true);
  return more && (!best || CountLarge(*more) > CountLarge(*best)) ? more : best;
}

// From the largest on: those that reads name, and small ones, which may be told otherwise.
std::set<int64_t, std::greater<>> BlockPlans::StepsOf(const BlockPlan& plan) const {
  const Value turn = TurnsOf(plan).counter;
  std::set<int64_t, std::greater<>> steps;
  for (int64_t step = 1; step <= kMostStep; ++step) steps.insert(step);
  for (size_t k : makers_.ReadsAt(turn)) {
    const int64_t told = FormOf(makers_.Read(k).row, defs_).Coeff(turn);
    if (1 <= told && told <= kMostTold) steps.insert(told);
  }
  return steps;
}

bool BlockPlans::Makes(uint32_t header, Value array) const {
  const auto loop = std::find_if(loops_.begin(), loops_.end(),
                                 [&](const BlockLoop& l) { return l.header == header; });
  const std::optional<BlockPlan> plan = loop == loops_.end() ? std::nullopt : PlanFor(*loop);
  return plan && std::any_of(plan->members.begin(), plan->members.end(), [&](size_t m) {
           const ir::Values& made = makers_.InstOf(makers_[m]).results;
           return std::find(made.begin(), made.end(), array) != made.end();
         });
}

bool BlockPlans::HasUsualStart(const BlockPlan& plan) {
  return plan.start.IsConst() && 0 <= plan.start.constant && plan.start.constant <= kMostStart;
}

// Of those that make rows of large arrays.
std::optional<BlockPlan> BlockPlans::FirstOf(std::vector<BlockPlan> plans, bool with_asides) const {
  for (BlockPlan& plan : plans) {
    if (FindMembers(plan, with_asides) && CountLarge(plan) > 0) return std::move(plan);
  }
  return std::nullopt;
}
std::ptrdiff_t BlockPlans::CountLarge(const BlockPlan& plan) const {
  return std::count_if(plan.members.begin(), plan.members.end(),
                       [&](size_t m) { return makers_[m].is_large; });
}

// Rows around a turn's own that it reads of one array or another, where it is known that they are there, or can be asked.
Window BlockPlans::WindowOf(const BlockPlan& plan, int64_t step) const {
  if (!plan.by_rows && !TimesBound(plan.counter.bound, step, defs_)) return {};
  const Turns turns = TurnsOf(plan);
  std::optional<Window> window;
  for (size_t k : makers_.ReadsAt(turns.counter)) {
    const RowRead& of = makers_.Read(k);
    if (!plan.loop.Holds(of.block) || makers_.IsWhole(makers_.MakerOf(of))) continue;
    const Value rows = makers_[makers_.MakerOf(of)].rows;
    const std::optional<RowSpan> span = RowsOfTurn(of, plan, step);
    const std::optional<Window> read = span ? WindowFor(*span, rows, plan, step) : std::nullopt;
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
std::optional<Window> BlockPlans::WindowFor(const RowSpan& span, Value rows, const BlockPlan& plan,
                                            int64_t step) const {
  Window read{span.first, span.last, 0, 0, step};
  if (step != 1 || plan.by_rows) {
    read.rows = rows;
    const Affine form = FormOf(rows, defs_);
    const bool has_end = IsOfDims(form, defs_) ||
                         (plan.by_rows && TimesBound(rows, 1, defs_) && IsNotNegative(form, defs_));
    return has_end ? std::optional(read) : std::nullopt;
  }
  const std::optional<int64_t> more = RowsBeyond(rows, plan.counter.bound, defs_);
  if (!more) return std::nullopt;
  read.more = *more;
  return read;
}
std::optional<RowSpan> BlockPlans::NearRows(const RowRead& read, const Turns& turns,
                                            int64_t step) const {
  const Value rows = makers_[makers_.MakerOf(read)].rows;
  const auto span =
      turn_rows_.SpanOf(read.row, rows, read.block, read.place, read.in_body, turns, step);
  if (!span || span->first < -kMostLag || span->last >= step + kMostLag) return std::nullopt;
  // Of a number of turns that is known all rows may be near, by any step.
  const bool is_one = span->first == span->last;
  return step == 1 || is_one || !FormOf(turns.bound, defs_).IsConst() ? span : std::nullopt;
}
// Also of a row that may not be there, which the turn asks before it reads any element, or would at all points but for those that are
// not: where `plan` is by rows.
std::optional<RowSpan> BlockPlans::RowsOfTurn(const RowRead& read, const BlockPlan& plan,
                                              int64_t step) const {
  const Turns turns = TurnsOf(plan);
  if (const auto near = NearRows(read, turns, step)) return near;
  if (!plan.by_rows) return std::nullopt;
  if (read.in_body) {
    const ir::Each& each = *f_.blocks[read.block].insts[read.place].each;
    if (!each.where.empty() || each.body[*read.in_body].guard.valid()) return std::nullopt;
  }
  const Affine away = FormOf(read.row, defs_) - Affine::Of(turns.counter) * step;
  if (!away.IsConst() || away.constant < -kMostLag || kMostLag < away.constant) return std::nullopt;
  return RowSpan{away.constant, away.constant};
}

// Whether something that the header makes is read behind the loop.
bool BlockPlans::IsReadBehind(const BlockLoop& loop) const {
  const ir::Block& header = f_.blocks[loop.header];
  ValueIds inner;
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

bool BlockPlans::FindMembers(BlockPlan& plan, bool with_asides) const {
  const bool is_backwards = plan.order == Order::kBackwards;
  if (with_asides && (is_backwards || plan.is_counted || !HasUsualStart(plan))) return false;
  for (const bool beside : {true, false}) {
    if (beside && is_backwards) continue;
    plan.members = MembersOf(plan, beside, with_asides);
    if (FindAsides(plan) && FindMade(plan)) {
      FindChecked(plan);
      return true;
    }
  }
  return false;
}
// Who else reads rows of members. False: one needs something else that is not there in front of the loop.
bool BlockPlans::FindAsides(BlockPlan& plan) const {
  std::set<size_t> asides;
  for (size_t m : plan.members) {
    for (size_t k : makers_.ReadsOf(m)) {
      const RowRead& read = makers_.Read(k);
      if (!plan.loop.Holds(read.block)) asides.insert(*makers_.ReaderOf(read));
    }
  }
  for (size_t m : plan.members) asides.erase(m);
  plan.asides = {asides.begin(), asides.end()};
  const std::set<size_t> members(plan.members.begin(), plan.members.end());
  const auto is_there = [&](size_t m) {
    return asides_.NeedsOnly(m, plan.loop, [&](const RowRead& read) {
      const size_t of = makers_.MakerOf(read);
      return members.contains(of) || (asides.contains(of) && makers_.IsOwnRow(m, read));
    });
  };
  return std::all_of(plan.asides.begin(), plan.asides.end(), is_there) &&
         std::all_of(plan.members.begin(), plan.members.end(), [&](size_t m) {
           return makers_.IsOnceInFront(makers_[m], plan.loop) || is_there(m);
         });
}

// Which rows of each member the turns and other members take. False: some are not known, or more than a block has of its own.
bool BlockPlans::FindMade(BlockPlan& plan) const {
  plan.made.clear();
  if (!FindWindowsOfAsides(plan)) return false;
  int64_t most_step = plan.window.step;
  for (auto m = plan.members.rbegin(); m != plan.members.rend(); ++m) {
    if (!plan.made.contains(*m) && !FindMadeOf(*m, plan)) return false;
    most_step = std::max(most_step, plan.made.at(*m).step);
  }
  int64_t group = 1;
  for (const auto& [m, window] : plan.made) group = std::lcm(group, window.per);
  if (!HasAsidesRead(plan)) return false;
  // So many that few rows are made twice.
  const int64_t twice = plan.window.last - plan.window.first + 1 - plan.window.step;
  int64_t rows = std::max(kRows, most_step * group);
  if (twice > kMostTwice) rows = std::max(rows, 4 * twice);
  plan.turns = rows / most_step / group * group;
  return rows <= kMostRows;
}

// Whether who reads a row that an aside makes makes the same rows.
bool BlockPlans::HasAsidesRead(const BlockPlan& plan) const {
  const std::set<size_t> asides(plan.asides.begin(), plan.asides.end());
  return std::all_of(plan.made.begin(), plan.made.end(), [&](const auto& made) {
    const std::vector<RowRead> reads = makers_.ReadsIn(made.first);
    return std::all_of(reads.begin(), reads.end(), [&](const RowRead& read) {
      const size_t of = makers_.MakerOf(read);
      return !asides.contains(of) || plan.made.at(of) == made.second;
    });
  });
}

bool BlockPlans::FindMadeOf(size_t m, BlockPlan& plan) const {
  std::optional<RowSpan> span;
  int64_t step = 0, end = 0;  // of the last turn
  bool is_by_one_step = true;
  const auto join = [&](int64_t by, int64_t first, int64_t last, int64_t of_last) {
    is_by_one_step &= step == 0 || step == by;
    step = by;
    end = span ? std::max(end, of_last) : of_last;
    span = span ? RowSpan{std::min(span->first, first), std::max(span->last, last)}
                : RowSpan{first, last};
  };
  for (size_t k : makers_.ReadsOf(m)) {
    const RowRead& read = makers_.Read(k);
    if (plan.loop.Holds(read.block)) {
      join(plan.window.step, plan.window.first, plan.window.last, plan.window.last);
      continue;
    }
    const size_t reader = *makers_.ReaderOf(read);
    const Window& of = plan.made.at(reader);
    const auto near = makers_.NearIn(reader, read, kMostAway, kMostStep);
    if (!near || near->step % of.per != 0) return false;
    const int64_t by = of.step * near->step / of.per;
    const int64_t last = of.last * near->step + near->span.last - of.shift * by;
    join(by, of.first * near->step + near->span.first - of.shift * by, last - (of.per - 1) * by,
         last + of.cut * near->step);
  }
  const Value rows = makers_[m].rows;
  if (!span || !is_by_one_step || span->first < -kMostBeside - kMostLag ||
      span->last >= step + kMostBeside + kMostLag)
    return false;
  if (step > kMostTold || !EndsBy(rows, step, plan)) return false;
  Window& made = plan.made[m] = {span->first, span->last, end - span->last, 0, step};
  if (step == 1 && !plan.by_rows) made.more = *RowsBeyond(rows, plan.counter.bound, defs_);
  if (step != 1 || plan.by_rows) made.rows = rows;
  return true;
}

// How many turns a row of what is behind the loop has, and which of them.
bool BlockPlans::FindWindowsOfAsides(BlockPlan& plan) const {
  plan.sizes.clear();
  if (plan.asides.empty()) return true;
  Members behind = plan.asides;
  for (size_t m : plan.members) {
    if (!makers_.IsOnceInFront(makers_[m], plan.loop)) behind.push_back(m);
  }
  std::sort(behind.begin(), behind.end());  // each behind what it reads
  Rates rates;
  if (!LearnInFront(plan, rates) || !LearnBehind(behind, rates)) return false;
  const std::set<size_t> asides(plan.asides.begin(), plan.asides.end());
  for (size_t m : behind) {
    const auto rate = rates.find(m);
    if (rate == rates.end()) return false;
    plan.sizes.emplace(m, asides_.MakersOfSize(makers_[m].rows, plan.loop));
    if (!asides.contains(m)) {
      if (rate->second.turns == 1) continue;  // as others (FindMadeOf)
      if (!IsReadByOwnRows(m, rates)) return false;
    }
    const std::optional<Window> made = WindowOfAside(m, rate->second, plan);
    if (!made) return false;
    plan.made[m] = *made;
  }
  return true;
}

// Of members that are read by turns, or by such, how many rows a turn has.
bool BlockPlans::LearnInFront(const BlockPlan& plan, Rates& rates) const {
  for (auto m = plan.members.rbegin(); m != plan.members.rend(); ++m) {
    for (size_t k : makers_.ReadsOf(*m)) {
      const RowRead& read = makers_.Read(k);
      std::optional<Rate> rate;
      if (plan.loop.Holds(read.block)) {
        rate = Rate{plan.window.step, 1};
      } else {
        const size_t reader = *makers_.ReaderOf(read);
        const auto of = rates.find(reader);
        if (of == rates.end()) continue;
        const auto near = makers_.NearIn(reader, read, kMostAway, kMostStep);
        if (near) rate = Rate{of->second.rows * near->step, 1};
      }
      if (!rate || rates.emplace(*m, *rate).first->second != *rate) return false;
    }
  }
  return true;
}

// Of what reads rows of others, by how far apart these are.
bool BlockPlans::LearnBehind(const Members& behind, Rates& rates) const {
  for (size_t m : behind) {
    for (const RowRead& read : makers_.ReadsIn(m)) {
      const auto of = rates.find(makers_.MakerOf(read));
      if (of == rates.end()) continue;
      const auto near = makers_.NearIn(m, read, kMostAway, kMostStep);
      if (!near) return false;
      const int64_t by = std::gcd(of->second.rows, near->step);
      const Rate rate{of->second.rows / by, of->second.turns * near->step / by};
      if (rates.emplace(m, rate).first->second != rate) return false;
    }
  }
  return true;
}

bool BlockPlans::IsReadByOwnRows(size_t m, const Rates& rates) const {
  const std::vector<size_t>& reads = makers_.ReadsOf(m);
  return std::all_of(reads.begin(), reads.end(), [&](size_t k) {
    const RowRead& read = makers_.Read(k);
    const size_t reader = *makers_.ReaderOf(read);
    const auto rate = rates.find(reader);
    return makers_.IsOwnRow(reader, read) && rate != rates.end() && rate->second == rates.at(m);
  });
}

// nullopt: blocks do not make all its rows.
std::optional<Window> BlockPlans::WindowOfAside(size_t m, Rate rate, const BlockPlan& plan) const {
  if (rate.rows != 1 || rate.turns > kMostTold) return std::nullopt;
  Window made{0, 0, 0, 0, 1, {}, rate.turns, plan.start.constant % rate.turns};
  const std::optional<int64_t> beyond = asides_.Beyond(m, plan.counter, made.per);
  if (!beyond || *beyond > made.per - 1 - made.shift) return std::nullopt;
  if (made.per == 1) made.more = *beyond;
  return made;
}

void BlockPlans::FindChecked(BlockPlan& plan) const {
  plan.checked.clear();
  for (size_t m : plan.members) {
    for (size_t k : makers_.ReadsOf(m)) {
      const RowRead& read = makers_.Read(k);
      if (plan.by_rows && plan.loop.Holds(read.block) &&
          !NearRows(read, TurnsOf(plan), plan.window.step))
        plan.checked.push_back(k);
    }
  }
}

// `beside`: also of what members read next to the rows that they make; `with_asides`: or statements behind the loop (row_asides.h).
BlockPlans::Members BlockPlans::MembersOf(const BlockPlan& plan, bool beside,
                                          bool with_asides) const {
  const BlockLoop& loop = plan.loop;
  const Value i = TurnsOf(plan).counter;
  const Affine turn = RowOfTurn(Affine::Of(i), plan.counter.bound, plan.order);
  const auto may = [&](size_t m) {
    return !IsFew(makers_[m].rows) && (HasRows(makers_[m], plan) || (beside && HasNear(m, plan))) &&
           (MakesAll(plan) || makers_.CannotTrap(makers_[m]));
  };
  const auto takes = [&](const RowRead& read) {
    if (!HasRows(makers_[makers_.MakerOf(read)], plan)) return false;
    if (plan.window == Window()) return read.row == turn;
    const std::optional<RowSpan> span = RowsOfTurn(read, plan, plan.window.step);
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
            (makers_.CannotTrap(makers_[makers_.MakerOf(read)]) && asides_.IsRun(reader, loop)));
  };
  RowMakers::Others others;
  if (beside) others.beside = is_near;
  if (with_asides) {
    others.aside = aside;
    others.may_behind = [&](size_t m) { return asides_.MayBeRows(m, loop) && HasNear(m, plan); };
  }
  return makers_.MembersOf(loop, i, may, takes, others);
}
// Whether it is known where rows by such a step end.
bool BlockPlans::EndsBy(Value rows, int64_t step, const BlockPlan& plan) const {
  return step == 1 && !plan.by_rows ? RowsBeyond(rows, plan.counter.bound, defs_).has_value()
                                    : TimesBound(rows, 1, defs_).has_value();
}
bool BlockPlans::HasNear(size_t m, const BlockPlan& plan) const {
  return EndsBy(makers_[m].rows, plan.window.step, plan) || EndsBy(makers_[m].rows, 2, plan);
}
// Whether the rows that a plan's blocks make of it are there, and are, if all turns are run, all of them.
bool BlockPlans::HasRows(const Maker& maker, const BlockPlan& plan) const {
  if (plan.window.rows.valid()) return FormOf(maker.rows, defs_) == FormOf(plan.window.rows, defs_);
  const auto more = RowsBeyond(maker.rows, plan.counter.bound, defs_);
  return more && *more == plan.window.more;
}
bool BlockPlans::MakesAll(const BlockPlan& plan) {
  return !plan.loop.has_breaks && plan.StartsAt0() && plan.window == Window();
}

}  // namespace pullback::opt
