#include "core/loops/strip_loops.h"

#include <utility>

#include "core/loops/walk.h"

namespace pullback::loops {
namespace {

using ir::Op;
using ir::Type;
using Kind = Node::Kind;

bool IsAccess(const Node& n) { return n.kind == Kind::kLoad || n.kind == Kind::kStore; }

// Writes nodes one behind another. (An Emitter knows all registers of the function: too much for each array.)
class Writer {
 public:
  explicit Writer(Function& f) : f_(f) {}

  Reg Scalar(Op op, std::vector<Reg> args, uint64_t bits = 0, Type t = Type::I64()) {
    Node node;
    node.op = op;
    node.bits = bits;
    node.args = std::move(args);
    node.results = {f_.NewReg(t)};
    nodes.push_back(std::move(node));
    return nodes.back().results[0];
  }
  Reg I64(int64_t v) { return Scalar(Op::Const, {}, static_cast<uint64_t>(v)); }

  std::vector<Node> nodes;

 private:
  Function& f_;
};

Node Loop(Function& f, Reg lo, Reg hi, const char* name, uint32_t loc) {
  Node loop;
  loop.kind = Kind::kFor;
  loop.loc = loc;
  loop.args = {lo, hi};
  loop.results = {f.NewReg(Type::I64(), name)};
  return loop;
}

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
  Node loop = Loop(f, zero, turns, "o", loc);
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

std::vector<Node> RunByStrips(Function& f, const Node& bounds, std::vector<Node> parts,
                              const std::map<Reg, bool>& arrays, const ir::KnownExtents& known) {
  const Reg first = bounds.args[0], end = bounds.args[1];
  const bool from_zero = known.IsZero(first);
  Writer front(f);
  const Reg zero = front.I64(0), size = front.I64(kStripTurns), above = front.I64(kStripTurns - 1);
  // The first is not negative, so the difference does not wrap.
  const Reg count =
      from_zero ? end : front.Scalar(Op::Sub, {front.Scalar(Op::Max, {end, first}), first});
  const Reg strips = front.Scalar(Op::Div, {front.Scalar(Op::Add, {count, above}), size});
  Node strip = Loop(f, zero, strips, "strip", bounds.loc);
  Writer body(f);
  const Reg before = body.Scalar(Op::Mul, {strip.results[0], size});
  const Reg lo = from_zero ? before : body.Scalar(Op::Add, {first, before});
  const Reg hi = body.Scalar(Op::Min, {body.Scalar(Op::Add, {lo, size}), end});
  const Reg turns = body.Scalar(Op::Sub, {hi, lo});
  for (const auto& [array, zeroed] : arrays) {
    if (zeroed) body.nodes.push_back(ZeroStrip(f, array, zero, turns, bounds.loc));
  }
  for (Node& part : parts) {
    Node& loop = part.kind == Kind::kIf ? part.body[0] : part;
    const Reg own_lo = loop.args[0], own_hi = loop.args[1];
    loop.args = {own_lo == first ? lo : body.Scalar(Op::Max, {lo, own_lo}),
                 own_hi == end ? hi : body.Scalar(Op::Min, {hi, own_hi})};
    CountFrom(f, loop, lo, arrays);
    body.nodes.push_back(std::move(part));
  }
  strip.body = std::move(body.nodes);
  front.nodes.push_back(std::move(strip));
  return std::move(front.nodes);
}

std::vector<Node> ShrinkToStrip(Function& f, Node& alloc) {
  Writer front(f);
  alloc.args[0] = front.Scalar(Op::Min, {alloc.args[0], front.I64(kStripTurns)});
  alloc.bits = 0;
  return std::move(front.nodes);
}

}  // namespace pullback::loops
