#include "core/tensor/row_groups.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/ir/row_windows.h"
#include "core/ir/statements.h"
#include "core/tensor/down_columns.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/turns.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Monoid;
using ir::Op;
using ir::Value;

constexpr size_t kMostApart = 400;  // instructions from the first statement of a group to its last

bool IsIndexOf(const Each& each, Value v) { return v.valid() && PlaceOfIndex(each, v).has_value(); }

// Whether the terms of a reduction may be taken in another order.
bool Reassociates(Monoid m) { return m == Monoid::kSum || m == Monoid::kMax || m == Monoid::kMin; }

}  // namespace

void TurnAxes(Inst& statement, const std::map<Value, size_t>& axes, size_t depth) {
  Each& each = *statement.each;
  for (size_t k = 0; k < statement.results.size(); ++k) {
    const auto it = axes.find(statement.results[k]);
    if (it == axes.end()) continue;
    ir::BringForward(each.results[k].out, it->second, depth);
    ir::BringForward(each.results[k].shape, it->second, depth);
  }
  for (Inst& read : each.body) {
    const auto it = read.op == Op::Index ? axes.find(read.args[0]) : axes.end();
    if (it != axes.end()) ir::BringForward(read.subs, it->second, depth);
  }
}

void BringIndexTo(Each& each, size_t depth, Value index) {
  const size_t from = *PlaceOfIndex(each, index);
  for (EachResult& r : each.results) {
    if (!ir::IsScan(r.monoid)) continue;
    if (from >= each.indices.size() - r.inner) {
      --r.inner;
      ++r.outer;
    } else if (from >= r.outer) {
      r.outer = static_cast<uint32_t>(depth);
      r.inner = static_cast<uint32_t>(each.indices.size() - depth - 1);
    }
  }
  std::vector<Value> first;
  for (size_t k = 0; k < depth; ++k) first.push_back(each.indices[k].var);
  first.push_back(index);
  ir::BringIndicesFirst(each, first);
}

// Which axes of a group's arrays, and indices of its statements, reads tie together.
class RowGroups::Axes {
 public:
  explicit Axes(const RowGroups& groups, const Group& group) {
    for (Value v : group) {
      const MadeArray& array = groups.arrays_.at(v);
      const ir::ValueSpan shape = groups.ResultOf(array).shape;
      Tie(v, groups.ResultOf(array).out, shape, *groups.insts_[array.maker].each);
      for (size_t at : array.readers) {
        const Each& each = *groups.insts_[at].each;
        ForEachRead(each, [&](Value of, ir::AffineSpan subs) {
          if (of == v) Tie(v, subs, shape, each);
        });
      }
    }
  }

  using Node = std::pair<Value, int>;  // an axis of an array, or -1: an index
  Node Root(Node n) const {
    for (auto it = parent_.find(n); it != parent_.end(); it = parent_.find(n)) n = it->second;
    return n;
  }
  std::set<Node> Roots() const {
    std::set<Node> roots;
    for (const auto& [node, parent] : parent_) roots.insert(Root(node));
    return roots;
  }

 private:
  void Tie(Value array, ir::AffineSpan subs, ir::ValueSpan shape, const Each& each) {
    for (size_t axis = 0; axis < subs.size(); ++axis) {
      Value index = subs[axis].AsValue();
      if (!IsIndexOf(each, index)) index = MirroredIndex(each, subs[axis], shape[axis]);
      if (!index.valid()) continue;
      const Node a = Root({array, static_cast<int>(axis)}), b = Root({index, -1});
      if (a != b) parent_[std::max(a, b)] = std::min(a, b);
    }
  }

  std::map<Node, Node> parent_;
};

// The plan by which the statements of a group run over the indices of one class first.
class RowGroups::Search {
 public:
  // `with_kept`: arrays that several loops need have the axis in front as well, so that what makes and reads them can run over
  // the index first.
  Search(const RowGroups& groups, const Group& group, const Axes& axes, Axes::Node root,
         bool with_kept)
      : g_(groups), group_(group), axes_(axes), root_(root), with_kept_(with_kept) {
    begin_ = g_.insts_.size(), end_ = 0;
    for (Value v : group_) {
      const MadeArray& array = g_.arrays_.at(v);
      begin_ = std::min(begin_, array.maker);
      end_ = std::max(end_, *array.readers.rbegin());
    }
  }

  // False: what is not by rows any more is as large as what is then, array by array from the largest; or it is the same,
  // and none is made by going down columns.
  bool Run() {
    for (Value v : group_) {
      if (const auto axis = AxisOfArray(v, /*by_turns=*/true)) wanted_.emplace(v, *axis);
      if (!with_kept_) continue;
      if (const auto axis = AxisOfArray(v, /*by_turns=*/false)) turned_.emplace(v, *axis);
    }
    if (!with_kept_) turned_ = wanted_;
    while (Shrink()) {
    }
    // What turns near each other give to a row is a reason for a plan where arrays have more axes; of matrices it is one to
    // leave rows as they are.
    const bool deep = std::any_of(group_.begin(), group_.end(),
                                  [&](Value v) { return g_.f_.TypeOf(v).rank > 2; });
    const std::set<Value> before = Kept({}, {}, deep), after = Kept(plan_.first, turned_, deep);
    const Sizes more = SizesOf(after, before), fewer = SizesOf(before, after);
    if (more > fewer || (more == fewer && (!more.empty() || !IsFaster()))) return false;
    const auto kept_near = [&](const auto& first, const auto& axes) {
      return SizesOf(Kept(first, axes, /*with_near=*/true), {});
    };
    if (!deep) {
      const Sizes near_after = kept_near(plan_.first, turned_),
                  near_before = kept_near(std::map<size_t, Value>(), std::map<Value, size_t>());
      const bool turns = std::any_of(turned_.begin(), turned_.end(),
                                     [&](const auto& of) { return of.second != g_.depth_; });
      if (near_after > near_before) return false;
      // Arrays that are by rows near each other are not made by columns for it.
      if (turns && near_after == near_before && more != fewer) return false;
    }
    kept_ = SizesOf(after, {});
    for (const auto& [v, axis] : turned_) {
      if (axis != g_.depth_) plan_.axes.emplace(v, axis);
    }
    return true;
  }

  // A few sums of all rows alone, by the weights of a window, take these first: a turn needs rows that are near then, and each is read
  // once, whatever axes the reads tie together. False: there are none.
  bool RunFewSums() {
    for (size_t at = begin_; at <= end_; ++at) {
      const Inst& inst = g_.insts_[at];
      if (!inst.each || !MakesFewSums(inst)) continue;
      const Value index = NearIndex(*inst.each);
      if (index.valid() && index != IndexAt(inst, g_.depth_) && MayLead(at, index))
        plan_.first.emplace(at, index);
    }
    return !plan_.first.empty();
  }

  RowPlan& plan() { return plan_; }
  // Less is better: what is kept, then statements that go down columns, then sums that are split, then those that take their
  // terms one by one, then statements that change.
  using Size = std::pair<size_t, int>;  // axes beyond the function's own arrays, and in all
  using Sizes = std::vector<Size>;      // of arrays that are not by rows, the largest first
  using Cost = std::tuple<Sizes, size_t, size_t, size_t, size_t>;
  Cost cost() const { return {kept_, down_, plan_.split.size(), in_order_, plan_.first.size()}; }

 private:
  // Whether what makes one of the arrays goes down columns as it is; nothing does so by the plan, which turns no array that
  // is kept: who made and read that ran in a good order.
  bool IsFaster() const {
    return !with_kept_ && plan_.split.empty() &&
           std::any_of(wanted_.begin(), wanted_.end(), [&](const auto& w) {
             const Inst& maker = g_.insts_[g_.arrays_.at(w.first).maker];
             const Value now = IndexAt(maker, g_.depth_);
             return now.valid() && GoesDownColumns(*maker.each, now, g_.depth_);
           });
  }
  bool MakesFewSums(const Inst& inst) const {
    return std::all_of(inst.each->results.begin(), inst.each->results.end(),
                       [&](const EachResult& r) {
                         return r.monoid == Monoid::kSum && !r.out.empty() && IsFew(r);
                       });
  }
  bool IsFew(const EachResult& r) const {
    return std::all_of(r.shape.begin(), r.shape.end(),
                       [&](Value n) { return g_.extents_.IsShort(n); });
  }
  // By which the statement reads rows of arrays of the group, its own or near ones; kNoValue: none, or several.
  Value NearIndex(const Each& each) const {
    Value near;
    bool is_one = true;
    ForEachRead(each, [&](Value of, ir::AffineSpan subs) {
      if (std::find(group_.begin(), group_.end(), of) == group_.end()) return;
      for (const ir::IndexVar& i : each.indices) {
        if (g_.extents_.IsShort(i.extent) || !g_.IsNear(each, subs[0], i.var)) continue;
        is_one &= !near.valid() || near == i.var;
        near = i.var;
      }
    });
    return is_one ? near : ir::kNoValue;
  }
  bool IsOfClass(Value v, int axis) const { return axes_.Root({v, axis}) == root_; }
  // The one axis of the class, by which all reads go as well; not `by_turns`: some of them from its end.
  std::optional<size_t> AxisOfArray(Value v, bool by_turns) const {
    std::optional<size_t> found;
    for (int axis = 0; axis < g_.f_.TypeOf(v).rank; ++axis) {
      if (!IsOfClass(v, axis)) continue;
      if (found || static_cast<size_t>(axis) < g_.depth_) return std::nullopt;
      found = static_cast<size_t>(axis);
    }
    if (!found) return std::nullopt;
    const MadeArray& array = g_.arrays_.at(v);
    bool pure = IsIndexOf(*g_.insts_[array.maker].each, g_.ResultOf(array).out[*found].AsValue());
    for (size_t at : array.readers) {
      const Each& each = *g_.insts_[at].each;
      ForEachRead(each, [&](Value of, ir::AffineSpan subs) {
        pure &= of != v || IsIndexOf(each, subs[*found].AsValue()) ||
                (!by_turns &&
                 MirroredIndex(each, subs[*found], g_.ResultOf(array).shape[*found]).valid());
      });
    }
    return pure ? found : std::nullopt;
  }
  // The statement's one index of the class.
  Value IndexOf(const Each& each) const {
    Value found;
    for (const ir::IndexVar& i : each.indices) {
      if (!IsOfClass(i.var, -1)) continue;
      if (found.valid()) return {};
      found = i.var;
    }
    return found;
  }
  std::set<size_t> Members() const {
    std::set<size_t> members;
    for (const auto& [v, axis] : turned_) {
      const MadeArray& array = g_.arrays_.at(v);
      members.insert(array.maker);
      members.insert(array.readers.begin(), array.readers.end());
    }
    return members;
  }
  bool Uses(size_t at, Value v) const {
    const MadeArray& array = g_.arrays_.at(v);
    return array.maker == at || array.readers.contains(at);
  }

  // Takes out arrays one of whose statements cannot run over the index first, or is part of a later loop than the one that
  // makes them. False: there are none.
  bool Shrink() {
    plan_ = {};
    in_order_ = down_ = 0;
    for (size_t at : Members()) {
      const Inst& inst = g_.insts_[at];
      const Value index = IndexOf(*inst.each);
      if (!index.valid() || !MayLead(at, index)) {
        const auto uses = [&](const auto& w) { return Uses(at, w.first); };
        std::erase_if(wanted_, uses);
        return std::erase_if(turned_, uses) > 0;
      }
      if (index != IndexAt(inst, g_.depth_)) plan_.first.emplace(at, index);
    }
    const Turns turns(g_.insts_, begin_, end_, plan_.first, g_.depth_);
    const bool fewer =
        std::erase_if(wanted_, [&](const auto& w) { return !IsInOneLoop(turns, w.first); }) > 0;
    if (!with_kept_) turned_ = wanted_;
    return fewer;
  }
  bool IsInOneLoop(const Turns& turns, Value v) const {
    const MadeArray& array = g_.arrays_.at(v);
    return std::all_of(array.readers.begin(), array.readers.end(),
                       [&](size_t at) { return turns.LoopOf(at) == turns.LoopOf(array.maker); });
  }

  // --- one statement

  bool MayLead(size_t at, Value index) {
    const Inst& inst = g_.insts_[at];
    const Each& each = *inst.each;
    const auto steps = [&](const ir::Constraint& c) {
      return c.e.Coeff(index) >= -1 && c.e.Coeff(index) <= 1;
    };
    if (!MakesFewSums(inst) && !std::all_of(each.where.begin(), each.where.end(), steps))
      return false;
    Inst after = inst;
    BringIndexTo(*after.each, g_.depth_, index);
    TurnAxes(after, turned_, g_.depth_);
    const bool walks = WalksAcrossRows(*after.each, /*with_results=*/true);
    if (walks && !WalksAcrossRows(each, /*with_results=*/true)) return false;
    if (GoesDownColumns(*after.each, index, g_.depth_)) return false;
    down_ += DownColumns(*after.each, index, g_.depth_).empty() ? 0 : 1;
    for (size_t k = 0; k < each.results.size(); ++k) {
      if (!MayLead(at, index, each.results[k], *after.each, after.each->results[k])) return false;
    }
    return true;
  }
  bool MayLead(size_t at, Value index, const EachResult& r, const Each& after,
               const EachResult& turned) {
    const Each& each = *g_.insts_[at].each;
    const bool stays = index == each.indices[g_.depth_].var && turned.out == r.out;
    if (stays || r.monoid == Monoid::kGen) return !r.into.valid();
    if (r.into.valid()) return false;
    if (ir::IsScan(r.monoid)) return MayLeadScan(each, r, index);
    // Places are told by the order of the indices that are searched.
    if (ir::IsArg(r.monoid))
      return AxisOf(turned, index) ? ir::IsArgForm(after, turned)
                                   : ir::OnlyIndexReduced(after, turned).has_value();
    const bool prefix = ir::IsPrefixForm(each, r);
    if (AxisOf(turned, index))
      return ir::IsPrefixForm(after, turned) || IsInRuns(after, turned) ||
             (!prefix && Reassociates(r.monoid));
    if (!Reassociates(r.monoid)) return false;
    if (r.out.empty() || !prefix) return true;
    if (each.indices.size() == r.out.size() + 1) {
      ++in_order_;
      return true;
    }
    if (MaySplit(each, r, index)) {
      plan_.split.insert(at);
      return true;
    }
    // Each turn adds what a run of its own gives: beside other results.
    const bool runs = each.results.size() > 1 && ir::CountInRuns(after, turned) > 0;
    in_order_ += runs ? 1 : 0;
    return runs;
  }
  // Whether each element is the sum of one run.
  static bool IsInRuns(const Each& each, const EachResult& r) {
    const size_t reduced = each.indices.size() - r.out.size();
    return reduced > 0 && ir::CountInRuns(each, r) == reduced && HasElementByIndices(each, r);
  }
  // A scan over one index may run over it first, with a state for each point of the others, or over one of these.
  bool MayLeadScan(const Each& each, const EachResult& r, Value index) const {
    const size_t at = *PlaceOfIndex(each, index), end = each.indices.size() - r.inner;
    if (at < r.outer || at >= end) return at < r.outer ? at >= g_.depth_ : r.outer >= g_.depth_;
    return end == r.outer + 1 && r.outer >= g_.depth_ && each.where.empty() && !r.guard.valid() &&
           HasElementByIndices(each, r);
  }
  // The sums of the turns take room that is there for all points: they are as many as the arrays have rows.
  bool MaySplit(const Each& each, const EachResult& r, Value index) const {
    if (r.monoid != Monoid::kSum || each.results.size() != 1 || r.guard.valid() ||
        !HasManyTerms(each, r, index))
      return false;
    if (IsFew(r)) return true;
    const Value extent = each.indices[*PlaceOfIndex(each, index)].extent;
    bool same = false;
    ForEachRead(each, [&](Value v, ir::AffineSpan) {
      const auto it = wanted_.find(v);
      same |= it != wanted_.end() && g_.ResultOf(g_.arrays_.at(v)).shape[it->second] == extent;
    });
    return same;
  }

  // Whether brackets leave each turn's sums some terms: a window of a few points, or ranges as long as others.
  static bool HasManyTerms(const Each& each, const EachResult& r, Value turn) {
    constexpr int64_t kSome = 4;
    if (each.where.empty()) return true;
    if (std::any_of(each.where.begin(), each.where.end(),
                    [](const ir::Constraint& c) { return c.equality; }))
      return false;
    int64_t terms = 1;
    for (const ir::IndexVar& i : each.indices) {
      if (i.var != turn && !AxisOf(r, i.var)) terms *= std::min(WidthOf(each, i.var), kSome);
    }
    return terms >= kSome;
  }
  // How many places the least window leaves the index; of ranges that may be long, as many as there may be.
  static int64_t WidthOf(const Each& each, Value index) {
    int64_t width = INT64_MAX;
    for (const ir::Constraint& from : each.where) {
      for (const ir::Constraint& to : each.where) {
        if (from.e.Coeff(index) != 1 || to.e.Coeff(index) != -1) continue;
        if (const Affine both = from.e + to.e; both.IsConst())
          width = std::min(width, std::max<int64_t>(both.constant, -1) + 1);
      }
    }
    return width;
  }

  Size SizeOf(Value v) const {
    const ir::ValueSpan shape = g_.ResultOf(g_.arrays_.at(v)).shape;
    return {g_.own_.AxesBeyond(shape.subspan(g_.depth_)), g_.f_.TypeOf(v).rank};
  }
  // Of those that are not among the others.
  Sizes SizesOf(const std::set<Value>& arrays, const std::set<Value>& others) const {
    Sizes sizes;
    for (Value v : arrays) {
      if (!others.contains(v)) sizes.push_back(SizeOf(v));
    }
    std::sort(sizes.rbegin(), sizes.rend());
    return sizes;
  }
  // The group's arrays that are not made and read by rows, each turn's by the same turn of a loop, or `with_near` by turns near it.
  std::set<Value> Kept(const std::map<size_t, Value>& first, const std::map<Value, size_t>& axes,
                       bool with_near) const {
    const auto is_near = [&](const Each& each, const Affine& sub, Value row) {
      return with_near && g_.IsNear(each, sub, row);
    };
    const Turns turns(g_.insts_, begin_, end_, first, g_.depth_, is_near);
    const auto index = [&](size_t at) {
      const auto it = first.find(at);
      return it == first.end() ? IndexAt(g_.insts_[at], g_.depth_) : it->second;
    };
    std::set<Value> kept;
    for (Value v : group_) {
      const auto turned = axes.find(v);
      const size_t axis = turned == axes.end() ? g_.depth_ : turned->second;
      const MadeArray& array = g_.arrays_.at(v);
      const Affine& out = g_.ResultOf(array).out[axis];
      bool rows =
          IsInOneLoop(turns, v) && (out.AsValue() == index(array.maker) ||
                                    is_near(*g_.insts_[array.maker].each, out, index(array.maker)));
      for (size_t at : array.readers) {
        const Each& each = *g_.insts_[at].each;
        ForEachRead(each, [&](Value of, ir::AffineSpan subs) {
          rows &=
              of != v || subs[axis].AsValue() == index(at) || is_near(each, subs[axis], index(at));
        });
      }
      if (!rows) kept.insert(v);
    }
    if (g_.depth_ == 0)
      std::erase_if(kept, [&, all = kept](Value v) { return TakesPlace(v, all); });
    return kept;
  }
  // Whether it can be made in the place of an array of that shape that its maker is the last to read, element by element
  // (core/loops/take_places.h).
  bool TakesPlace(Value v, const std::set<Value>& kept) const {
    const MadeArray& array = g_.arrays_.at(v);
    const Each& maker = *g_.insts_[array.maker].each;
    const EachResult& r = g_.ResultOf(array);
    bool takes = false;
    ForEachRead(maker, [&](Value of, ir::AffineSpan subs) {
      if (!kept.contains(of) || *g_.arrays_.at(of).readers.rbegin() != array.maker) return;
      const ir::ValueSpan shape = g_.ResultOf(g_.arrays_.at(of)).shape;
      takes |= std::equal(subs.begin(), subs.end(), r.out.begin(), r.out.end()) &&
               std::equal(shape.begin(), shape.end(), r.shape.begin(), r.shape.end());
    });
    return takes && r.monoid == Monoid::kGen && maker.results.size() == 1;
  }

  const RowGroups& g_;
  const Group& group_;
  const Axes& axes_;
  const Axes::Node root_;
  size_t begin_, end_;  // of the group's statements
  const bool with_kept_;
  std::map<Value, size_t> wanted_;  // to be by rows: by array, its axis of the class
  std::map<Value, size_t> turned_;  // these, and such as are kept with that axis in front
  RowPlan plan_;
  size_t in_order_ = 0, down_ = 0;
  Sizes kept_;
};

RowGroups::RowGroups(const ir::Function& f, const std::vector<Inst>& insts,
                     const ir::OwnArrays& own, const ir::KnownExtents& extents,
                     const std::vector<bool>& elsewhere, size_t depth)
    : f_(f),
      insts_(insts),
      own_(own),
      depth_(depth),
      extents_(extents),
      arrays_(FindMadeArrays(insts, elsewhere, [&](Value v, const EachResult& r) {
        return f.TypeOf(v).rank >= 2 + static_cast<int>(depth) &&
               !own.IsNoLarger(ir::ValueSpan(r.shape).subspan(depth));
      })) {
  for (size_t loop = 0; loop < depth_; ++loop) KeepRowsOf(loop);
}

bool RowGroups::IsNear(const Each& each, const Affine& sub, Value index) const {
  return depth_ == 0 && index.valid() &&
         ir::FindRowWindow(each, sub, index, ir::RowFactsOf(extents_)).has_value();
}

// Those that are made and read by the same turns of a loop alone.
void RowGroups::KeepRowsOf(size_t loop) {
  if (arrays_.empty()) return;
  const Turns turns(insts_, 0, insts_.size() - 1, {}, loop);
  std::erase_if(arrays_,
                [&](const auto& a) { return !IsByTurns(insts_, a.first, a.second, turns, loop); });
}

// Arrays that some statement makes or reads together.
std::vector<RowGroups::Group> RowGroups::FindGroups() const {
  std::map<size_t, size_t> parent;  // by statement
  const auto root = [&](size_t at) {
    for (auto it = parent.find(at); it != parent.end(); it = parent.find(at)) at = it->second;
    return at;
  };
  for (const auto& [v, array] : arrays_) {
    for (size_t at : array.readers) {
      const size_t a = root(array.maker), b = root(at);
      if (a != b) parent[std::max(a, b)] = std::min(a, b);
    }
  }
  std::map<size_t, Group> groups;
  for (const auto& [v, array] : arrays_) groups[root(array.maker)].push_back(v);
  std::vector<Group> found;
  for (auto& [first, group] : groups) {
    size_t last = first;
    for (Value v : group) last = std::max(last, *arrays_.at(v).readers.rbegin());
    if (last - first <= kMostApart) found.push_back(std::move(group));
  }
  return found;
}

std::vector<RowPlan> RowGroups::Plans() const {
  std::vector<RowPlan> plans;
  for (const Group& group : FindGroups()) {
    const Axes axes(*this, group);
    std::optional<RowPlan> best;
    Search::Cost cost;
    for (const Axes::Node& axis : axes.Roots()) {
      for (const bool with_kept : {false, true}) {
        Search search(*this, group, axes, axis, with_kept);
        if (!search.Run() || (best && cost <= search.cost())) continue;
        cost = search.cost();
        best = std::move(search.plan());
      }
    }
    Search few(*this, group, axes, {}, false);
    if (!best && depth_ == 0 && few.RunFewSums()) best = std::move(few.plan());
    if (best) plans.push_back(std::move(*best));
  }
  return plans;
}

}  // namespace pullback::tensor
