#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "core/analysis/eliminate.h"
#include "core/analysis/outer_values.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Value;

class Pins {
 public:
  Pins(ir::Each& each, ir::Function& f, const analysis::OuterValues& outer, const MayPin& may)
      : each_(each), f_(f), outer_(outer), may_(may), first_(FirstFree(each)) {}

  void Run() {
    while (PinOne() || StepOne()) {
    }
  }
  // Of indices that are gone, those that may be negative, which nothing else of the statement asks for.
  std::vector<Value> LostExtents() const;

 private:
  static size_t FirstFree(const ir::Each& each);
  bool PinOne();
  bool MayGo(size_t index, const Affine& e) const;
  bool StepOne();
  std::optional<size_t> FreeIndexOf(const Affine& e, bool last) const;
  void StepAlong(size_t i, size_t j, const analysis::Line& line);
  void Erase(size_t index) {
    for (ir::EachResult& r : each_.results) r.outer -= ir::IsScan(r.monoid) && index < r.outer;
    gone_.push_back(each_.indices[index].extent);
    each_.indices.erase(each_.indices.begin() + static_cast<long>(index));
  }

  ir::Each& each_;
  ir::Function& f_;
  const analysis::OuterValues& outer_;
  const MayPin& may_;
  const size_t first_;  // indices from here on may go
  std::vector<Value> gone_;
};

// Sums may change their form. Prod, max and min stay in prefix form, to be reduced in lanes: what they keep
// is left alone. Offsets and scans speak of the box itself.
size_t Pins::FirstFree(const ir::Each& each) {
  size_t first = 0;
  for (const ir::EachResult& r : each.results) {
    if (r.monoid == ir::Monoid::kGen || r.monoid == ir::Monoid::kSum) continue;
    const bool fixed = ir::IsArg(r.monoid) || ir::IsScan(r.monoid);
    first = std::max(first, fixed ? each.indices.size() : r.out.size());
  }
  return first;
}

// The outer index of a scan does, where it is known outside: one run is left.
bool Pins::MayGo(size_t index, const Affine& e) const {
  if (index >= first_) return true;
  const bool outside = std::all_of(e.terms.begin(), e.terms.end(), [&](const Affine::Term& t) {
    return t.value == each_.indices[index].var || !PlaceOfIndex(each_, t.value);
  });
  return outside &&
         std::all_of(each_.results.begin(), each_.results.end(), [&](const ir::EachResult& r) {
           if (ir::IsScan(r.monoid)) return index < r.outer;
           return r.monoid == ir::Monoid::kGen || r.monoid == ir::Monoid::kSum;
         });
}

// An equality with a unit coefficient: the last index that one can be solved for goes.
bool Pins::PinOne() {
  for (size_t c = 0; c < each_.where.size(); ++c) {
    if (!each_.where[c].equality) continue;
    for (size_t i = each_.indices.size(); i-- > 0;) {
      const ir::IndexVar index = each_.indices[i];
      const int64_t coeff = each_.where[c].e.Coeff(index.var);
      if ((coeff != 1 && coeff != -1) || !MayGo(i, each_.where[c].e)) continue;
      if (may_ && !may_()) return false;
      const Affine e = SolveFor(each_.where[c].e, index.var);
      each_.where.erase(each_.where.begin() + static_cast<long>(c));
      Erase(i);
      SubstituteIndex(each_, f_, index.var, e);
      AddRange(each_, e, index.extent);
      return true;
    }
  }
  return false;
}

std::optional<size_t> Pins::FreeIndexOf(const Affine& e, bool last) const {
  std::optional<size_t> found;
  for (size_t i = first_; i < each_.indices.size(); ++i) {
    if (e.Coeff(each_.indices[i].var) != 0 && (last || !found)) found = i;
  }
  return found;
}

// a * i + b * j + c = 0: i steps, and j goes with it.
bool Pins::StepOne() {
  for (size_t c = 0; c < each_.where.size(); ++c) {
    ir::Constraint zero = each_.where[c];
    if (!zero.equality || zero.e.terms.size() != 2) continue;
    const auto i = FreeIndexOf(zero.e, /*last=*/false), j = FreeIndexOf(zero.e, /*last=*/true);
    if (!i || i == j || !outer_.BoxOf(each_).IsTame(zero.e)) continue;
    if (analysis::LowestTerms(zero) == analysis::Truth::kFalse)
      continue;  // SimplifyPredicates sees to it
    const auto line = analysis::SolveLine(zero.e, each_.indices[*i].var, each_.indices[*j].var);
    if (!line || line->step == 1) continue;
    if (may_ && !may_()) return false;
    each_.where.erase(each_.where.begin() + static_cast<long>(c));
    StepAlong(*i, *j, *line);
    return true;
  }
  return false;
}

// t takes i's place and extent: t <= i.
void Pins::StepAlong(size_t i, size_t j, const analysis::Line& line) {
  const ir::IndexVar stepped = each_.indices[i], solved = each_.indices[j];
  const Value t = f_.NewValue(ir::Type::I64(), f_.names[stepped.var.id]);
  each_.indices[i].var = t;
  Erase(j);
  const auto along = [&](const ir::IndexVar& index, int64_t start, int64_t slope) {
    const Affine e = Affine::Of(t) * slope + Affine::Const(start);
    SubstituteIndex(each_, f_, index.var, e);
    AddRange(each_, e, index.extent);
  };
  along(stepped, line.first, line.step);
  along(solved, line.start, line.slope);
}

std::vector<Value> Pins::LostExtents() const {
  const auto is_asked = [&](Value extent) {
    return std::any_of(each_.indices.begin(), each_.indices.end(),
                       [&](const ir::IndexVar& i) { return i.extent == extent; }) ||
           std::any_of(each_.results.begin(), each_.results.end(), [&](const ir::EachResult& r) {
             return std::find(r.shape.begin(), r.shape.end(), extent) != r.shape.end();
           });
  };
  std::vector<Value> lost;
  std::copy_if(gone_.begin(), gone_.end(), std::back_inserter(lost),
               [&](Value extent) { return !is_asked(extent) && outer_.MayBeNegative(extent); });
  return lost;
}

}  // namespace

void EliminatePinnedIndices(ir::Function& f, const MayPin& may_pin) {
  const analysis::OuterValues outer(f);
  for (ir::Block& b : f.blocks) {
    std::vector<ir::Inst> out;
    for (ir::Inst& inst : b.insts) {
      if (inst.each) {
        Pins pins(*inst.each, f, outer, may_pin);
        pins.Run();
        for (Value extent : pins.LostExtents()) CheckSize(extent, inst.loc, f, out);
      }
      out.push_back(std::move(inst));
    }
    b.insts = std::move(out);
  }
}

}  // namespace pullback::tensor
