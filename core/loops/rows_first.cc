#include "core/loops/rows_first.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/ir/known_extents.h"
#include "core/ir/own_arrays.h"
#include "core/ir/row_windows.h"
#include "core/ir/statements.h"

namespace pullback::loops {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostBetween =
    400;  // instructions from the one that makes an array to its last reader

using Indices = std::vector<Value>;  // the first of a statement, in order

Indices FirstOf(const Each& each, size_t count) {
  Indices first;
  for (size_t k = 0; k < std::min(count, each.indices.size()); ++k)
    first.push_back(each.indices[k].var);
  return first;
}

// How many of a statement's first indices are the first subscripts, in order.
size_t CountRows(ir::AffineSpan subs, const Indices& first) {
  size_t count = 0;
  while (count < std::min(subs.size(), first.size()) && subs[count].AsValue() == first[count])
    ++count;
  return count;
}

bool IsIndexOf(const Each& each, Value v) {
  return v.valid() && std::any_of(each.indices.begin(), each.indices.end(),
                                  [&](const ir::IndexVar& i) { return i.var == v; });
}

// Whether no element of the result takes its terms in another order, or otherwise, with these indices in front.
bool KeepsOrder(const Each& each, const EachResult& r, const Indices& first) {
  if (r.monoid == ir::Monoid::kGen) return true;  // a term each
  if (r.monoid != ir::Monoid::kSum) return false;
  std::set<Value> named;
  for (const Affine& sub : r.out) {
    const Value index = sub.AsValue();
    if (index.valid() && ir::FindDef(each, index))
      continue;  // as data say, of points with the same other subscripts
    if (!IsIndexOf(each, index) || !named.insert(index).second) return false;
  }
  Each ordered;
  ordered.indices = each.indices;
  ir::BringIndicesFirst(ordered, first);
  if (ir::IsPrefixForm(each, r) || ir::IsPrefixForm(ordered, r)) return false;
  const auto summed = [&](const Each& in) {
    Indices rest;
    for (const ir::IndexVar& i : in.indices) {
      if (!named.contains(i.var)) rest.push_back(i.var);
    }
    return rest;
  };
  return summed(each) == summed(ordered) && ir::CountInRuns(each, r) == ir::CountInRuns(ordered, r);
}

// A block.
class RowsFirst {
 public:
  RowsFirst(const ir::Function& f, const ir::Block& block, const ir::OwnArrays& own,
            const ir::KnownExtents& extents, const std::vector<bool>& elsewhere)
      : f_(f), insts_(block.insts), own_(own), extents_(extents), elsewhere_(elsewhere) {
    for (size_t at = 0; at < insts_.size(); ++at) {
      NoteUses(at);
      NoteMade(at);
    }
  }

  // By statement: what comes first now.
  std::map<size_t, Indices> Run() {
    for (auto v = made_in_order_.rbegin(); v != made_in_order_.rend(); ++v)
      Visit(*v, arrays_.at(*v));
    return std::move(plans_);
  }
  // Sums of arrays that are statements now.
  const std::set<size_t>& sums() const { return sums_; }
  ir::Values ShapeOf(Value v) const {
    const auto it = arrays_.find(v);
    return it == arrays_.end() ? ir::Values() : it->second.shape;
  }

 private:
  struct Array {
    size_t maker, result;
    ir::Values shape;
    bool elsewhere = false;       // other blocks use it, or the end of this one: a sum of arrays
    bool whole = false;           // something reads it that is no statement of this block
    std::vector<size_t> readers;  // ascending
  };

  void NoteMade(size_t at) {
    const Inst& inst = insts_[at];
    for (size_t k = 0; k < inst.results.size(); ++k) {
      const Value v = inst.results[k];
      const bool elsewhere = elsewhere_[v.id];
      if (!f_.TypeOf(v).IsArray() || (elsewhere && inst.each)) continue;
      const ir::Values shape = inst.each ? inst.each->results[k].shape : ShapeOfSum(inst);
      if (shape.empty()) continue;
      arrays_.emplace(v, Array{at, k, shape, elsewhere, false, {}});
      made_in_order_.push_back(v);
    }
  }
  // Empty: it is none, or checks whether the arrays have one shape.
  ir::Values ShapeOfSum(const Inst& inst) const {
    if (inst.op != Op::AddArrays) return {};
    const ir::Values a = ShapeOf(inst.args[0]), b = ShapeOf(inst.args[1]);
    return a == b ? a : ir::Values();
  }
  void NoteUses(size_t at) {
    const Inst& inst = insts_[at];
    std::map<Value, int> others;
    ir::ForEachOperand(inst, [&](const Value& v) {
      if (arrays_.contains(v)) ++others[v];
    });
    if (inst.each) {
      ForEachAccess(*inst.each, [&](Value array, ir::AffineSpan) {
        if (const auto it = others.find(array); it != others.end()) --it->second;
      });
    }
    for (const auto& [v, count] : others) {
      Array& array = arrays_.at(v);
      array.readers.push_back(at);
      array.whole |= count > 0 && inst.op != Op::AddArrays && inst.op != Op::Dim;
    }
  }
  // fn(array, subscripts)
  template <typename Fn>
  static void ForEachAccess(const Each& each, Fn&& fn) {
    for (const Inst& inst : each.body) {
      if (inst.op == Op::Index) fn(inst.args[0], ir::AffineSpan(inst.subs));
    }
    for (const EachResult& r : each.results) {
      if (r.into.valid()) fn(r.into, ir::AffineSpan(r.out));
    }
  }

  // How many of a statement's first indices the subscripts of what it reads or makes go along. Of the first one, by rows that are
  // known numbers away, too: loops in strips need no more than these (strip_loops.h).
  size_t CountRead(const Each& each, ir::AffineSpan subs, const Indices& first) const {
    const size_t count = CountRows(subs, first);
    if (count > 0 || first.empty() || subs.empty()) return count;
    return IsNearRow(each, subs[0], first[0]) ? 1 : 0;
  }
  bool IsNearRow(const Each& each, const Affine& sub, Value index) const {
    return ir::FindRowWindow(each, sub, index, ir::RowFactsOf(extents_)).has_value();
  }

  // The first index, or the one that stands in the subscript, where it is near to rows of that; else what the subscript is.
  Value NearRowOf(const Each& each, const Affine& sub) const {
    if (each.indices.empty() || sub.AsValue() == each.indices[0].var) return sub.AsValue();
    if (IsNearRow(each, sub, each.indices[0].var)) return each.indices[0].var;
    if (sub.AsValue().valid()) return sub.AsValue();
    return NearIndexOf(each, sub);
  }
  Value NearIndexOf(const Each& each, const Affine& sub) const {
    for (const Affine::Term& t : sub.terms) {
      if (IsIndexOf(each, t.value) && IsNearRow(each, sub, t.value)) return t.value;
    }
    return ir::kNoValue;
  }
  Indices PlanOf(size_t at, size_t count) const {
    const auto it = plans_.find(at);
    if (it == plans_.end()) return FirstOf(*insts_[at].each, count);
    return {it->second.begin(),
            it->second.begin() + static_cast<long>(std::min(count, it->second.size()))};
  }

  void Visit(Value v, const Array& array) {
    if (array.whole || array.elsewhere || array.readers.empty()) return;
    if (array.readers.back() - array.maker > kMostBetween) return;
    const bool sum = !insts_[array.maker].each;
    const size_t most = f_.TypeOf(v).rank - 1;
    size_t rows = sum ? most : std::min(most, RowsOfMaker(array, most));
    bool plain = !sum;
    for (size_t at : array.readers) {
      if (rows == 0) return;
      rows = std::min(rows, RowsOf(at, v, rows, plain));
    }
    if (rows == 0 || own_.IsNoLarger(array.shape)) return;
    std::map<size_t, Indices> plans = plans_;
    for (size_t at : array.readers) {
      if (insts_[at].each && !plain) plans[at] = AxesOf(*insts_[at].each, v, rows);
    }
    std::swap(plans_, plans);
    std::set<size_t> between;
    if (!NeedsRowsOnly(array, between)) {
      std::swap(plans_, plans);
      return;
    }
    sums_.merge(between);
    if (sum) sums_.insert(array.maker);
  }
  size_t RowsOfMaker(const Array& array, size_t most) const {
    const Each& maker = *insts_[array.maker].each;
    return CountRead(maker, maker.results[array.result].out, PlanOf(array.maker, most));
  }

  // The indices by which all accesses to the array go along its first axes, as many as agree.
  Indices AxesOf(const Each& each, Value array, size_t most) const {
    std::optional<Indices> axes;
    ForEachAccess(each, [&](Value of, ir::AffineSpan subs) {
      if (of != array) return;
      Indices own;
      if (const Value near = NearRowOf(each, subs[0]); near != subs[0].AsValue()) {
        own.push_back(near);
      } else {
        for (size_t k = 0; k < most; ++k) {
          const Value row = IsIndexOf(each, subs[k].AsValue()) ? subs[k].AsValue()
                            : k > 0                            ? NearIndexOf(each, subs[k])
                                                               : ir::kNoValue;
          if (!row.valid()) break;
          own.push_back(row);
        }
      }
      if (!axes) axes = own;
      size_t same = 0;
      while (same < std::min(axes->size(), own.size()) && (*axes)[same] == own[same]) ++same;
      axes->resize(same);
    });
    std::set<Value> distinct;
    size_t count = 0;
    while (axes && count < axes->size() && distinct.insert((*axes)[count]).second) ++count;
    return axes ? Indices(axes->begin(), axes->begin() + static_cast<long>(count)) : Indices();
  }

  // How many of the array's first axes the reader's loops may go along first. `plain`: they all do so already.
  size_t RowsOf(size_t at, Value array, size_t most, bool& plain) const {
    const Inst& inst = insts_[at];
    if (inst.op == Op::Dim) return most;
    if (inst.op == Op::AddArrays) return sums_.contains(at) ? most : 0;
    const Each& each = *inst.each;
    Indices axes = AxesOf(each, array, most);
    if (plans_.contains(at)) {
      const Indices planned = plans_.at(at);
      size_t same = 0;
      while (same < std::min(axes.size(), planned.size()) && axes[same] == planned[same]) ++same;
      return same;
    }
    while (!axes.empty() && axes != FirstOf(each, axes.size()) &&
           !MayBeFirst(inst, axes, arrays_.at(array)))
      axes.pop_back();
    plain &= axes == FirstOf(each, axes.size());
    return axes.size();
  }
  bool MayBeFirst(const Inst& inst, const Indices& first, const Array& array) const {
    const Each& each = *inst.each;
    const auto keeps = [&](const EachResult& r) { return KeepsOrder(each, r, first); };
    return std::all_of(each.results.begin(), each.results.end(), keeps) &&
           !LosesRows(inst, first, array);
  }
  using Size = std::pair<size_t, size_t>;  // axes beyond the function's own arrays, and in all
  Size SizeOf(const ir::Values& shape) const { return {own_.AxesBeyond(shape), shape.size()}; }
  // Whether the loops go by rows of another large array by now, and would not: of one that is read, or of one that is made
  // for what goes by rows, too, and is larger than `rows`.
  bool LosesRows(const Inst& inst, const Indices& first, const Array& rows) const {
    const Each& each = *inst.each;
    bool loses = false;
    for (size_t k = 0; k < inst.results.size(); ++k) {
      const auto it = arrays_.find(inst.results[k]);
      if (it == arrays_.end() || own_.IsNoLarger(it->second.shape)) continue;
      const ir::AffineSpan out = each.results[k].out;
      loses |= SizeOf(it->second.shape) > SizeOf(rows.shape) &&
               CountRows(out, FirstOf(each, 1)) > CountRows(out, first) && IsReadByRows(it->first);
    }
    ForEachAccess(each, [&](Value v, ir::AffineSpan subs) {
      const auto it = arrays_.find(v);
      if (it == arrays_.end() || it->second.whole || it->second.elsewhere || loses) return;
      const size_t now =
          CountRead(each, subs.subspan(0, subs.size() - 1), FirstOf(each, subs.size()));
      loses = now > CountRead(each, subs, first) && !own_.IsNoLarger(it->second.shape);
    });
    return loses;
  }

  // Whether what reads the array needs of it, and of all that is computed of it, no more than rows made in its own turn, where
  // the sums of two arrays `between` are statements.
  bool NeedsRowsOnly(const Array& array, std::set<size_t>& between) const {
    std::set<Value> by_row, whole;
    Spread(array.maker, by_row, whole);
    for (size_t at = array.maker + 1; at <= array.readers.back(); ++at) {
      const Inst& inst = insts_[at];
      bool needs = false, needs_whole = false;
      ir::ForEachOperand(inst, [&](const Value& v) {
        needs |= by_row.contains(v);
        needs_whole |= whole.contains(v);
      });
      if (inst.op == Op::Dim || !(needs || needs_whole)) continue;
      if (inst.each) {
        const Indices first = PlanOf(at, 1);
        ForEachAccess(*inst.each, [&](Value v, ir::AffineSpan subs) {
          needs_whole |= by_row.contains(v) && CountRead(*inst.each, subs, first) == 0;
        });
      } else if (!sums_.contains(at)) {
        needs_whole |= !IsSumOfRows(at);
        if (!needs_whole) between.insert(at);
      }
      const bool reads = std::binary_search(array.readers.begin(), array.readers.end(), at);
      if (reads && needs_whole) return false;
      if (needs_whole)
        whole.insert(inst.results.begin(), inst.results.end());
      else
        Spread(at, by_row, whole);
    }
    return true;
  }
  // The sum of two arrays that statements make, which is read by rows alone, or by so many sums after each other, and perhaps is a result.
  static constexpr int kMostSums = 4;
  bool IsSumOfRows(size_t at, int sums = kMostSums) const {
    const Inst& inst = insts_[at];
    const auto sum = inst.op == Op::AddArrays ? arrays_.find(inst.results[0]) : arrays_.end();
    return sum != arrays_.end() && IsReadByRows(sum->first, sums);
  }
  bool IsReadByRows(Value array, int sums = kMostSums) const {
    const Array& of = arrays_.at(array);
    return !of.whole && std::all_of(of.readers.begin(), of.readers.end(), [&](size_t reader) {
      if (!insts_[reader].each) return sums > 0 && IsSumOfRows(reader, sums - 1);
      bool rows = true;
      ForEachAccess(*insts_[reader].each, [&](Value v, ir::AffineSpan subs) {
        rows &= v != array || CountRead(*insts_[reader].each, subs, PlanOf(reader, 1)) == 1;
      });
      return rows;
    });
  }
  // What is made turn by turn.
  void Spread(size_t at, std::set<Value>& by_row, std::set<Value>& whole) const {
    const Inst& inst = insts_[at];
    for (size_t k = 0; k < inst.results.size(); ++k) {
      const bool rows =
          !inst.each || CountRead(*inst.each, inst.each->results[k].out, PlanOf(at, 1)) == 1;
      (rows ? by_row : whole).insert(inst.results[k]);
    }
  }

  const ir::Function& f_;
  const std::vector<Inst>& insts_;
  const ir::OwnArrays& own_;
  const ir::KnownExtents& extents_;
  const std::vector<bool>&
      elsewhere_;  // whether other blocks, or the end of this one, use the value
  std::map<Value, Array> arrays_;
  std::vector<Value> made_in_order_;
  std::map<size_t, Indices> plans_;
  std::set<size_t> sums_;
};

}  // namespace

std::optional<ir::Function> RunRowsFirst(const ir::Function& f) {
  const ir::OwnArrays own(f);
  const ir::KnownExtents extents = ir::FindKnownExtents(f);
  const std::vector<bool> elsewhere = ir::UsedElsewhere(f);
  std::optional<ir::Function> made;
  for (size_t b = 0; b < f.blocks.size(); ++b) {
    RowsFirst rows(f, f.blocks[b], own, extents, elsewhere);
    const std::map<size_t, Indices> plans = rows.Run();
    if (!made && (!plans.empty() || !rows.sums().empty())) made = f;
    for (const auto& [at, first] : plans)
      ir::BringIndicesFirst(*made->blocks[b].insts[at].each, first);
    for (size_t at : rows.sums()) {
      Inst& sum = made->blocks[b].insts[at];
      sum = ir::SumAsStatement(*made, sum, rows.ShapeOf(sum.results[0]));
    }
  }
  return made;
}

}  // namespace pullback::loops
