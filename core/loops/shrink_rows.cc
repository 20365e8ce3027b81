#include "core/loops/shrink_rows.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "core/loops/walk.h"

namespace pullback::loops {
namespace {

using ir::Op;
using ir::Type;
using Kind = Node::Kind;

Node Scalar(Op op, std::vector<Reg> args, Reg result, uint64_t bits = 0) {
  Node node;
  node.op = op;
  node.bits = bits;
  node.args = std::move(args);
  node.results = {result};
  return node;
}

// Offsets in the row in place of those in the array: less the loop's index times the row's size.
class RowOffsets {
 public:
  // `extents`: of the array. `start`: where the turn's row begins.
  RowOffsets(Function& f, const Node& loop, const std::vector<Reg>& extents, Reg zero, Reg start)
      : f_(f), index_(loop.results[0]), extents_(extents), zero_(zero), start_(start) {
    ForEachNode(loop.body, [&](const Node& n) {
      if (n.kind == Kind::kScalar) defs_[n.results[0]] = &n;
    });
  }

  // Nodes that are made for it wait for Insert.
  Reg InRow(Reg offset) {
    if (offset == index_) return zero_;  // rows of one element
    if (const auto known = made_.find(offset); known != made_.end()) return known->second;
    size_t factors = extents_.size();
    const std::optional<Reg> rest = Without(offset, factors);
    if (rest && factors == 1) return made_[offset] = *rest;
    uses_start_ = true;
    const Reg made = f_.NewReg(Type::I64());
    in_front_[made] = Scalar(Op::Sub, {offset, start_}, made);
    return made;
  }

  bool UsesStart() const { return uses_start_; }
  // Twins of sums right behind these, differences in front of their access.
  void Insert(std::vector<Node>& nodes) {
    std::vector<Node> all;
    for (Node& n : nodes) {
      Insert(n.body);
      Insert(n.other);
      const bool access = n.kind == Kind::kLoad || n.kind == Kind::kStore;
      if (const auto it = access ? in_front_.find(n.args[1]) : in_front_.end();
          it != in_front_.end())
        all.push_back(std::move(it->second));
      const Reg sum = n.kind == Kind::kScalar ? n.results[0] : ir::kNoValue;
      all.push_back(std::move(n));
      if (const auto it = sum.valid() ? behind_.find(sum) : behind_.end(); it != behind_.end())
        std::move(it->second.begin(), it->second.end(), std::back_inserter(all));
    }
    nodes = std::move(all);
  }

 private:
  Reg Make(Reg behind, Op op, std::vector<Reg> args) {
    const Reg made = f_.NewReg(Type::I64());
    behind_[behind].push_back(Scalar(op, std::move(args), made));
    return made;
  }

  // What is left of a sum in which the index stands once, multiplied by the extents, without it. `factors`: the extents
  // behind this one were met already; all of them, or it is no such sum.
  std::optional<Reg> Without(Reg sum, size_t& factors) {
    if (sum == index_) return zero_;
    const Node* def = DefOf(sum);
    if (!def) return std::nullopt;
    const bool adds = def->op == Op::Add || def->op == Op::Sub;
    if (!adds && def->op != Op::Mul) return std::nullopt;
    const bool left = HoldsIndex(def->args[0]), right = HoldsIndex(def->args[1]);
    if (left == right || (right && def->op == Op::Sub)) return std::nullopt;
    const Reg inner = def->args[left ? 0 : 1], other = def->args[left ? 1 : 0];
    if (def->op == Op::Mul && (factors == 1 || other != extents_[--factors])) return std::nullopt;
    const std::optional<Reg> rest = Without(inner, factors);
    if (!rest) return std::nullopt;
    if (*rest == zero_ && def->op == Op::Mul) return zero_;
    if (*rest == zero_ && def->op == Op::Add) return other;
    return Make(sum, def->op, {*rest, other});
  }

  // By sums and products alone.
  bool HoldsIndex(Reg r) {
    if (r == index_) return true;
    if (const auto known = holds_.find(r); known != holds_.end()) return known->second;
    const Node* def = DefOf(r);
    const bool sum = def && (def->op == Op::Add || def->op == Op::Sub || def->op == Op::Mul);
    return holds_[r] = sum && (HoldsIndex(def->args[0]) || HoldsIndex(def->args[1]));
  }
  const Node* DefOf(Reg r) const {
    const auto it = defs_.find(r);
    return it == defs_.end() || f_.TypeOf(r) != Type::I64() ? nullptr : it->second;
  }

  Function& f_;
  const Reg index_;
  const std::vector<Reg>& extents_;
  const Reg zero_, start_;
  std::map<Reg, const Node*> defs_;
  std::map<Reg, bool> holds_;
  std::map<Reg, Reg> made_;
  std::map<Reg, std::vector<Node>> behind_;
  std::map<Reg, Node> in_front_;  // by what they make, for one access each
  bool uses_start_ = false;
};

class Shrinking {
 public:
  Shrinking(Function& f, Node& alloc, Node& loop, const ir::KnownExtents& known)
      : f_(f),
        alloc_(alloc),
        loop_(loop),
        array_(alloc.results[0]),
        extents_(alloc.args),
        runs_over_rows_(known.IsZero(loop.args[0]) && loop.args[1] == alloc.args[0]) {}

  std::vector<Node> Run() {
    zero_ = Before(Op::Const, {}, Type::I64());
    ShrinkAlloc();
    size_ = alloc_.args[0];
    for (size_t k = 1; k < alloc_.args.size(); ++k)
      size_ = Before(Op::Mul, {size_, alloc_.args[k]}, Type::I64());
    MoveAccesses();
    if (alloc_.bits == 1) ZeroFirst();
    alloc_.bits = 0;
    return std::move(before_);
  }

 private:
  Reg Before(Op op, std::vector<Reg> args, Type t) {
    const Reg made = f_.NewReg(t);
    before_.push_back(Scalar(op, std::move(args), made));
    return made;
  }

  void MoveAccesses() {
    const Reg start = f_.NewReg(Type::I64());
    RowOffsets offsets(f_, loop_, extents_, zero_, start);
    Move(loop_.body, offsets);
    offsets.Insert(loop_.body);
    if (!offsets.UsesStart()) return;
    loop_.body.insert(loop_.body.begin(), Scalar(Op::Mul, {loop_.results[0], size_}, start));
  }
  void Move(std::vector<Node>& nodes, RowOffsets& offsets) {
    for (Node& n : nodes) {
      Move(n.body, offsets);
      Move(n.other, offsets);
      if ((n.kind != Kind::kLoad && n.kind != Kind::kStore) || n.args[0] != array_) continue;
      n.args[1] = offsets.InRow(n.args[1]);
      if (!n.rows.empty()) n.rows.erase(n.rows.begin());
      std::erase(n.apart, loop_.results[0]);
    }
  }

  // As the array was before any row was made. A loop for each axis, as those that fill it have.
  void ZeroFirst() {
    const Reg nothing = f_.NewReg(f_.TypeOf(array_).Element());
    before_.push_back(Scalar(Op::Const, {}, nothing));
    const bool element = extents_.size() == 1;
    loop_.body.insert(loop_.body.begin(),
                      element ? Store(zero_, nothing, {}) : ZeroAxis(0, ir::kNoValue, {}, nothing));
  }
  Node Store(Reg offset, Reg value, std::vector<Reg> at) const {
    Node store;
    store.kind = Kind::kStore;
    store.args = {array_, offset, value};
    for (Reg index : at) store.rows.push_back({index, index, {}, {}});
    store.apart = std::move(at);
    return store;
  }
  // `offset`: of what the loops around it are at, in elements of this axis.
  Node ZeroAxis(size_t axis, Reg offset, std::vector<Reg> at, Reg nothing) {
    // In a turn there is a row.
    const Reg extent = axis == 0 && !runs_over_rows_ ? alloc_.args[0] : extents_[axis + 1];
    Node fill;
    fill.kind = Node::Kind::kFor;
    fill.loc = alloc_.loc;
    fill.args = {runs_over_rows_ ? loop_.args[0] : zero_, extent};
    fill.results = {f_.NewReg(Type::I64(), "o")};
    at.push_back(fill.results[0]);
    if (offset.valid()) {
      const Reg line = f_.NewReg(Type::I64()), sum = f_.NewReg(Type::I64());
      fill.body.push_back(Scalar(Op::Mul, {offset, extent}, line));
      fill.body.push_back(Scalar(Op::Add, {line, at.back()}, sum));
      offset = sum;
    } else {
      offset = at.back();
    }
    if (axis + 1 < alloc_.args.size()) {
      fill.body.push_back(ZeroAxis(axis + 1, offset, std::move(at), nothing));
      return fill;
    }
    fill.body.push_back(Store(offset, nothing, std::move(at)));
    return fill;
  }

  // Of an array without rows there is none, however long it would be, unless there are turns all the same. A row of no axes is one
  // element.
  void ShrinkAlloc() {
    if (extents_.size() == 1) {
      alloc_.args[0] = Before(Op::Const, {}, Type::I64());
      before_.back().bits = 1;
      return;
    }
    alloc_.args.assign(extents_.begin() + 1, extents_.end());
    if (runs_over_rows_) {
      const Reg any = Before(Op::Lt, {zero_, extents_[0]}, Type::Bool());
      alloc_.args[0] = Before(Op::Select, {any, alloc_.args[0], zero_}, Type::I64());
    }
    Type& t = f_.regs[array_.id].type;
    t = Type::Array(t.elem, t.rank - 1);
  }

  Function& f_;
  Node& alloc_;
  Node& loop_;
  const Reg array_;
  const std::vector<Reg> extents_;
  const bool runs_over_rows_;
  Reg zero_, size_;
  std::vector<Node> before_;
};

}  // namespace

std::vector<Node> ShrinkToRow(Function& f, Node& alloc, Node& loop, const ir::KnownExtents& known) {
  return Shrinking(f, alloc, loop, known).Run();
}

}  // namespace pullback::loops
