// What is added at places that data say, to be added on from there at places that data say, is added there at once:
//
//   s = each(i, c) { p = index place[i, c] … } sum [i, p, a] of (n, k, d): v if 0 <= p < k
//   z = each(i, j, a) { m = index nb[i, j]; u = index s[i, j, a] } sum [m, a] of (n, d): u
//
//   z = each(i, c) { p = index place[i, c] … m = index nb[i, p] if 0 <= p < k } sum [m, a] of (n, d): v if 0 <= p < k
//
// as the cotangents of neighbours of which each element of an extremum chose one. The array in between may be larger than any of the
// function's own, and most of it is 0. A place of `nb` that nothing is sent to is read no more; so only where another statement
// of the block reads an array as long as z at each m.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/ir/axis_extents.h"
#include "core/tensor/array_reads.h"
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

bool IsIndex(const Each& each, const Affine& sub) {
  return PlaceOfIndex(each, sub.AsValue()).has_value();
}

class Sender {
 public:
  explicit Sender(ir::Function& f) : f_(f), extents_(f), reads_(f) {}

  bool Run() {
    bool changed = false;
    for (ir::Block& b : f_.blocks) {
      std::map<Value, const Inst*> makers;
      for (Inst& inst : b.insts) {
        if (!inst.each || inst.results.size() != 1) continue;
        if (const Inst* read = SentOn(*inst.each)) {
          const auto maker = makers.find(read->args[0]);
          if (maker != makers.end() && MaySend(*maker->second->each, *inst.each, *read, b)) {
            inst.each = Send(*maker->second, *inst.each, *read);
            changed = true;
          }
        }
        makers[inst.results[0]] = &inst;
      }
    }
    return changed;
  }

 private:
  // Of a statement that adds each element of an array elsewhere, and does nothing else, the read of the element; null: it
  // is another one.
  const Inst* SentOn(const Each& each) const {
    const EachResult& r = each.results[0];
    if (r.monoid != ir::Monoid::kSum || r.into.valid() || r.guard.valid() || !StoresByData(each, r))
      return nullptr;
    const Inst* read = FindDef(each, r.value);
    if (!read || read->op != Op::Index || read->guard.valid() ||
        read->subs.size() != each.indices.size() || !reads_.OnlyByStatements(read->args[0]) ||
        reads_.Of(read->args[0]).size() != 1)
      return nullptr;
    for (const ir::IndexVar& i : each.indices) {
      if (std::count(read->subs.begin(), read->subs.end(), Affine::Of(i.var)) != 1) return nullptr;
    }
    const auto is_place = [&](const Inst& inst) {
      return &inst == read || (inst.op == Op::Index && !inst.guard.valid() &&
                               std::all_of(inst.subs.begin(), inst.subs.end(),
                                           [&](const Affine& a) { return IsIndex(each, a); }));
    };
    const auto names_index = [&](const ir::Constraint& c) {
      return std::any_of(c.e.terms.begin(), c.e.terms.end(), [&](const Affine::Term& t) {
        return PlaceOfIndex(each, t.value).has_value();
      });
    };
    const bool plain = std::all_of(each.body.begin(), each.body.end(), is_place) &&
                       std::none_of(each.where.begin(), each.where.end(), names_index);
    return plain ? read : nullptr;
  }

  bool MaySend(const Each& from, const Each& on, const Inst& read, const ir::Block& block) const {
    const EachResult& r = from.results[0];
    if (r.into.valid() || (r.monoid != ir::Monoid::kSum && r.monoid != ir::Monoid::kGen))
      return false;
    if (!StoresByData(from, r)) return false;
    for (size_t k = 0; k < r.out.size(); ++k) {
      const std::optional<size_t> i = PlaceOfIndex(from, r.out[k].AsValue());
      const bool whole = i && from.indices[*i].extent == r.shape[k];
      if (!whole && !IsWithin(from, r.guard, r.out[k], r.shape[k])) return false;
      const std::optional<size_t> j = PlaceOfIndex(on, read.subs[k].AsValue());
      if (on.indices[*j].extent != r.shape[k]) return false;
    }
    const EachResult& to = on.results[0];
    for (size_t k = 0; k < to.out.size(); ++k) {
      const std::optional<size_t> i = PlaceOfIndex(on, to.out[k].AsValue());
      if (i && on.indices[*i].extent == to.shape[k]) continue;
      const Inst* place = FindDef(on, to.out[k].AsValue());
      if (!place || !IsReadElsewhere(on, *place, to.shape[k], block)) return false;
    }
    return true;
  }

  // Whether another statement reads an array as long as `extent` at what `place` reads, at every point of it.
  bool IsReadElsewhere(const Each& on, const Inst& place, Value extent,
                       const ir::Block& block) const {
    return std::any_of(block.insts.begin(), block.insts.end(), [&](const Inst& inst) {
      return inst.each && inst.each.get() != &on && inst.each->where.empty() &&
             ReadsAt(*inst.each, on, place, extent);
    });
  }
  bool ReadsAt(const Each& each, const Each& on, const Inst& place, Value extent) const {
    for (const Inst& read : each.body) {
      if (read.op != Op::Index || read.guard.valid()) continue;
      for (size_t k = 0; k < read.subs.size(); ++k) {
        const Inst* at = FindDef(each, read.subs[k].AsValue());
        if (at && at->op == Op::Index && extents_.AreEqual(extents_.Of(read.args[0], k), extent) &&
            IsSamePlace(each, *at, on, place))
          return true;
      }
    }
    return false;
  }
  // At every point of `on`, and at no more places.
  static bool IsSamePlace(const Each& each, const Inst& at, const Each& on, const Inst& place) {
    if (at.args != place.args || at.guard.valid()) return false;
    std::vector<char> met(each.indices.size());
    for (size_t k = 0; k < at.subs.size(); ++k) {
      const std::optional<size_t> i = PlaceOfIndex(each, at.subs[k].AsValue());
      const std::optional<size_t> j = PlaceOfIndex(on, place.subs[k].AsValue());
      if (!i || !j || met[*i] != 0 || each.indices[*i].extent != on.indices[*j].extent)
        return false;
      met[*i] = 1;
    }
    const auto is_met = [&](const ir::IndexVar& i) {
      const ir::Constraint some{Affine::Of(i.extent) - Affine::Const(1), false};
      return std::any_of(on.indices.begin(), on.indices.end(),
                         [&](const ir::IndexVar& j) { return j.extent == i.extent; }) ||
             std::find(on.where.begin(), on.where.end(), some) != on.where.end();
    };
    for (size_t k = 0; k < met.size(); ++k) {
      if (met[k] == 0 && !is_met(each.indices[k])) return false;
    }
    return true;
  }

  std::unique_ptr<Each> Send(const Inst& maker, const Each& on, const Inst& read) {
    std::unique_ptr<Each> each = std::move(CopyStatement(maker, f_).inst.each);
    EachResult& r = each->results[0];
    std::unordered_map<uint32_t, Value> places;
    const auto moved = [&](Affine a) {
      for (size_t k = 0; k < read.subs.size(); ++k)
        a = a.Substitute(read.subs[k].AsValue(), r.out[k]);
      return a;
    };
    for (const Inst& inst : on.body) {
      if (&inst == &read) continue;
      Inst place = inst;
      for (Affine& sub : place.subs) sub = moved(sub);
      place.guard = r.guard;
      place.results = {f_.NewLike(f_, inst.results[0])};
      places[inst.results[0].id] = place.results[0];
      each->body.push_back(std::move(place));
    }
    ir::Affines out;
    for (const Affine& sub : on.results[0].out) {
      const auto place = places.find(sub.AsValue().id);
      out.push_back(place == places.end() ? moved(sub) : Affine::Of(place->second));
    }
    r.monoid = ir::Monoid::kSum;
    r.out = std::move(out);
    r.shape = on.results[0].shape;
    r.loc = on.results[0].loc;
    each->where.insert(each->where.end(), on.where.begin(), on.where.end());
    return each;
  }

  ir::Function& f_;
  const ir::AxisExtents extents_;
  const ArrayReads reads_;
};

}  // namespace

bool SendSums(ir::Function& f) { return Sender(f).Run(); }

}  // namespace pullback::tensor
