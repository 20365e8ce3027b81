#include "core/loops/strip_loops.h"

#include <algorithm>
#include <utility>

#include "core/loops/emitter.h"
#include "core/loops/walk.h"

namespace pullback::loops {
namespace {

using ir::Op;
using ir::Type;
using Kind = Node::Kind;

bool IsAccess(const Node& n) { return n.kind == Kind::kLoad || n.kind == Kind::kStore; }

Reg Index(Emitter& e, const char* name) { return e.function().NewReg(Type::I64(), name); }

bool MoveAccesses(std::vector<Node>& nodes, const std::map<Reg, bool>& arrays, Reg turn) {
  bool moved = false;
  for (Node& n : nodes) {
    moved |= MoveAccesses(n.body, arrays, turn);
    moved |= MoveAccesses(n.other, arrays, turn);
    if (!IsAccess(n) || !arrays.contains(n.args[0])) continue;
    n.args[1] = turn;
    n.rows.clear();
    moved = true;
  }
  return moved;
}

// The arrays' elements count from the strip's first.
void CountFrom(Function& f, Node& loop, Reg lo, const std::map<Reg, bool>& arrays) {
  const Reg turn = f.NewReg(Type::I64());
  if (!MoveAccesses(loop.body, arrays, turn)) return;
  Node difference;
  difference.op = Op::Sub;
  difference.args = {loop.results[0], lo};
  difference.results = {turn};
  loop.body.insert(loop.body.begin(), std::move(difference));
}

void ZeroStrip(Emitter& e, Reg array, Reg turns) {
  const Reg at = e.OpenFor(e.I64(0), turns, Index(e, "o"));
  e.Store(array, at, e.Zero(e.TypeOf(array).Element()), {at});
  e.CloseFor();
}

}  // namespace

bool AccessesTurn(const Node& loop, Reg array) {
  bool all = true;
  ForEachNode(loop.body, [&](const Node& n) {
    all &= !IsAccess(n) || n.args[0] != array || n.args[1] == loop.results[0];
  });
  return all;
}

std::vector<Node> RunByStrips(Function& f, const Node& bounds, std::vector<Node> parts,
                              const std::map<Reg, bool>& arrays, const ir::KnownExtents& known) {
  Emitter e(f);
  e.BeginBlock();
  e.At(bounds.loc);
  const Reg first = known.IsZero(bounds.args[0]) ? e.I64(0) : bounds.args[0];
  const Reg end = bounds.args[1];
  const Reg strips = e.Div(e.Add(e.Sub(end, first), e.I64(kStripTurns - 1)), kStripTurns);
  const Reg strip = e.OpenFor(e.I64(0), strips, Index(e, "strip"));
  const Reg lo = e.Add(first, e.Mul(strip, e.I64(kStripTurns)));
  const Reg hi = e.Min(e.Add(lo, e.I64(kStripTurns)), end);
  for (const auto& [array, zeroed] : arrays) {
    if (zeroed) ZeroStrip(e, array, e.Sub(hi, lo));
  }
  for (Node& part : parts) {
    Node& loop = part.kind == Kind::kIf ? part.body[0] : part;
    loop.args = {loop.args[0] == bounds.args[0] ? lo : e.Max(lo, loop.args[0]),
                 loop.args[1] == end ? hi : e.Min(hi, loop.args[1])};
    CountFrom(f, loop, lo, arrays);
    e.Append(std::move(part));
  }
  e.CloseFor();
  return e.EndBlock();
}

std::vector<Node> ShrinkToStrip(Function& f, Node& alloc) {
  Emitter e(f);
  e.BeginBlock();
  alloc.args[0] = e.Min(alloc.args[0], e.I64(kStripTurns));
  alloc.bits = 0;
  return e.EndBlock();
}

}  // namespace pullback::loops
