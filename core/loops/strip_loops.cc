#include "core/loops/strip_loops.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "core/loops/walk.h"
#include "core/loops/writer.h"

namespace pullback::loops {
namespace {

using ir::Op;
using ir::Type;
using Kind = Node::Kind;

// Offsets of a part's accesses, less where the strip's first row, or element, would be.
class Offsets {
 public:
  // `starts`: by array.
  Offsets(Function& f, const std::map<Reg, Reg>& starts, Reg index)
      : f_(f), starts_(starts), index_(index), turns_(f) {}

  void MoveIn(Node& loop) {
    Move(loop.body);
    loop.body.insert(loop.body.begin(), std::make_move_iterator(turns_.nodes.begin()),
                     std::make_move_iterator(turns_.nodes.end()));
  }

 private:
  void Move(std::vector<Node>& nodes) {
    std::map<std::pair<Reg, Reg>, Reg> made;
    std::vector<Node> all;
    for (Node& n : nodes) {
      Move(n.body);
      Move(n.other);
      const auto start = IsAccess(n) ? starts_.find(n.args[0]) : starts_.end();
      if (start != starts_.end()) {
        const bool of_turn = n.args[1] == index_;
        Reg& offset = (of_turn ? of_turn_ : made)[{start->second, n.args[1]}];
        if (!offset.valid()) {
          Writer front(f_);
          Writer& to = of_turn ? turns_ : front;
          offset = to.Scalar(Op::Sub, {n.args[1], start->second});
          std::move(front.nodes.begin(), front.nodes.end(), std::back_inserter(all));
        }
        n.args[1] = offset;
        n.rows.clear();
        std::erase(n.apart, index_);  // of another strip, the same element
      }
      all.push_back(std::move(n));
    }
    nodes = std::move(all);
  }

  Function& f_;
  const std::map<Reg, Reg>& starts_;
  const Reg index_;
  Writer turns_;  // in front of all of a turn
  std::map<std::pair<Reg, Reg>, Reg> of_turn_;
};

// A number of turns, more than `base` if valid.
Reg Write(Writer& to, const Reach& turns, Reg base = ir::kNoValue) {
  Reg sum = base;
  const auto add = [&](Reg term) { sum = sum.valid() ? to.Scalar(Op::Add, {sum, term}) : term; };
  if (turns.constant != 0 || (turns.terms.empty() && !base.valid())) add(to.I64(turns.constant));
  for (const Reach::Term& t : turns.terms) {
    add(t.coeff == 1 ? t.value : to.Scalar(Op::Mul, {t.value, to.I64(t.coeff)}));
  }
  return sum;
}
// So many turns, or more in extents that are not negative, as rows of that many turns: no more than these.
Reach InRows(const Reach& turns, int64_t period) {
  const auto whole = [&](int64_t a) { return a >= 0 ? a / period : -((-a + period - 1) / period); };
  Reach rows = Reach::Const(whole(turns.constant));
  for (const Reach::Term& t : turns.terms) rows = rows + Reach::Of(t.value) * whole(t.coeff);
  return rows;
}
// Rows of the strip before, which are needed again.
Reg WriteMore(Writer& to, const StripArray& of) {
  const Reach more = of.last - of.first;
  const Reg rows = Write(to, more);
  return more.IsConst() ? rows : to.Scalar(Op::Max, {rows, to.I64(0)});
}

// Of a loop that runs at this pace, the first turn at `turn` of the strips or behind; by steps, from `start`, 0, on.
Reg FirstTurn(Writer& to, const Pace& pace, Reg turn, Reg start) {
  const Reg since = pace.delay == Reach() ? turn : Write(to, pace.delay * -1, turn);
  if (pace.rate == 1) return since;
  const Reg any = to.Scalar(Op::Max, {since, start});
  const Reg above = to.Scalar(Op::Add, {any, to.I64(pace.rate - 1)});
  return to.Scalar(Op::Div, {above, to.I64(pace.rate)});
}

// An array in a strip.
class StripRows {
 public:
  // `front`: of the strips.
  StripRows(Function& f, const StripArray& of, Writer& front) : f_(f), of_(of) {
    if (!of.IsOfTurn()) moves_ = front.Scalar(Op::Lt, {of.slots, of.extents[0]}, 0, Type::Bool());
    if (!of.HasRows()) return;
    elements_ = of.extents[1];
    for (size_t axis = 2; axis < of.extents.size(); ++axis)
      elements_ = front.Scalar(Op::Mul, {elements_, of.extents[axis]});
  }

  // The offset, in the array without strips, of what is first in a strip that starts at `lo`.
  Reg Start(Writer& body, const Strips& strips) const {
    const Reg turn = Rows(body, strips.lo);
    const Reg row = of_.first == Reach() ? turn : Write(body, of_.first, turn);
    const Reg start = elements_.valid() ? body.Scalar(Op::Mul, {row, elements_}) : row;
    return moves_.valid() ? body.Scalar(Op::Select, {moves_, start, strips.zero}) : start;
  }
  // What of the strip before is needed again comes first, and the rest is 0 if it was before.
  void Begin(Writer& body, const Strips& strips) const {
    Reg from = strips.zero;
    if (of_.HasMore()) {
      const Reg later = body.Scalar(Op::Lt, {strips.zero, strips.loop.results[0]}, 0, Type::Bool());
      const Reg more = WriteMore(body, of_);
      body.nodes.push_back(
          Carry(strips, body.Scalar(Op::And, {later, moves_}, 0, Type::Bool()), more));
      const Reg fresh = body.Scalar(Op::Select, {moves_, more, of_.slots});
      from = body.Scalar(Op::Select, {later, fresh, strips.zero});
    }
    if (of_.zeroed == 0) return;
    body.nodes.push_back(ForRows(from, of_.slots, strips, [&](Writer& row, Reg offset, Reg index) {
      const Reg nothing = row.Scalar(Op::Const, {}, 0, f_.TypeOf(of_.array).Element());
      Store(row, offset, nothing, {index});
    }));
  }

 private:
  // That these turns, a whole number of rows', make.
  Reg Rows(Writer& to, Reg turns) const {
    return of_.period == 1 ? turns : to.Scalar(Op::Div, {turns, to.I64(of_.period)});
  }
  Node Carry(const Strips& strips, Reg moves, Reg more) const {
    Node carry;
    carry.kind = Kind::kIf;
    carry.args = {moves};
    Writer ahead(f_);
    const Reg rows = Rows(ahead, strips.size);
    const Reg distance = elements_.valid() ? ahead.Scalar(Op::Mul, {rows, elements_}) : rows;
    ahead.nodes.push_back(
        ForRows(strips.zero, more, strips, [&](Writer& row, Reg offset, Reg index) {
          Node load;
          load.kind = Kind::kLoad;
          load.args = {of_.array, row.Scalar(Op::Add, {offset, distance})};
          load.results = {f_.NewReg(f_.TypeOf(of_.array).Element())};
          const Reg loaded = load.results[0];
          row.nodes.push_back(std::move(load));
          Store(row, offset, loaded, of_.HasRows() ? std::vector<Reg>{index} : std::vector<Reg>{});
        }));
    carry.body = std::move(ahead.nodes);
    return carry;
  }
  // `element` writes what is done at an offset, by the index of the innermost loop.
  template <typename Fn>
  Node ForRows(Reg from, Reg to, const Strips& strips, Fn&& element) const {
    Node rows = MakeLoop(f_, from, to, "o", strips.loop.loc);
    Writer body(f_);
    if (!elements_.valid()) {
      element(body, rows.results[0], rows.results[0]);
      rows.body = std::move(body.nodes);
      return rows;
    }
    const Reg start = body.Scalar(Op::Mul, {rows.results[0], elements_});
    Node line = MakeLoop(f_, strips.zero, elements_, "o", strips.loop.loc);
    Writer inner(f_);
    element(inner, inner.Scalar(Op::Add, {start, line.results[0]}), line.results[0]);
    line.body = std::move(inner.nodes);
    body.nodes.push_back(std::move(line));
    rows.body = std::move(body.nodes);
    return rows;
  }
  void Store(Writer& to, Reg offset, Reg value, std::vector<Reg> apart) const {
    Node store;
    store.kind = Kind::kStore;
    store.apart = std::move(apart);
    store.args = {of_.array, offset, value};
    to.nodes.push_back(std::move(store));
  }

  Function& f_;
  const StripArray& of_;
  Reg elements_;  // of a row
  Reg moves_;     // whether it holds less than all rows; kNoValue where that is no matter
};

}  // namespace

Strips OpenStrips(Function& f, const Node& bounds, const char* name,
                  const std::function<Reg(Writer&)>& size_of, const ir::KnownExtents& known) {
  const Reg first = bounds.args[0], end = bounds.args[1];
  const bool from_zero = known.IsZero(first);
  Writer front(f);
  Strips strips;
  strips.zero = front.I64(0);
  const Reg size = size_of(front), above = front.Scalar(Op::Sub, {size, front.I64(1)});
  // The first is not negative, so the difference does not wrap.
  const Reg count =
      from_zero ? end : front.Scalar(Op::Sub, {front.Scalar(Op::Max, {end, first}), first});
  const Reg trips = front.Scalar(Op::Div, {front.Scalar(Op::Add, {count, above}), size});
  strips.loop = MakeLoop(f, strips.zero, trips, name, bounds.loc);
  Writer body(f);
  const Reg before = body.Scalar(Op::Mul, {strips.loop.results[0], size});
  strips.lo = from_zero ? before : body.Scalar(Op::Add, {first, before});
  strips.hi = body.Scalar(Op::Min, {body.Scalar(Op::Add, {strips.lo, size}), end});
  strips.size = size;
  strips.front = std::move(front.nodes);
  strips.loop.body = std::move(body.nodes);
  return strips;
}

std::vector<Node> RunByStrips(Function& f, const Node& bounds, std::vector<StripPart> parts,
                              const std::vector<StripArray>& arrays,
                              const ir::KnownExtents& known) {
  Reach most;
  for (const StripPart& part : parts) most = AtMost(most, part.pace.delay);
  Writer front(f);
  Node turns = MakeLoop(f, bounds.args[0], bounds.args[1], "strip", bounds.loc);
  if (most != Reach()) turns.args[1] = Write(front, most, turns.args[1]);
  const auto size = [&](Writer& to) { return to.I64(StripTurns(arrays)); };
  Strips strips = OpenStrips(f, turns, "strip", size, known);
  std::move(strips.front.begin(), strips.front.end(), std::back_inserter(front.nodes));
  Writer body(f);
  body.nodes = std::move(strips.loop.body);
  std::map<Reg, Reg> starts;
  for (const StripArray& of : arrays) {
    const StripRows rows(f, of, front);
    starts[of.array] = rows.Start(body, strips);
    rows.Begin(body, strips);
  }
  for (StripPart& part : parts) {
    Node& loop = part.node.kind == Kind::kIf ? part.node.body[0] : part.node;
    const auto& [rate, delay] = part.pace;
    const Reg own_lo = loop.args[0], own_hi = loop.args[1];
    const bool from_first = rate != 1 || (delay == Reach() && own_lo == bounds.args[0]);
    const bool to_end = part.pace == Pace{1, most} && own_hi == bounds.args[1];
    const Reg lo = FirstTurn(body, part.pace, strips.lo, own_lo);
    const Reg hi = FirstTurn(body, part.pace, strips.hi, own_lo);
    loop.args = {from_first ? lo : body.Scalar(Op::Max, {lo, own_lo}),
                 to_end ? hi : body.Scalar(Op::Min, {hi, own_hi})};
    Offsets(f, starts, loop.results[0]).MoveIn(loop);
    body.nodes.push_back(std::move(part.node));
  }
  strips.loop.body = std::move(body.nodes);
  front.nodes.push_back(std::move(strips.loop));
  return std::move(front.nodes);
}

namespace {
bool IsWithin(const Reach& turns, int64_t most) {
  constexpr int64_t kMostExtents = 4;
  int64_t extents = 0;
  for (const Reach::Term& t : turns.terms) extents += std::abs(t.coeff);
  return -most <= turns.constant && turns.constant <= most && extents <= kMostExtents;
}
}  // namespace

bool IsNear(const Reach& turns) { return IsWithin(turns, 256); }
bool IsShortDelay(const Reach& turns) { return IsWithin(turns, 512); }

StripArray MakeStripArray(const Node& alloc, const Effects::Access& access) {
  StripArray of{};
  of.array = alloc.results[0];
  of.extents = alloc.args;
  of.zeroed = alloc.bits;
  of.period = access.period;
  of.first = InRows(access.first, of.period);
  of.last = InRows(access.last * -1, of.period) * -1;
  return of;
}

int64_t StripTurns(const std::vector<StripArray>& arrays) {
  const bool rows =
      std::any_of(arrays.begin(), arrays.end(), [](const StripArray& of) { return of.HasRows(); });
  int64_t whole = 1, longest = 1, widest = 0;
  for (const StripArray& of : arrays) {
    whole = std::lcm(whole, of.period);
    longest = std::max(longest, of.period);
    widest = std::max(widest, of.last.constant - of.first.constant);
  }
  // What a strip carries on is no more than two rows for each that it makes.
  const int64_t turns =
      std::max({rows ? kStripRows : kStripTurns, 4 * longest, widest > 32 ? 2 * widest : 0});
  return (turns + whole - 1) / whole * whole;
}

// Of an array without rows there is none, however long it would be.
std::vector<Node> ShrinkToStrip(Function& f, Node& alloc, StripArray& of, int64_t turns) {
  Writer front(f);
  Reg& slots = alloc.args[0];
  const Reg extent = slots;
  slots = front.I64(turns);
  if (of.HasMore()) slots = front.Scalar(Op::Add, {slots, WriteMore(front, of)});
  slots = front.Scalar(Op::Min, {extent, slots});
  if (of.HasRows()) {
    const Reg none = front.I64(0);
    const Reg any = front.Scalar(Op::Lt, {none, extent}, 0, Type::Bool());
    alloc.args[1] = front.Scalar(Op::Select, {any, alloc.args[1], none});
    of.extents.assign(alloc.args.begin(), alloc.args.end());
    of.extents[0] = extent;
  }
  of.slots = slots;
  alloc.bits = of.HasMore() ? 1 : 0;  // rows in front of the first are carried, too
  return std::move(front.nodes);
}

}  // namespace pullback::loops
