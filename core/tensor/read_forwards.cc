// Arrays that everybody reads from the end are made from the end, so that they are read forwards: what is next to a row is behind
// it then, and windows, held ends and blocks of turns find it there.
//
//   z = each(i < n, k): gen [i, k]: … x[i] …        z = each(i < n, k): gen [i, k]: … x[n - 1 - i] …
//   s = each(i < m): … z[n - 1 - i] z[n - 2 - i] …   s = each(i < m): … z[i] z[i + 1] …
//
// What they are made of is read from the end instead, and so on. Sums keep their terms' order: indices of elements alone turn. A term near
// the end where the element is near the start, j in n - 2 <= i + j <= n, is read from the end, too. A row of a ring, e % n, is
// (k n - 1 - e) % n from the end, where that is no less than 0.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/analysis/body_forms.h"
#include "core/analysis/outer_values.h"
#include "core/analysis/predicate.h"
#include "core/analysis/sub_cases.h"
#include "core/ir/known_extents.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int kMostWithin = 4;  // extrema of extrema
constexpr int64_t kMostWork = 200;
constexpr int64_t kMostRounds = 16;  // of a ring

enum class Way : uint8_t { kEither, kForwards, kBackwards, kUnknown };

Way Both(Way a, Way b) {
  if (a == Way::kEither || a == b) return b;
  return b == Way::kEither ? a : Way::kUnknown;
}

// Which way what is read goes as the elements' indices do, and the same place counted from the end.
class Subscript {
 public:
  Subscript(const Each& each, const ir::Function& f, const analysis::OuterValues& outer,
            const ir::KnownExtents& known, Affine size)
      : each_(each), forms_(each, f), outer_(outer), known_(known), size_(std::move(size)) {
    for (const Inst& inst : each.body) forms_.Note(inst);
  }

  Way WayOf(const Affine& sub, Value guard, int depth = 0) const {
    if (const auto parts = PartsOf(sub, guard, depth))
      return Both(WayOf(parts->first, guard, depth + 1), WayOf(parts->second, guard, depth + 1));
    if (const auto round = RoundOf(sub, guard))
      return WayOf(round->dividend, guard, kMostWithin + 1);
    Way way = Way::kEither, of_short = Way::kEither;
    for (const Affine::Term& t : sub.terms) {
      if (FindDef(each_, t.value)) return Way::kUnknown;
      if (!PlaceOfIndex(each_, t.value)) continue;
      const bool is_short = IsShort(t.value);
      const bool against = !is_short && RunsAgainst(each_, t.value, guard);
      Way& of = is_short ? of_short : way;
      of = Both(of, (t.coeff > 0) != against ? Way::kForwards : Way::kBackwards);
    }
    return way == Way::kEither ? of_short : way;
  }

  // Writes what it is made of behind `out`.
  Affine FromEnd(const Affine& sub, Value guard, ir::Function& f, std::vector<Inst>& out,
                 int depth = 0) const {
    const auto number = [&](Inst inst) {
      inst.results = {f.NewValue(ir::Type::I64())};
      inst.guard = guard;
      out.push_back(std::move(inst));
      return out.back().results[0];
    };
    const auto place = [&](const Affine& at) {
      Inst is;
      is.op = Op::AffineOf;
      is.subs = {at};
      return number(std::move(is));
    };
    Inst other;
    if (const auto round = RoundOf(sub, guard)) {
      other.op = Op::Rem;
      other.args = {place(round->last - round->dividend), round->size};
    } else if (const auto parts = PartsOf(sub, guard, depth)) {
      other.op = parts->is_max ? Op::Min : Op::Max;
      for (const Affine& part : {parts->first, parts->second})
        other.args.push_back(place(FromEnd(part, guard, f, out, depth + 1)));
    } else {
      return size_ - Affine::Const(1) - sub;
    }
    return Affine::Of(number(std::move(other)));
  }

  // A place of a ring: the remainder by the size of what is to be from 0 to `last`, the last place of some round.
  struct Round {
    Affine dividend, last;
    Value size;
  };
  std::optional<Round> RoundOf(const Affine& sub, Value guard) const {
    const Inst* def = sub.AsValue().valid() ? FindDef(each_, sub.AsValue()) : nullptr;
    if (!def || def->op != Op::Rem || (def->guard.valid() && def->guard != guard))
      return std::nullopt;
    analysis::Box box;
    const auto form = forms_.FormOf(def->args[0], guard), size = forms_.FormOf(def->args[1], guard);
    if (!form || !size || outer_.Describe(*size, each_, box) != size_) return std::nullopt;
    const Affine e = outer_.Describe(*form, each_, box);
    // Of a size that is 1 or more.
    const int64_t whole = size_.AsValue().valid() ? e.Coeff(size_.AsValue()) : 0;
    const int64_t rounds = std::max<int64_t>(whole, 0) + 1 + std::max<int64_t>(e.constant, 0);
    if (rounds > kMostRounds) return std::nullopt;
    return Round{*form, size_ * rounds - Affine::Const(1), def->args[1]};
  }
  const analysis::BodyForms& forms() const { return forms_; }

 private:
  bool IsShort(Value index) const {
    const auto place = PlaceOfIndex(each_, index);
    return place && known_.IsShort(each_.indices[*place].extent);
  }
  struct Parts {
    Affine first, second;
    bool is_max;
  };
  // Of an extremum and a number.
  std::optional<Parts> PartsOf(const Affine& sub, Value guard, int depth) const {
    if (sub.terms.size() != 1 || sub.terms[0].coeff != 1 || depth > kMostWithin)
      return std::nullopt;
    const Inst* def = FindDef(each_, sub.terms[0].value);
    if (!def || (def->op != Op::Max && def->op != Op::Min) ||
        (def->guard.valid() && def->guard != guard))
      return std::nullopt;
    std::vector<Affine> parts;
    for (Value arg : def->args) {
      const auto form = forms_.FormOf(arg, guard);
      parts.push_back((form ? *form : Affine::Of(arg)) + Affine::Const(sub.constant));
    }
    return Parts{parts[0], parts[1], def->op == Op::Max};
  }

  const Each& each_;
  analysis::BodyForms forms_;
  const analysis::OuterValues& outer_;
  const ir::KnownExtents& known_;
  const Affine size_;
};

class Turner {
 public:
  explicit Turner(ir::Function& f) : f_(f), outer_(f), known_(ir::FindKnownExtents(f)) {}

  bool Run() {
    Find();
    bool changed = false;
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      if (!made_.contains(*it)) continue;
      for (size_t axis = 0; axis < MakerOf(*it).results[0].shape.size(); ++axis)
        changed |= Turn(*it, axis);
    }
    return changed;
  }

 private:
  struct Place {
    uint32_t block;
    size_t inst;
  };

  void Find() {
    std::set<Value> whole;  // and what blocks read elements of
    const auto use = [&](Value v) { whole.insert(v); };
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      for (size_t k = 0; k < f_.blocks[b].insts.size(); ++k) {
        const Inst& inst = f_.blocks[b].insts[k];
        if (!inst.each) {
          if (inst.op != Op::Dim) ir::ForEachOperand(inst, use);
          continue;
        }
        for (const EachResult& r : inst.each->results) {
          if (r.into.valid()) use(r.into);
        }
        for (const Inst& part : inst.each->body) {
          if (part.op == Op::Index) {
            std::vector<Place>& of = readers_[part.args[0]];
            if (of.empty() || of.back().block != b || of.back().inst != k) of.push_back({b, k});
          } else {
            ir::ForEachOperand(part, use);
          }
        }
        if (inst.results.size() != 1) continue;
        made_[inst.results[0]] = {b, k};
        order_.push_back(inst.results[0]);
      }
      ir::ForEachTermOperand(f_.blocks[b].term, use);
    }
    std::erase_if(made_, [&](const auto& m) {
      return whole.contains(m.first) || !readers_.contains(m.first);
    });
  }
  Each& EachAt(const Place& at) { return *f_.blocks[at.block].insts[at.inst].each; }
  Each& MakerOf(Value array) { return EachAt(made_.at(array)); }

  bool Turn(Value array, size_t axis) {
    Each& each = MakerOf(array);
    EachResult& r = each.results[0];
    const std::optional<size_t> index = PlaceOfIndex(each, r.out[axis].AsValue());
    const bool adds = r.monoid == ir::Monoid::kGen || r.monoid == ir::Monoid::kSum ||
                      r.monoid == ir::Monoid::kMax || r.monoid == ir::Monoid::kMin ||
                      ir::IsScan(r.monoid);
    if (!adds || !index || !ir::IsApartFor(r, *index) || r.into.valid() ||
        CountNaming(r, each.indices[*index].var) != 1 ||
        each.indices[*index].extent != r.shape[axis])
      return false;
    analysis::Box box;
    const Affine size = outer_.Describe(Affine::Of(r.shape[axis]), box);
    Way way = Way::kEither;
    for (const Place& at : readers_.at(array))
      way = Both(way, WayOf(EachAt(at), array, axis, size));
    if (way != Way::kBackwards) return false;
    for (const Place& at : readers_.at(array)) TurnReads(EachAt(at), array, axis, size);
    ir::IndexVar& v = each.indices[*index];
    const Value before = v.var;
    v.var = f_.NewLike(f_, before);
    SubstituteIndex(each, f_, before, size - Affine::Const(1) - Affine::Of(v.var));
    r.out[axis] = Affine::Of(v.var);
    return true;
  }

  // kUnknown, too, where a subscript may be out of range: its error names it.
  Way WayOf(const Each& each, Value array, size_t axis, const Affine& size) const {
    const Subscript subscript(each, f_, outer_, known_, size);
    Way way = Way::kEither;
    for (const Inst& inst : each.body) {
      if (inst.op != Op::Index || inst.args[0] != array) continue;
      way = Both(way, subscript.WayOf(inst.subs[axis], inst.guard));
      if (way == Way::kUnknown || !IsInRange(each, inst, axis, size, subscript))
        return Way::kUnknown;
    }
    return way;
  }
  bool IsInRange(const Each& each, const Inst& read, size_t axis, const Affine& size,
                 const Subscript& subscript) const {
    const auto round = subscript.RoundOf(read.subs[axis], read.guard);
    const Affine last = round ? round->last : size - Affine::Const(1);
    const auto cases = analysis::SubCasesOf(each, f_, subscript.forms(), outer_,
                                            round ? round->dividend : read.subs[axis], read.guard);
    if (!cases) return false;
    analysis::Box box = outer_.BoxOf(each);
    std::vector<ir::Constraint> known = ir::ConstraintsAt(each, read.guard);
    for (const ir::IndexVar& i : each.indices)  // where there is a point
      known.push_back({outer_.Describe(i.extent, box) - Affine::Const(1), false});
    return std::all_of(cases->begin(), cases->end(), [&](const analysis::SubCase& one) {
      std::vector<ir::Constraint> all = known;
      all.insert(all.end(), one.where.begin(), one.where.end());
      const auto holds = [&](const Affine& e) {
        analysis::Work work{kMostWork};
        return analysis::ProvesImplied(all, {e, false}, box, work);
      };
      return holds(one.form) && holds(last - one.form);
    });
  }
  void TurnReads(Each& each, Value array, size_t axis, const Affine& size) {
    std::vector<Inst> body;
    const Each before = each;
    const Subscript subscript(before, f_, outer_, known_, size);
    for (Inst& inst : each.body) {
      if (inst.op == Op::Index && inst.args[0] == array)
        inst.subs[axis] = subscript.FromEnd(inst.subs[axis], inst.guard, f_, body);
      body.push_back(std::move(inst));
    }
    each.body = std::move(body);
    PruneBody(each);
  }

  ir::Function& f_;
  const analysis::OuterValues outer_;
  const ir::KnownExtents known_;
  std::vector<Value> order_;
  std::map<Value, Place> made_;
  std::map<Value, std::vector<Place>> readers_;  // statements
};

}  // namespace

bool ReadForwards(ir::Function& f) { return Turner(f).Run(); }

}  // namespace pullback::tensor
