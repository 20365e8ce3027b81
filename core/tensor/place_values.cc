// What a statement stores at a place of an axis that is known outside is an array without that axis. The rest, which
// puts it there, costs nothing and becomes part of what reads the array (core/opt/fuse.h), which then runs over that place
// alone: behind an extremum, the cotangents of its candidates.
//
//   %a = each(j < %m) where (0 <= %k and %k < %n) { … } gen [%k, %j] of (%n, %m): …
//
//   %v = each(j < %m) where (0 <= %k and %k < %n) { … } gen [%j] of (%m): …
//   %a = each(j < %m) where (0 <= %k and %k < %n) { %u = index %v[%j] } gen [%k, %j] of (%n, %m): %u
#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/tensor/narrow_arrays.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::EachResult;
using ir::Inst;
using ir::Monoid;
using ir::Op;
using ir::Value;

bool IsOutside(const ir::Each& each, const Affine& a) {
  return std::none_of(a.terms.begin(), a.terms.end(), [&](const Affine::Term& t) {
    return PlaceOfIndex(each, t.value) || FindDef(each, t.value);
  });
}

// Whether elements that no point reaches are 0.
bool LeavesZeros(Monoid m) { return m == Monoid::kGen || m == Monoid::kSum || ir::IsScan(m); }

// Whether the statement does more than to put there what it reads.
bool IsComputed(const ir::Each& each, const EachResult& r) {
  if (r.monoid != Monoid::kGen || each.results.size() > 1 || each.body.size() > 1) return true;
  const Inst* def = FindDef(each, r.value);
  return def && def->op != Op::Const && def->op != Op::Index;
}

std::optional<size_t> AxisWithPlace(const ir::Each& each, const EachResult& r) {
  if (!LeavesZeros(r.monoid) || r.into.valid() || !IsComputed(each, r)) return std::nullopt;
  for (size_t k = 0; k < r.out.size(); ++k) {
    if (IsOutside(each, r.out[k]) && IsWithin(each, ir::kNoValue, r.out[k], r.shape[k])) return k;
  }
  return std::nullopt;
}

bool StoresAtPlace(const Inst& inst) {
  return inst.each &&
         std::any_of(inst.each->results.begin(), inst.each->results.end(),
                     [&](const EachResult& r) { return AxisWithPlace(*inst.each, r).has_value(); });
}

// Arrays that are read otherwise than by `index` in bodies.
std::set<Value> NeededWhole(const ir::Function& f) {
  std::set<Value> whole;
  const auto note = [&](const Value& v) {
    if (f.TypeOf(v).IsArray()) whole.insert(v);
  };
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      if (!inst.each) {
        ir::ForEachOperand(inst, note);
        continue;
      }
      for (const EachResult& r : inst.each->results) {
        if (r.into.valid()) whole.insert(r.into);
      }
      for (const Inst& body : inst.each->body) {
        if (body.op != Op::Index) ir::ForEachOperand(body, note);
      }
    }
    ir::ForEachTermOperand(b.term, note);
  }
  return whole;
}

// Result k of `inst` loses the axis; gives what puts it in its place, under the name that it had.
Inst Split(Inst& inst, size_t k, size_t axis, ir::Function& f) {
  EachResult& r = inst.each->results[k];
  const Value array = inst.results[k];
  const ir::Type t = f.TypeOf(array);
  const Value values = f.NewValue(t.rank == 1 ? t.Element() : ir::Type::Array(t.elem, t.rank - 1),
                                  f.names[array.id]);

  Inst put;
  put.op = Op::Each;
  put.loc = inst.loc;
  put.results = {array};
  put.each = std::make_unique<ir::Each>();
  EachResult placed;
  placed.loc = r.loc;
  placed.out = r.out;
  placed.shape = r.shape;
  ir::Affines subs;
  for (size_t other = 0; other < r.out.size(); ++other) {
    if (other == axis) continue;
    const Value index = f.NewValue(ir::Type::I64());
    put.each->indices.push_back({index, r.shape[other]});
    placed.out[other] = Affine::Of(index);
    subs.push_back(placed.out[other]);
  }
  placed.value = values;
  if (!subs.empty()) {
    Inst read;
    read.op = Op::Index;
    read.args = {values};
    read.subs = ir::AffineSpan(subs);
    read.results = {f.NewValue(t.Element())};
    placed.value = read.results[0];
    put.each->body.push_back(std::move(read));
  }
  AddRange(*put.each, r.out[axis], r.shape[axis]);
  put.each->results.push_back(std::move(placed));

  Erase(r.out, axis);
  Erase(r.shape, axis);
  inst.results[k] = values;
  return put;
}

}  // namespace

bool PlaceValues(ir::Function& f) {
  bool changed = false;
  std::optional<std::set<Value>> whole;
  for (ir::Block& b : f.blocks) {
    if (std::none_of(b.insts.begin(), b.insts.end(), StoresAtPlace)) continue;
    if (!whole) whole = NeededWhole(f);
    std::vector<Inst> out;
    for (Inst& inst : b.insts) {
      std::vector<Inst> put;
      for (size_t k = 0; inst.each && k < inst.results.size(); ++k) {
        const std::optional<size_t> axis = AxisWithPlace(*inst.each, inst.each->results[k]);
        if (axis && !whole->contains(inst.results[k])) put.push_back(Split(inst, k, *axis, f));
      }
      changed |= !put.empty();
      out.push_back(std::move(inst));
      std::move(put.begin(), put.end(), std::back_inserter(out));
    }
    b.insts = std::move(out);
  }
  return changed;
}

}  // namespace pullback::tensor
