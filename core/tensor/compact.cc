// Arrays that hold less than their elements: what is stored is what tells them apart, and the array itself becomes a
// statement without arithmetic, which opt::FuseReads puts into whatever reads it.
//
//   gen [i, i + 1]: e(i)                          d = gen [i]: e(i);       gen [i, i + 1]: d[i]
//   gen [i, j]: e(j)                              r = gen [j]: e(j);       gen [i, j]: r[j]
//   where a(i) <= j < a(i) + w: gen [i, j]: e     b = gen [i, t < w]: e at j = a(i) + t;
//                                                 where …: gen [i, j]: b[i, j - a(i)]
//   sum [i, i]: e(i, k)                           d = sum [i]: e(i, k);    gen [i, i]: d[i]
//   sum [0, j]: e(j, k)                           d = sum [j]: e(j, k);    gen [0, j]: d[j]
//   sum [i, j]: e(i, k)                           d = sum [i]: e(i, k);    gen [i, j]: d[i]
//   where a(i) <= j, j = i among these: sum [i, j]: e(i, k)
//                                                 d = sum [i]: e(i, k);    where a(i) <= j: gen [i, j]: d[i]
//
// Where the array has other readers than statements it is left alone, since it is made anyway, but for reductions along
// the last of these lines, whose terms become fewer.
#include <algorithm>

#include "core/analysis/outer_values.h"
#include "core/ir/known_extents.h"
#include "core/ir/op_weight.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/normalise.h"
#include "core/tensor/read_ranges.h"
#include "core/tensor/split_statement.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int64_t kWidestBand = 64;
constexpr int64_t kMostPlaces = 8;  // numbers at which a window is looked for

bool HasWork(const Each& each) {
  return std::any_of(each.body.begin(), each.body.end(), [](const Inst& inst) {
    return inst.op != Op::Index && inst.op != Op::Const && inst.op != Op::Holds &&
           inst.op != Op::AffineOf;
  });
}

template <typename List>
void EraseAt(List& list, size_t k) {
  list.erase(list.begin() + static_cast<long>(k));
}

class Compactor {
 public:
  Compactor(ir::Function& f, bool only_reductions)
      : f_(f),
        only_reductions_(only_reductions),
        reads_(f),
        outer_(f),
        ranges_(f),
        known_(ir::FindKnownExtents(f)) {}

  bool Run() {
    bool changed = false;
    for (ir::Block& b : f_.blocks) {
      std::vector<Inst> made;
      for (Inst& inst : b.insts) {
        std::vector<Inst> after;
        if (inst.each) changed |= VisitStatement(inst, made, after);
        made.push_back(std::move(inst));
        std::move(after.begin(), after.end(), std::back_inserter(made));
      }
      b.insts = std::move(made);
    }
    return changed;
  }

 private:
  // Results that become others leave; `before`: statements that come instead. Sums stay where their work is shared,
  // and `after` spreads them.
  bool VisitStatement(Inst& inst, std::vector<Inst>& before, std::vector<Inst>& after) {
    bool changed = false;
    for (size_t k = 0; k < inst.results.size(); ++k) {
      const EachResult& r = inst.each->results[k];
      if (r.into.valid()) continue;
      if (ReduceOnce(inst, k, before)) {
        changed = true;
        continue;
      }
      if (only_reductions_ || f_.TypeOf(inst.results[k]).rank < 2 ||
          !reads_.OnlyByStatements(inst.results[k]))
        continue;
      changed |= r.monoid == ir::Monoid::kSum
                     ? SumDiagonal(inst, k, after) || SumAtPlace(inst, k, after)
                     : Store(inst, k, before);
    }
    return changed;
  }

  // A reduction whose terms are the same all along an axis.
  bool ReduceOnce(Inst& inst, size_t k, std::vector<Inst>& before) {
    if (!MayBeOnce(inst, k) || !HasElementByIndices(*inst.each, inst.each->results[k]))
      return false;
    Inst once = ResultAlone(inst, k, f_);
    Each& each = *once.each;
    EachResult& r = each.results[0];
    const EachResult whole = r;
    std::vector<size_t> kept;
    std::vector<ir::Constraint> where;  // of the elements that are there
    for (size_t axis = r.out.size(); axis-- > 0;) {
      const size_t place = *PlaceOfIndex(each, r.out[axis].AsValue());
      const auto conditions = ConditionsToDrop(each, place);
      if (!conditions) {
        kept.insert(kept.begin(), axis);
        continue;
      }
      std::erase_if(each.where, [&](const ir::Constraint& c) {
        return c.e.Coeff(each.indices[place].var) != 0;
      });
      where.insert(where.end(), conditions->begin(), conditions->end());
      Drop(each, place);
      EraseAt(r.out, axis);
      EraseAt(r.shape, axis);
    }
    if (kept.size() == whole.out.size() || (kept.empty() && r.monoid == ir::Monoid::kGen))
      return false;
    const Value all = inst.results[k];
    once.results = {kept.empty() ? f_.NewLike(f_, r.value) : NewArray(all, kept.size())};
    before.push_back(std::move(once));
    before.push_back(Spread(before.back(), all, whole, kept, where));
    Abandon(inst, k);
    return true;
  }

  // Those that name an index that does not tell elements apart but by them; nothing: it does, or what is made once could be
  // made for nobody, or for many. An element that they leave out is 0: of a sum, or a gen.
  std::optional<std::vector<ir::Constraint>> ConditionsToDrop(const Each& each,
                                                              size_t place) const {
    const Value index = each.indices[place].var;
    const ir::Monoid monoid = each.results[0].monoid;
    if (IsNamedInBody(each, index)) return std::nullopt;
    Each rest;  // without it
    rest.indices = each.indices;
    EraseAt(rest.indices, place);
    std::vector<ir::Constraint> own;
    for (const ir::Constraint& c : each.where)
      (c.e.Coeff(index) != 0 ? own : rest.where).push_back(c);
    if (own.empty()) return monoid != ir::Monoid::kGen ? std::optional(own) : std::nullopt;
    const bool zero_elsewhere = monoid == ir::Monoid::kSum || monoid == ir::Monoid::kGen;
    const bool of_result = std::all_of(own.begin(), own.end(), [&](const ir::Constraint& c) {
      return std::all_of(c.e.terms.begin(), c.e.terms.end(), [&](const Affine::Term& t) {
        return !PlaceOfIndex(each, t.value) || CountNaming(each.results[0], t.value) > 0;
      });
    });
    const bool may_drop = zero_elsewhere && of_result && IsNarrow(each.indices[place], own) &&
                          IsSomewhere(rest, each.indices[place], own);
    return may_drop ? std::optional(own) : std::nullopt;
  }
  // Whether it has few places at a time: what is made once is at hand for them.
  bool IsNarrow(const ir::IndexVar& index, const std::vector<ir::Constraint>& own) const {
    return known_.IsShort(index.extent) ||
           std::any_of(own.begin(), own.end(), [&](const ir::Constraint& low) {
             return std::any_of(own.begin(), own.end(), [&](const ir::Constraint& high) {
               return WidthOf(index.var, low, high).has_value();
             });
           });
  }
  // Of the band between them, less one; nothing: it has none, or may be wide.
  static std::optional<int64_t> WidthOf(Value index, const ir::Constraint& low,
                                        const ir::Constraint& high) {
    if (low.e.Coeff(index) != 1 || high.e.Coeff(index) != -1) return std::nullopt;
    const Affine last = low.e + high.e;
    const bool narrow = !low.equality && !high.equality && last.IsConst() && last.constant >= 0 &&
                        last.constant < kWidestBand;
    return narrow ? std::optional(last.constant) : std::nullopt;
  }

  // Whether the conditions hold at one place of the index, at every point of the statement: the place of another index, or a number.
  bool IsSomewhere(const Each& each, const ir::IndexVar& index,
                   const std::vector<ir::Constraint>& own) const {
    std::vector<Affine> places;
    for (const ir::IndexVar& i : each.indices) places.push_back(Affine::Of(i.var));
    for (int64_t k = 0; k < kMostPlaces; ++k) places.push_back(Affine::Const(k));
    return std::any_of(places.begin(), places.end(), [&](const Affine& at) {
      return ranges_.IsInRange(each, {}, at, index.extent) &&
             std::all_of(own.begin(), own.end(), [&](const ir::Constraint& c) {
               const Affine e = c.e.Substitute(index.var, at);
               return ranges_.IsFromZero(each, {}, e) &&
                      (!c.equality || ranges_.IsFromZero(each, {}, e * -1));
             });
    });
  }

  // A reduction, or an array of what is dear.
  bool MayBeOnce(const Inst& inst, size_t k) const {
    const EachResult& r = inst.each->results[k];
    if (r.monoid != ir::Monoid::kGen) return IsReduction(r);
    return !r.out.empty() && reads_.OnlyByStatements(inst.results[k]) &&
           std::any_of(inst.each->body.begin(), inst.each->body.end(), ir::IsDear);
  }
  static bool IsReduction(const EachResult& r) {
    return r.monoid != ir::Monoid::kGen && !ir::IsScan(r.monoid) && !ir::IsArg(r.monoid);
  }
  // `all`, whose axes but those that are kept repeat what the statement makes, where the conditions hold; 0 elsewhere.
  Inst Spread(const Inst& once, Value all, const EachResult& whole, const std::vector<size_t>& kept,
              const std::vector<ir::Constraint>& where) {
    Inst spread;
    spread.op = Op::Each;
    spread.loc = once.loc;
    spread.results = {all};
    spread.each = std::make_unique<Each>();
    spread.each->where = where;
    EachResult r;
    r.shape = whole.shape;
    for (size_t axis = 0; axis < whole.shape.size(); ++axis) {
      const Value index = f_.NewValue(ir::Type::I64());
      spread.each->indices.push_back({index, whole.shape[axis]});
      r.out.push_back(Affine::Of(index));
      for (ir::Constraint& c : spread.each->where)
        c.e = c.e.Substitute(whole.out[axis].AsValue(), r.out[axis]);
    }
    r.value = once.results[0];
    if (!kept.empty()) {
      ir::Affines subs;
      for (const size_t axis : kept) subs.push_back(r.out[axis]);
      r.value = f_.NewValue(f_.TypeOf(all).Element());
      Read(*spread.each, once.results[0], subs, once.loc, r.value);
    }
    spread.each->results.push_back(std::move(r));
    return spread;
  }
  static void Read(Each& each, Value array, const ir::Affines& subs, uint32_t loc, Value element) {
    Inst read;
    read.op = Op::Index;
    read.loc = loc;
    read.args = {array};
    read.subs = ir::AffineSpan(subs);
    read.results = {element};
    each.body.push_back(std::move(read));
  }

  // An axis whose subscript repeats that of one in front of it goes.
  bool SumDiagonal(Inst& inst, size_t k, std::vector<Inst>& after) {
    EachResult& r = inst.each->results[k];
    for (size_t b = 1; b < r.out.size(); ++b) {
      const auto same = std::find(r.out.begin(), r.out.begin() + static_cast<long>(b), r.out[b]);
      const auto a = static_cast<size_t>(same - r.out.begin());
      if (a == b || r.shape[a] != r.shape[b]) continue;
      const Value extent = r.shape[b];
      const Value all = DropAxis(inst, k, b);
      after.push_back(SpreadAxis(inst, k, all, b, extent));
      EachResult& spread = after.back().each->results[0];
      spread.out[b] = spread.out[a];
      return true;
    }
    return false;
  }

  // Nor is there an axis of which it has one place.
  bool SumAtPlace(Inst& inst, size_t k, std::vector<Inst>& after) {
    const EachResult& r = inst.each->results[k];
    for (size_t axis = 0; axis < r.out.size(); ++axis) {
      const Affine at = r.out[axis];
      const Value extent = r.shape[axis];
      const bool is_one =
          std::none_of(at.terms.begin(), at.terms.end(), [&](const Affine::Term& t) {
            return PlaceOfIndex(*inst.each, t.value) || FindDef(*inst.each, t.value);
          });
      if (!is_one || !ranges_.IsInRange(*inst.each, r.guard, at, extent)) continue;
      const Value all = DropAxis(inst, k, axis);
      after.push_back(SpreadAxis(inst, k, all, axis, extent));
      EachResult& spread = after.back().each->results[0];
      spread.out[axis] = at;
      AddRange(*after.back().each, at, extent);
      return true;
    }
    return false;
  }

  // Gives what the result was.
  Value DropAxis(Inst& inst, size_t k, size_t axis) {
    EachResult& r = inst.each->results[k];
    EraseAt(r.out, axis);
    EraseAt(r.shape, axis);
    const Value all = inst.results[k];
    inst.results[k] = NewArray(all, r.out.size());
    return all;
  }

  // `all`, which has an axis more than the statement's result, by a subscript to be told.
  Inst SpreadAxis(const Inst& inst, size_t k, Value all, size_t axis, Value extent) {
    Inst spread;
    spread.op = Op::Each;
    spread.loc = inst.loc;
    spread.results = {all};
    spread.each = std::make_unique<Each>();
    EachResult r;
    for (const Value extent : inst.each->results[k].shape) {
      const Value index = f_.NewValue(ir::Type::I64());
      spread.each->indices.push_back({index, extent});
      r.out.push_back(Affine::Of(index));
      r.shape.push_back(extent);
    }
    r.value = f_.NewValue(f_.TypeOf(all).Element());
    Read(*spread.each, inst.results[k], r.out, inst.loc, r.value);
    r.out.insert(r.out.begin() + static_cast<long>(axis), Affine());
    r.shape.insert(r.shape.begin() + static_cast<long>(axis), extent);
    spread.each->results.push_back(std::move(r));
    return spread;
  }

  Value NewArray(Value like, size_t rank) {
    const ir::Type t = ir::Type::Array(f_.TypeOf(like).elem, static_cast<int>(rank));
    return f_.NewValue(t, f_.names[like.id]);
  }

  // The result goes under another name, for nobody.
  void Abandon(Inst& inst, size_t k) { inst.results[k] = f_.NewLike(f_, inst.results[k]); }

  bool Store(Inst& inst, size_t k, std::vector<Inst>& before) {
    Inst all = ResultAlone(inst, k, f_);
    Each& each = *all.each;
    if (!HasWork(each) || !IsOneTermAnElement(each)) return false;
    // What has one reader becomes part of it, where the condition still tells which elements there are.
    if (each.results[0].guard.valid() && reads_.Of(inst.results[k]).size() < 2) return false;
    Inst stored = CopyStatement(all, f_).inst;
    ir::Affines subs;  // of what is stored, over the indices of `all`
    for (const ir::IndexVar& i : each.indices) subs.push_back(Affine::Of(i.var));
    const size_t before_band = before.size();
    bool smaller = DropUnused(*stored.each, subs);
    smaller |= each.results[0].out.size() > each.indices.size();  // a diagonal
    smaller |= SkewBand(*stored.each, subs, before);
    if (!smaller || (subs.empty() && !MayRunAhead(*stored.each))) {
      before.resize(before_band);
      return false;
    }
    if (subs.empty()) {  // a number
      all.each->body.clear();
      all.each->results[0].value = stored.each->results[0].value;
      std::move(stored.each->body.begin(), stored.each->body.end(), std::back_inserter(before));
      before.push_back(std::move(all));
      Abandon(inst, k);
      return true;
    }
    before.push_back(Stored(std::move(stored), inst.results[k]));
    before.push_back(Reading(std::move(all), before.back().results[0], subs));
    Abandon(inst, k);
    return true;
  }

  // Whether the body may run where there is no point at all.
  bool MayRunAhead(const Each& each) const {
    return !each.results[0].guard.valid() &&
           std::none_of(each.body.begin(), each.body.end(), [&](const Inst& inst) {
             return inst.guard.valid() || ir::MayTrap(inst, f_);
           });
  }

  // A gen in which each index is a subscript, up to a number that is added.
  static bool IsOneTermAnElement(const Each& each) {
    const EachResult& r = each.results[0];
    if (r.monoid != ir::Monoid::kGen) return false;
    const bool plain = std::all_of(r.out.begin(), r.out.end(), [&](const Affine& a) {
      return PlaceOfIndex(each, (a - Affine::Const(a.constant)).AsValue()).has_value();
    });
    return plain && std::all_of(each.indices.begin(), each.indices.end(),
                                [&](const ir::IndexVar& i) { return CountNaming(r, i.var) > 0; });
  }

  // Indices that neither the value nor a condition names; that there are such points remains a condition.
  bool DropUnused(Each& stored, ir::Affines& subs) {
    bool dropped = false;
    for (size_t k = stored.indices.size(); k-- > 0;) {
      if (IsNamed(stored, stored.indices[k].var)) continue;
      Drop(stored, k);
      EraseAt(subs, k);
      dropped = true;
    }
    return dropped;
  }
  static void Drop(Each& each, size_t k) {
    each.where.push_back({Affine::Of(each.indices[k].extent) - Affine::Const(1), false});
    EraseAt(each.indices, k);
  }
  static bool IsNamed(const Each& each, Value v) {
    return IsNamedInBody(each, v) ||
           std::any_of(each.where.begin(), each.where.end(),
                       [&](const ir::Constraint& c) { return c.e.Coeff(v) != 0; });
  }
  static bool IsNamedInBody(const Each& each, Value v) {
    bool named = each.results[0].value == v;
    const auto look = [&](Value w) { named |= w == v; };
    for (const Inst& inst : each.body) ir::ForEachOperand(inst, look);
    return named;
  }

  // The last index that lies in a band of constant width along the others is counted from where that begins.
  bool SkewBand(Each& stored, ir::Affines& subs, std::vector<Inst>& before) {
    const analysis::Box box = outer_.BoxOf(stored);
    for (size_t k = stored.indices.size(); k-- > 0;) {  // elements of a row lie together
      ir::IndexVar& index = stored.indices[k];
      for (const ir::Constraint& low : stored.where) {
        for (const ir::Constraint& high : stored.where) {
          const std::optional<int64_t> width = WidthOf(index.var, low, high);
          if (!width || !box.IsTame(low.e) || !box.IsTame(high.e)) continue;
          // Its other end alone may be the index's own range.
          if (stored.indices.size() < 2 || !NamesOther(stored, low.e, index.var)) continue;
          Skew(stored, index, low.e, *width + 1, subs, before);
          return true;
        }
      }
    }
    return false;
  }
  static bool NamesOther(const Each& each, const Affine& e, Value index) {
    return std::any_of(e.terms.begin(), e.terms.end(), [&](const Affine::Term& t) {
      return t.value != index && PlaceOfIndex(each, t.value);
    });
  }

  // from = index - a: index becomes a + t.
  void Skew(Each& stored, ir::IndexVar& index, const Affine& from, int64_t width, ir::Affines& subs,
            std::vector<Inst>& before) {
    const ir::IndexVar old = index;
    const Affine begin = SolveFor(from, old.var);
    Inst count;
    count.op = Op::Const;
    count.bits = static_cast<uint64_t>(width);
    count.results = {f_.NewValue(ir::Type::I64())};
    index = {f_.NewValue(ir::Type::I64()), count.results[0]};
    const Affine at = begin + Affine::Of(index.var);
    Affine offset = from;  // over the indices of the array itself, by which `subs` goes
    const size_t place = *PlaceOfIndex(stored, index.var);
    for (size_t k = 0; k < subs.size(); ++k)
      offset = offset.Substitute(k == place ? old.var : stored.indices[k].var, subs[k]);
    subs[place] = offset;
    SubstituteIndex(stored, f_, old.var, at);
    AddRange(stored, at, old.extent);
    before.push_back(std::move(count));
  }

  // The statement that stores an element for each point.
  Inst Stored(Inst stored, Value like) {
    EachResult& r = stored.each->results[0];
    r.out.clear();
    r.shape.clear();
    for (const ir::IndexVar& i : stored.each->indices) {
      r.out.push_back(Affine::Of(i.var));
      r.shape.push_back(i.extent);
    }
    stored.results = {NewArray(like, r.out.size())};
    return stored;
  }

  // The array, from what is stored.
  Inst Reading(Inst all, Value stored, const ir::Affines& subs) {
    Each& each = *all.each;
    each.body.clear();
    each.results[0].value = f_.NewLike(f_, each.results[0].value);
    Read(each, stored, subs, all.loc, each.results[0].value);
    each.results[0].guard = ir::kNoValue;  // 0 is stored where it is false
    return all;
  }

  ir::Function& f_;
  const bool only_reductions_;
  const ArrayReads reads_;
  const analysis::OuterValues outer_;
  const ReadRanges ranges_;
  const ir::KnownExtents known_;
};

}  // namespace

bool CompactArrays(ir::Function& f) { return Compactor(f, false).Run(); }
bool ReduceOnce(ir::Function& f) { return Compactor(f, true).Run(); }

}  // namespace pullback::tensor
