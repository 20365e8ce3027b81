#include "core/loops/strip_loops.h"

#include <utility>

#include "core/loops/walk.h"
#include "core/loops/writer.h"

namespace pullback::loops {
namespace {

using ir::Op;
using ir::Type;
using Kind = Node::Kind;

bool MoveAccesses(std::vector<Node>& nodes, const std::map<Reg, bool>& arrays, Reg index,
                  Reg turn) {
  bool moved = false;
  for (Node& n : nodes) {
    moved |= MoveAccesses(n.body, arrays, index, turn);
    moved |= MoveAccesses(n.other, arrays, index, turn);
    if (!IsAccess(n) || !arrays.contains(n.args[0])) continue;
    n.args[1] = turn;
    n.rows.clear();
    std::erase(n.apart, index);  // of another strip, the same element
    moved = true;
  }
  return moved;
}

// The arrays' elements count from the strip's first.
void CountFrom(Function& f, Node& loop, Reg lo, const std::map<Reg, bool>& arrays) {
  const Reg turn = f.NewReg(Type::I64());
  if (!MoveAccesses(loop.body, arrays, loop.results[0], turn)) return;
  Node difference;
  difference.op = Op::Sub;
  difference.args = {loop.results[0], lo};
  difference.results = {turn};
  loop.body.insert(loop.body.begin(), std::move(difference));
}

Node ZeroStrip(Function& f, Reg array, Reg zero, Reg turns, uint32_t loc) {
  Node loop = MakeLoop(f, zero, turns, "o", loc);
  Writer body(f);
  const Reg nothing = body.Scalar(Op::Const, {}, 0, f.TypeOf(array).Element());
  Node store;
  store.kind = Kind::kStore;
  store.args = {array, loop.results[0], nothing};
  store.apart = {loop.results[0]};
  body.nodes.push_back(std::move(store));
  loop.body = std::move(body.nodes);
  return loop;
}

}  // namespace

bool AccessesTurn(const Node& loop, Reg array) {
  bool all = true;
  ForEachNode(loop.body, [&](const Node& n) {
    all &= !IsAccess(n) || n.args[0] != array || n.args[1] == loop.results[0];
  });
  return all;
}

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

std::vector<Node> RunByStrips(Function& f, const Node& bounds, std::vector<Node> parts,
                              const std::map<Reg, bool>& arrays, const ir::KnownExtents& known) {
  const Reg first = bounds.args[0], end = bounds.args[1];
  Strips strips =
      OpenStrips(f, bounds, "strip", [](Writer& front) { return front.I64(kStripTurns); }, known);
  Writer body(f);
  body.nodes = std::move(strips.loop.body);
  const Reg turns = body.Scalar(Op::Sub, {strips.hi, strips.lo});
  for (const auto& [array, zeroed] : arrays) {
    if (zeroed) body.nodes.push_back(ZeroStrip(f, array, strips.zero, turns, bounds.loc));
  }
  for (Node& part : parts) {
    Node& loop = part.kind == Kind::kIf ? part.body[0] : part;
    const Reg own_lo = loop.args[0], own_hi = loop.args[1];
    loop.args = {own_lo == first ? strips.lo : body.Scalar(Op::Max, {strips.lo, own_lo}),
                 own_hi == end ? strips.hi : body.Scalar(Op::Min, {strips.hi, own_hi})};
    CountFrom(f, loop, strips.lo, arrays);
    body.nodes.push_back(std::move(part));
  }
  strips.loop.body = std::move(body.nodes);
  strips.front.push_back(std::move(strips.loop));
  return std::move(strips.front);
}

std::vector<Node> ShrinkToStrip(Function& f, Node& alloc) {
  Writer front(f);
  alloc.args[0] = front.Scalar(Op::Min, {alloc.args[0], front.I64(kStripTurns)});
  alloc.bits = 0;
  return std::move(front.nodes);
}

}  // namespace pullback::loops
