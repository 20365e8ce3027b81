#include "core/loops/columns.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/loops/statement.h"

namespace pullback::loops {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Type;
using ir::Value;

constexpr int64_t kLaneCount = 8;
// Rows as short are not worth strips: coordinates of points, colours.
constexpr int64_t kShortRow = 3;

class ColumnFinder {
 public:
  ColumnFinder(const AccessContext& c, const Divisions& divisions, const ir::EachResult& r)
      : c_(c),
        divisions_(divisions),
        rank_(r.out.size()),
        column_(c.space.indices[rank_ - 1].var) {}

  // `guard`: of the terms.
  bool Find(Value guard) {
    return std::all_of(c_.each.body.begin(), c_.each.body.end(),
                       [&](const Inst& inst) { return IsPlain(inst, guard.valid()); }) &&
           found_ && IsOfRow(guard);
  }

 private:
  bool IsPlain(const Inst& inst, bool guarded) {
    if (!IsOfRow(inst.guard)) return false;
    Learn(inst);
    if (inst.op == Op::Div || inst.op == Op::Rem) return !divisions_.StaysInside(inst);
    if (inst.op != Op::Index) return !ir::MayTrap(inst, c_.l.f);
    return IsPlainRead(inst, guarded || inst.guard.valid());
  }
  // The same for all elements of a row, and all terms.
  bool IsOfRow(Value guard) const {
    return !guard.valid() || (!OfColumn(guard) && !OfTerms(guard));
  }

  // What differs from element to element of a row, and from term to term.
  void Learn(const Inst& inst) {
    bool of_column = false, of_terms = false;
    ir::ForEachOperand(inst, [&](Value v) {
      of_column |= OfColumn(v);
      of_terms |= OfTerms(v);
    });
    if (of_column) of_column_.insert(inst.results.begin(), inst.results.end());
    if (of_terms) of_terms_.insert(inst.results.begin(), inst.results.end());
  }
  bool OfColumn(Value v) const { return v == column_ || of_column_.contains(v); }
  bool OfTerms(Value v) const {
    const auto& indices = c_.space.indices;
    return of_terms_.contains(v) ||
           std::any_of(indices.begin() + static_cast<long>(rank_), indices.end(),
                       [&](const SpaceIndex& i) { return i.var == v; });
  }

  // What is checked inside is checked where the loops stand that say it, around the column; of rows that have no terms, nothing.
  bool IsPlainRead(const Inst& inst, bool guarded) {
    std::vector<Affine> extents;
    for (size_t axis = 0; axis < inst.subs.size(); ++axis) {
      extents.push_back(c_.l.sizes.Extent(inst.args[0], static_cast<int>(axis)));
    }
    const Access access =
        PlanAccess(c_, inst.subs, extents, c_.l.sizes.FactsOf(inst.guard), !inst.guard.valid());
    if (guarded && !access.IsProven()) return false;
    for (size_t axis = 0; axis < inst.subs.size(); ++axis) {
      const auto& terms = inst.subs[axis].terms;
      const bool of_column = std::any_of(terms.begin(), terms.end(),
                                         [&](const Affine::Term& t) { return OfColumn(t.value); });
      if (of_column && access.axes[axis] == AxisCheck::kHere) return false;
    }
    return RunsAlongRows(inst);
  }

  // With the column's index it steps by one, or not at all; some read steps by rows with what is summed over.
  bool RunsAlongRows(const Inst& inst) {
    bool steps_by_rows = false;
    for (size_t axis = 0; axis < inst.subs.size(); ++axis) {
      const bool last = axis + 1 == inst.subs.size();
      for (const Affine::Term& t : inst.subs[axis].terms) {
        if (OfColumn(t.value) && (!last || t.value != column_ || t.coeff != 1)) return false;
        steps_by_rows |= !last && OfTerms(t.value);
      }
    }
    found_ |= steps_by_rows && inst.subs.back().Coeff(column_) == 1;
    return true;
  }

  const AccessContext& c_;
  const Divisions& divisions_;
  const size_t rank_;
  const Value column_;
  std::set<Value> of_column_, of_terms_;  // of the body
  bool found_ = false;
};

}  // namespace

bool SumsColumns(const AccessContext& c, const Divisions& divisions, Value result,
                 const ResultPlan& plan) {
  const auto& indices = c.space.indices;
  if (c.each.results.size() != 1) return false;
  const ir::EachResult& r = c.each.results[0];
  if (plan.mode != ResultPlan::Mode::kLanes || r.monoid != ir::Monoid::kSum || r.out.empty() ||
      !c.l.f.TypeOf(r.value).IsFloat() || !plan.access.IsProven() ||
      c.l.destinations.count(result) > 0 || c.body_values.count(r.value) == 0) {
    return false;
  }
  const std::optional<int64_t> row = c.l.e.AsI64(c.l.Of(indices[r.out.size() - 1].extent));
  if (row && *row <= kShortRow) return false;
  const size_t rank = r.out.size();
  for (size_t k = 0; k < indices.size(); ++k) {
    if (indices[k].level != static_cast<int>(k) + 1) return false;
    if (k + 1 >= rank && !indices[k].IsWholeLoop()) return false;
  }
  const auto is_of_row = [&](const SpaceTest& t) { return t.level < static_cast<int>(rank); };
  return std::all_of(c.space.tests.begin(), c.space.tests.end(), is_of_row) &&
         ColumnFinder(c, divisions, r).Find(r.guard);
}

void PutColumnInside(Space& space, size_t rank) {
  for (size_t k = rank; k < space.indices.size(); ++k) --space.indices[k].level;
  space.indices[rank - 1].level = space.depth;
}

void LaneStrips::Begin(uint32_t loc) {
  const Type t = Type::Array(c_.l.f.TypeOf(c_.each.results[0].value).elem, 1);
  Node node;
  node.kind = Node::Kind::kAlloc;
  node.bits = 1;
  node.loc = loc;
  node.args = {e_.I64(kLaneCount * kStrip)};
  node.results = {e_.function().NewReg(t, "lanes")};
  lanes_ = e_.Append(std::move(node)).results[0];
}

void LaneStrips::End() { e_.Effect(Node::Kind::kRelease, {lanes_}); }

Reg LaneStrips::LaneOf(Reg lane, Reg column) {
  return e_.Add(e_.Sub(e_.Mul(lane, e_.I64(kStrip)), lo_), column);
}

void LaneStrips::Open() {
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

void LaneStrips::Add(Reg offset, Reg term) {
  const Reg at = LaneOf(e_.Rem(offset, kLaneCount), c_.l.Of(column().var));
  const Reg old = e_.Load(lanes_, at);
  e_.Store(lanes_, at, e_.Scalar(Op::Add, {old, term}, e_.TypeOf(term)));
}

// ((l0+l4)+(l2+l6))+((l1+l5)+(l3+l7)), the order of ir.h.
Reg LaneStrips::OpenTotal() {
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
