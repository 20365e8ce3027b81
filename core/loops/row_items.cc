#include "core/loops/row_items.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/loops/walk.h"

namespace pullback::loops {
namespace {

using Kind = Node::Kind;

bool IsGuardedLoop(const Node& n) {
  return n.kind == Kind::kIf && n.results.empty() && n.other.empty() && n.body.size() == 1 &&
         n.body[0].kind == Kind::kFor;
}

Node Guarded(Reg guard, std::vector<Node> body) {
  Node node;
  node.kind = Kind::kIf;
  node.args = {guard};
  node.body = std::move(body);
  return node;
}

// Of integers: it may be by zero.
bool IsDivision(const Function& f, const Node& n) {
  return (n.op == ir::Op::Div || n.op == ir::Op::Rem) && !f.TypeOf(n.results[0]).IsFloat();
}
// Its results may be needed behind it.
bool MayRunAlways(const Function& f, const Node& n) {
  return (n.kind == Kind::kScalar && !IsDivision(f, n)) || n.kind == Kind::kLanesNew ||
         n.kind == Kind::kLanesTotal;
}
bool MayBeGuarded(const Node& n) {
  return n.kind == Kind::kFor || n.kind == Kind::kStore || n.kind == Kind::kLoad ||
         (n.kind == Kind::kIf && n.results.empty());
}

Node Guarded(Reg guard, Node node) {
  std::vector<Node> body;
  body.push_back(std::move(node));
  return Guarded(guard, std::move(body));
}

Node Scalar(ir::Op op, std::vector<Reg> args, Reg result) {
  Node node;
  node.op = op;
  node.args = std::move(args);
  node.results = {result};
  return node;
}

// A load that gives 0 where the guard does not hold.
Node GuardedLoad(Function& f, Reg guard, Node load) {
  const ir::Type t = f.TypeOf(load.results[0]);
  const Reg loaded = f.NewReg(t), nothing = f.NewReg(t), result = load.results[0];
  load.results = {loaded};
  Node node = Guarded(guard, std::move(load));
  node.other.push_back(Scalar(ir::Op::Const, {}, nothing));
  node.results = {result};
  node.body_yields = {loaded};
  node.other_yields = {nothing};
  return node;
}

void AddUse(Effects& effects, Reg r) {
  const auto at = std::lower_bound(effects.uses.begin(), effects.uses.end(), r);
  if (at == effects.uses.end() || *at != r) effects.uses.insert(at, r);
}

void NoteJoined(RowItem& from, RowItem& into) {
  into.size += from.size;
  into.ends.merge(from.ends);
  into.effects = Joined(into.effects, from.effects);
  from.effects = {};
  from.joined = into.number;
}

}  // namespace

bool RowItem::IsBetterAlone(const Function& f) const {
  bool calls = false, nested = false;
  ForEachNode(node.body, [&](const Node& n) {
    nested |= n.kind == Kind::kFor;
    calls |= n.kind == Kind::kScalar && (ir::Info(n.op).flags & ir::kLibm) != 0 &&
             f.TypeOf(n.results[0]).IsFloat();
  });
  return IsLoop() && calls && !nested;
}

std::vector<Node> SplitBranch(Function& f, Node node) {
  const bool branch = node.kind == Kind::kIf && node.results.empty() && node.other.empty();
  const bool splits = branch && std::all_of(node.body.begin(), node.body.end(), [&](const Node& n) {
                        return MayRunAlways(f, n) || MayBeGuarded(n);
                      });
  std::vector<Node> parts;
  if (!splits) {
    parts.push_back(std::move(node));
    return parts;
  }
  for (Node& n : node.body) {
    if (n.kind == Kind::kLoad)
      parts.push_back(GuardedLoad(f, node.args[0], std::move(n)));
    else if (MayBeGuarded(n))
      parts.push_back(Guarded(node.args[0], std::move(n)));
    else
      parts.push_back(std::move(n));
  }
  return parts;
}

RowItem TakeItem(const Function& f, Node node, size_t number) {
  RowItem item{{}, ir::kNoValue, {}, 0, {}, {}, {}, number, number, number};
  if (IsGuardedLoop(node)) {
    item.guard = node.args[0];
    item.node = std::move(node.body[0]);
  } else {
    item.node = std::move(node);
  }
  item.effects = EffectsOf(f, item.node);
  if (item.guard.valid()) AddUse(item.effects, item.guard);
  ForEachNode(item.node.body, [&](const Node&) { ++item.size; });
  return item;
}

void PutBack(RowItem item, std::vector<Node>& nodes) {
  std::move(item.before.begin(), item.before.end(), std::back_inserter(nodes));
  if (item.joined != item.number) return;
  if (!item.guard.valid()) return nodes.push_back(std::move(item.node));
  nodes.push_back(Guarded(item.guard, std::move(item.node)));
}

void MoveGuardInside(RowItem& loop) {
  if (!loop.guard.valid()) return;
  std::vector<Node> body;
  body.push_back(Guarded(loop.guard, std::move(loop.node.body)));
  loop.node.body = std::move(body);
  loop.guard = ir::kNoValue;
}

void Widen(Function& f, RowItem& loop, Reg lo, Reg hi) {
  Node& node = loop.node;
  std::vector<Node> asks;
  std::vector<Reg> holds;
  const auto ask = [&](ir::Op op, Reg bound) {
    holds.push_back(f.NewReg(ir::Type::Bool()));
    asks.push_back(Scalar(op, {node.results[0], bound}, holds.back()));
  };
  if (node.args[0] != lo) ask(ir::Op::Ge, node.args[0]);
  if (node.args[1] != hi) ask(ir::Op::Lt, node.args[1]);
  if (asks.empty()) return;
  MoveGuardInside(loop);
  if (asks.size() == 2) {
    const Reg both = f.NewReg(ir::Type::Bool());
    asks.push_back(Scalar(ir::Op::And, {holds[0], holds[1]}, both));
    holds = {both};
  }
  asks.push_back(Guarded(holds[0], std::move(node.body)));
  node.body = std::move(asks);
  node.args = {lo, hi};
}

void JoinLoops(RowItem& from, RowItem& into, Side side) {
  MoveGuardInside(from);
  MoveGuardInside(into);
  std::vector<Node>&body = into.node.body, &more = from.node.body;
  const Reg index = from.node.results[0], other = into.node.results[0];
  ForEachRead(more, [&](Reg& r) {
    if (r == index) r = other;
  });
  body.insert(side == Side::kBefore ? body.begin() : body.end(),
              std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  more.clear();
  NoteJoined(from, into);
}

void StartStrips(RowItem& loop) {
  if (!loop.parts.empty()) return;
  Node bounds;
  bounds.kind = Kind::kFor;
  bounds.loc = loop.node.loc;
  bounds.args = loop.node.args;
  std::swap(bounds, loop.node);
  loop.parts.push_back(
      {loop.guard.valid() ? Guarded(loop.guard, std::move(bounds)) : std::move(bounds)});
  loop.guard = ir::kNoValue;
}

void SetPace(RowItem& strips, const Pace& pace) {
  for (StripPart& part : strips.parts) part.pace = Composed(part.pace, pace);
  strips.effects = Paced(std::move(strips.effects), pace);
}

void JoinStrips(RowItem& from, RowItem& into, Side side) {
  StartStrips(from);
  StartStrips(into);
  into.parts.insert(side == Side::kBefore ? into.parts.begin() : into.parts.end(),
                    std::make_move_iterator(from.parts.begin()),
                    std::make_move_iterator(from.parts.end()));
  from.parts.clear();
  NoteJoined(from, into);
}

}  // namespace pullback::loops
