#include "core/loops/columns.h"

#include <algorithm>
#include <array>

#include "core/loops/statement.h"

namespace pullback::loops {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Type;
using ir::Value;

constexpr int64_t kLaneCount = 8;

bool IsCheckedInside(const Access& access) {
  return std::find(access.axes.begin(), access.axes.end(), AxisCheck::kHere) != access.axes.end();
}

class ColumnFinder {
 public:
  ColumnFinder(const AccessContext& c, const ir::EachResult& r)
      : c_(c), rank_(r.out.size()), column_(c.space.indices[rank_ - 1].var) {}

  bool Find() {
    return std::all_of(c_.each.body.begin(), c_.each.body.end(),
                       [&](const Inst& inst) { return IsPlain(inst); }) &&
           found_;
  }

 private:
  bool IsPlain(const Inst& inst) {
    if (inst.guard.valid()) return false;
    return inst.op == Op::Index ? IsPlainRead(inst) : !ir::MayTrap(inst, c_.l.f);
  }

  bool IsPlainRead(const Inst& inst) {
    for (const Affine& sub : inst.subs) {
      for (const Affine::Term& t : sub.terms) {
        if (c_.body_values.count(t.value) > 0) return false;
      }
    }
    std::vector<Affine> extents;
    for (size_t axis = 0; axis < inst.subs.size(); ++axis) {
      extents.push_back(c_.l.sizes.Extent(inst.args[0], static_cast<int>(axis)));
    }
    return !IsCheckedInside(PlanAccess(c_, inst.subs, extents, {}, true)) && RunsAlongRows(inst);
  }

  // With the column's index it steps by one, or not at all; some read steps by rows with what is summed over.
  bool RunsAlongRows(const Inst& inst) {
    bool steps_by_rows = false;
    for (size_t axis = 0; axis < inst.subs.size(); ++axis) {
      const bool last = axis + 1 == inst.subs.size();
      const int64_t step = inst.subs[axis].Coeff(column_);
      if (step != 0 && (!last || step != 1)) return false;
      for (size_t k = rank_; k < c_.space.indices.size() && !last; ++k) {
        steps_by_rows |= inst.subs[axis].Coeff(c_.space.indices[k].var) != 0;
      }
    }
    found_ |= steps_by_rows && inst.subs.back().Coeff(column_) == 1;
    return true;
  }

  const AccessContext& c_;
  const size_t rank_;
  const Value column_;
  bool found_ = false;
};

}  // namespace

bool SumsColumns(const AccessContext& c, Value result, const ResultPlan& plan) {
  const auto& indices = c.space.indices;
  if (c.each.results.size() != 1 || !c.space.IsBox()) return false;
  const ir::EachResult& r = c.each.results[0];
  if (plan.mode != ResultPlan::Mode::kLanes || r.monoid != ir::Monoid::kSum || r.out.empty() ||
      r.guard.valid() || !c.l.f.TypeOf(r.value).IsFloat() || !plan.access.IsProven() ||
      c.l.destinations.count(result) > 0 || c.body_values.count(r.value) == 0) {
    return false;
  }
  for (size_t k = 0; k < indices.size(); ++k) {
    if (indices[k].level != static_cast<int>(k) + 1) return false;
  }
  return ColumnFinder(c, r).Find();
}

void PutColumnInside(Space& space, size_t rank) {
  for (size_t k = rank; k < space.indices.size(); ++k) --space.indices[k].level;
  space.indices[rank - 1].level = space.depth;
}

void Strips::Begin(uint32_t loc) {
  const Type t = Type::Array(c_.l.f.TypeOf(c_.each.results[0].value).elem, 1);
  Node node;
  node.kind = Node::Kind::kAlloc;
  node.bits = 1;
  node.loc = loc;
  node.args = {e_.I64(kLaneCount * kStrip)};
  node.results = {e_.function().NewReg(t, "lanes")};
  lanes_ = e_.Append(std::move(node)).results[0];
}

void Strips::End() { e_.Effect(Node::Kind::kRelease, {lanes_}); }

Reg Strips::LaneOf(Reg lane, Reg column) {
  return e_.Add(e_.Sub(e_.Mul(lane, e_.I64(kStrip)), lo_), column);
}

void Strips::Open() {
  const auto index = [this](const char* name) { return e_.function().NewReg(Type::I64(), name); };
  const Reg extent = c_.l.Of(column().extent), zero = e_.I64(0);
  const Reg strips = e_.Div(e_.Add(extent, e_.I64(kStrip - 1)), kStrip);
  const Reg strip = e_.OpenFor(zero, strips, index("strip"));
  lo_ = e_.Mul(strip, e_.I64(kStrip));
  hi_ = e_.Min(e_.Add(lo_, e_.I64(kStrip)), extent);
  const Reg lane = e_.OpenFor(zero, e_.I64(kLaneCount), index("lane"));
  const Reg at = e_.OpenFor(lo_, hi_, index("o"));
  e_.Store(lanes_, LaneOf(lane, at), e_.Zero(e_.TypeOf(lanes_).Element()));
  e_.CloseFor();
  e_.CloseFor();
}

void Strips::Add(Reg offset, Reg term) {
  const Reg at = LaneOf(e_.Rem(offset, kLaneCount), c_.l.Of(column().var));
  const Reg old = e_.Load(lanes_, at);
  e_.Store(lanes_, at, e_.Scalar(Op::Add, {old, term}, e_.TypeOf(term)));
}

// ((l0+l4)+(l2+l6))+((l1+l5)+(l3+l7)), the order of ir.h.
Reg Strips::OpenTotal() {
  const Type t = e_.TypeOf(lanes_).Element();
  const Reg at = e_.OpenFor(lo_, hi_, e_.function().NewReg(Type::I64(), "total"));
  c_.l.SetAlias(column().var, at);
  std::array<Reg, kLaneCount> sums;
  for (int64_t lane = 0; lane < kLaneCount; ++lane) {
    sums[static_cast<size_t>(lane)] = e_.Load(lanes_, LaneOf(e_.I64(lane), at));
  }
  for (size_t width = kLaneCount / 2; width > 0; width /= 2) {
    for (size_t k = 0; k < width; ++k) {
      sums[k] = e_.Scalar(Op::Add, {sums[k], sums[k + width]}, t);
    }
  }
  return sums[0];
}

}  // namespace pullback::loops
