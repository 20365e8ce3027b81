#include "core/ad/pattern_steps.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/ad/sparse_pattern.h"

namespace pullback::ad {

using ir::Affine;
using ir::Inst;
using ir::Op;
using ir::Value;

namespace {

using Affines = std::vector<Affine>;
using Indices = std::map<Value, Affine>;

bool IsPointwise(const Inst& inst) { return ir::Info(inst.op).rule != ir::TypeRule::Own; }

class Steps {
 public:
  Steps(PatternIntegers& integers, const PatternWay& way) : all_(integers), way_(way) {}

  std::optional<std::vector<PatternRead>> Run(const Inst& inst, size_t k,
                                              const PatternPiece& piece) {
    OfInst(inst, k, piece);
    if (!ok_) return std::nullopt;
    return std::move(reads_);
  }

 private:
  void Reach(Value v, PatternPiece piece) {
    if (ok_ && way_.has(v)) reads_.push_back({v, std::move(piece)});
  }

  Affines PlaceIn(const PatternPiece& piece) const {
    return {piece.element.begin() + static_cast<ptrdiff_t>(way_.rank), piece.element.end()};
  }
  PatternPiece Moved(PatternPiece piece, const Affines& at) const {
    piece.element.resize(way_.rank);
    piece.element.insert(piece.element.end(), at.begin(), at.end());
    return piece;
  }

  // --- instructions outside of statements
  void OfInst(const Inst& inst, size_t k, const PatternPiece& piece) {
    if (inst.each) return StatementStep(inst, k, piece);
    const Affines at = PlaceIn(piece);
    switch (inst.op) {
      case Op::Zeros:
      case Op::StopGradient: return;
      case Op::Fit: return FitStep(inst, piece);
      case Op::AddArrays: Reach(inst.args[0], piece); return Reach(inst.args[1], piece);
      case Op::Update:
      case Op::AddAt: Reach(inst.args[0], piece); return ElementStep(inst, piece);
      case Op::Index: {
        const std::optional<Affines> from = Outside(inst.subs);
        ok_ = from.has_value();
        if (ok_) Reach(inst.args[0], Moved(piece, *from));
        return;
      }
      default: break;
    }
    ok_ = IsPointwise(inst) && all_.function().TypeOf(inst.results[k]).IsScalar();
    for (Value v : inst.args) {
      if (ok_ && all_.function().TypeOf(v).IsFloat()) Reach(v, piece);
    }
  }

  std::optional<Affines> Outside(ir::AffineSpan subs) {
    static const ir::Each kNone;
    PatternPlace place(all_, kNone, {});
    Affines all;
    for (const Affine& e : subs) {
      std::optional<Affine> form = place.Form(e);
      if (!form) return std::nullopt;
      all.push_back(std::move(*form));
    }
    return all;
  }

  // Zeros of another shape may stand for the array.
  void FitStep(const Inst& inst, PatternPiece piece) {
    const std::optional<Affines> extents = PatternExtents(all_, inst.args[0]);
    ok_ = extents.has_value();
    for (size_t axis = 0; ok_ && axis < extents->size(); ++axis)
      Below(piece, piece.element[way_.rank + axis], (*extents)[axis]);
    if (ok_) Reach(inst.args[0], std::move(piece));
  }

  void ElementStep(const Inst& inst, PatternPiece piece) {
    const std::optional<Affines> to = Outside(inst.subs);
    ok_ = ok_ && to.has_value();
    if (!ok_) return;
    for (size_t axis = 0; axis < to->size(); ++axis)
      piece.where.push_back({piece.element[way_.rank + axis] - (*to)[axis], true});
    Reach(inst.args[1], Moved(std::move(piece), {}));
  }

  static void Below(PatternPiece& piece, const Affine& e, const Affine& extent) {
    piece.where.push_back({extent - e - Affine::Const(1), false});
  }

  // --- statements

  void StatementStep(const Inst& inst, size_t k, const PatternPiece& piece) {
    const ir::EachResult& r = inst.each->results[k];
    const bool scan = ir::IsScan(r.monoid);
    PatternStep step =
        scan ? ScanTerms(all_.function(), inst, k) : ad::StatementStep(all_.function(), inst, k);
    if (r.into.valid()) Reach(r.into, piece);
    std::reverse(step.reads.begin(), step.reads.end());  // as they are written
    for (const PatternAccess& read : step.reads) {
      if (!ok_ || !way_.has(read.source)) continue;
      PatternPiece at = piece;
      Indices indices;
      const std::vector<Value> guards = scan ? std::vector<Value>{r.guard} : read.guards;
      ok_ = Enter(*inst.each, r, guards, at, indices);
      if (!ok_) return;
      for (const PatternPiece& where : Restricted(*inst.each, guards, indices, at)) {
        if (scan) {
          InFront(*inst.each, r.outer, read, where, indices);
        } else {
          Follow(*inst.each, read, where, indices);
        }
      }
    }
  }

  // The points that make the element; false where its subscripts have no form.
  bool Enter(const ir::Each& each, const ir::EachResult& r, const std::vector<Value>& guards,
             PatternPiece& piece, Indices& indices) {
    Affines shape;
    for (Value size : r.shape) {
      const std::optional<Affine> extent = all_.Form(size);
      if (!extent) return false;
      shape.push_back(*extent);
    }
    std::vector<bool> done(r.out.size());
    for (const ir::IndexVar& i : each.indices) {
      const std::optional<Affine> extent = all_.Form(i.extent);
      if (!extent) return false;
      const auto axis = std::find(r.out.begin(), r.out.end(), Affine::Of(i.var)) - r.out.begin();
      const auto k = static_cast<size_t>(axis);
      if (k == r.out.size()) {
        AddPoint(i.var, *extent, piece, indices);
        continue;
      }
      done[k] = true;
      indices[i.var] = piece.element[way_.rank + k];
      if (*extent != shape[k]) Below(piece, piece.element[way_.rank + k], *extent);
    }
    return Unify(each, r, guards, shape, done, piece, indices);
  }

  void AddPoint(Value var, const Affine& extent, PatternPiece& piece, Indices& indices) {
    const PatternPoint point = all_.NewPoint(var, extent);
    piece.points.push_back(point);
    indices[var] = Affine::Of(point.var);
  }

  // Axes whose subscript is no index. What is stored is in range.
  bool Unify(const ir::Each& each, const ir::EachResult& r, const std::vector<Value>& guards,
             const Affines& shape, const std::vector<bool>& done, PatternPiece& piece,
             Indices& indices) {
    for (size_t k = 0; k < r.out.size(); ++k) {
      if (done[k]) continue;
      PatternPlace place(all_, each, indices);
      for (Value guard : guards) place.Assume(guard);
      const std::optional<Affine> to = place.Form(r.out[k]);
      if (!to) return false;
      const Affine at = piece.element[way_.rank + k];
      const auto point = std::find_if(piece.points.begin(), piece.points.end(), [&](const auto& p) {
        return at == Affine::Of(p.var) && p.extent == shape[k] && !all_.Mentions(*to, p.var);
      });
      if (point == piece.points.end()) {
        piece.where.push_back({at - *to, true});
        continue;
      }
      const Value var = point->var;
      SubstitutePoint(all_, piece, var, *to);
      for (auto& [index, form] : indices) form = all_.Substitute(form, var, *to);
    }
    return true;
  }

  // By the statement's predicate and the guards, case by case.
  std::vector<PatternPiece> Restricted(const ir::Each& each, const std::vector<Value>& guards,
                                       const Indices& indices, const PatternPiece& piece) {
    PatternPlace place(all_, each, indices);
    PatternConditions all = place.Where(each.where);
    for (Value guard : guards) {
      place.Assume(guard);
      if (guard.valid()) all = BothOf(all, place.Where(guard));
    }
    std::vector<PatternPiece> cases;
    for (PatternCondition& c : all) {
      PatternPiece& with = cases.emplace_back(piece);
      with.points.insert(with.points.end(), c.points.begin(), c.points.end());
      with.where.insert(with.where.end(), c.where.begin(), c.where.end());
    }
    return cases;
  }

  void Follow(const ir::Each& each, const PatternAccess& read, const PatternPiece& piece,
              const Indices& indices) {
    PatternPlace place(all_, each, indices);
    for (Value guard : read.guards) place.Assume(guard);
    Affines from;
    for (const Affine& e : read.at) {
      const std::optional<Affine> form = place.Form(e);
      ok_ = ok_ && form.has_value();
      if (!ok_) return;
      from.push_back(*form);
    }
    Reach(read.source, Moved(piece, from));
  }

  // A state has the terms of the points in front of it, in the order of the scan's indices.
  void InFront(const ir::Each& each, uint32_t outer, const PatternAccess& read,
               const PatternPiece& state, const Indices& indices) {
    for (size_t before = outer; ok_ && before < each.indices.size(); ++before) {
      PatternPiece piece = state;
      Indices in_front;
      for (size_t k = 0; k < each.indices.size(); ++k) {
        const ir::IndexVar& i = each.indices[k];
        if (k < before) {
          in_front[i.var] = indices.at(i.var);
          continue;
        }
        AddPoint(i.var, *all_.Form(i.extent), piece, in_front);
        if (k == before) Below(piece, in_front[i.var], indices.at(i.var));
      }
      for (const PatternPiece& where : Restricted(each, read.guards, in_front, piece))
        Follow(each, read, where, in_front);
    }
  }

  PatternIntegers& all_;
  const PatternWay& way_;
  std::vector<PatternRead> reads_;
  bool ok_ = true;
};

}  // namespace

std::optional<std::vector<PatternRead>> PatternReads(PatternIntegers& integers,
                                                     const PatternWay& way, const Inst& inst,
                                                     size_t k, const PatternPiece& piece) {
  return Steps(integers, way).Run(inst, k, piece);
}

std::optional<Affines> PatternExtents(PatternIntegers& integers, Value v) {
  Affines extents;
  for (size_t axis = 0; axis < integers.function().TypeOf(v).rank; ++axis) {
    std::optional<Affine> extent = integers.Extent(v, axis);
    if (!extent) return std::nullopt;
    extents.push_back(std::move(*extent));
  }
  return extents;
}

}  // namespace pullback::ad
