#include "core/tensor/mirror_scans.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/tensor/made_arrays.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/turns.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

constexpr size_t kMostAlone = 8;  // scans that are tried one by one

bool HasScan(const Inst& inst) {
  return inst.each && std::any_of(inst.each->results.begin(), inst.each->results.end(),
                                  [](const EachResult& r) { return ir::IsScan(r.monoid); });
}

class BlockMirror {
 public:
  BlockMirror(ir::Function& f, const std::vector<Inst>& insts, MadeArrays arrays)
      : f_(f), insts_(insts), arrays_(std::move(arrays)) {}

  std::optional<std::vector<Inst>> Run(const MirrorWay& way) {
    if (!way.in_front)
      std::erase_if(arrays_, [&](const auto& a) { return a.second.maker < *way.scans.begin(); });
    for (size_t at : way.scans) {
      for (size_t k = 0; k < insts_[at].results.size(); ++k) Visit(at, k);
    }
    if (axes_.empty() && flipped_.empty()) return std::nullopt;
    std::vector<Inst> made = insts_;
    for (const auto& [at, indices] : flipped_) {
      for (const Value v : indices) FlipIndex(*made[at].each, v);
    }
    for (Inst& inst : made) {
      if (inst.each) FlipAxes(inst);
    }
    return made;
  }

 private:
  void Visit(size_t at, size_t k) {
    const Each& each = *insts_[at].each;
    const auto scanned = ir::ScannedIndex(each, each.results[k]);
    if (!scanned) return;
    const ir::IndexVar& v = each.indices[*scanned];
    const Affine forwards = Affine::Of(v.var), backwards = Mirrored(forwards, v.extent);
    const auto flip_mirrored = [&](Value of, ir::AffineSpan subs) {
      for (size_t axis = 0; axis < subs.size(); ++axis) {
        if (subs[axis] == backwards) FlipArray(of, axis);
      }
    };
    flip_mirrored(insts_[at].results[k], each.results[k].out);
    ForEachRead(each, flip_mirrored);
    for (size_t axis = 0; axis < each.results[k].out.size(); ++axis) {
      if (each.results[k].out[axis] == forwards) FlipReaders(insts_[at].results[k], axis);
    }
  }
  // Those that read from the end what a scan makes forwards.
  void FlipReaders(Value v, size_t axis) {
    const auto it = arrays_.find(v);
    if (it == arrays_.end()) return;
    const Value extent = ResultOf(insts_, it->second).shape[axis];
    for (size_t at : it->second.readers) {
      ForEachRead(*insts_[at].each, [&](Value of, ir::AffineSpan subs) {
        if (of == v) FlipAlong(at, Mirrored(subs[axis], extent), extent);
      });
    }
  }
  // An axis of an array, from now on, and the statements that run along it.
  void FlipArray(Value v, size_t axis) {
    const auto it = arrays_.find(v);
    if (it == arrays_.end() || axes_.contains(v) || StaysAsItIs(it->second, axis)) return;
    axes_.emplace(v, axis);
    const MadeArray& array = it->second;
    const EachResult& made = ResultOf(insts_, array);
    const Value extent = made.shape[axis];
    FlipAlong(array.maker, made.out[axis], extent);
    for (size_t at : array.readers) {
      ForEachRead(*insts_[at].each, [&](Value of, ir::AffineSpan subs) {
        if (of == v) FlipAlong(at, subs[axis], extent);
      });
    }
  }
  // Places of extrema and products have their statement's order of elements as well.
  static bool KeepsOrder(const EachResult& r) {
    return ir::IsArg(r.monoid) || r.monoid == ir::Monoid::kProd;
  }
  // What a scan makes forwards along the axis does, too.
  bool StaysAsItIs(const MadeArray& array, size_t axis) const {
    const Each& each = *insts_[array.maker].each;
    const EachResult& r = ResultOf(insts_, array);
    if (KeepsOrder(r)) return true;
    const auto scanned = ir::ScannedIndex(each, r);
    return ir::IsScan(r.monoid) &&
           (!scanned || r.out[axis] == Affine::Of(each.indices[*scanned].var));
  }
  void FlipAlong(size_t at, const Affine& sub, Value extent) {
    const Each& each = *insts_[at].each;
    const auto place = PlaceOfIndex(each, sub.AsValue());
    if (!place || each.indices[*place].extent != extent || !MayFlip(each, *place)) return;
    if (!flipped_[at].insert(sub.AsValue()).second) return;
    const auto flip_axes = [&](Value v, ir::AffineSpan subs) {
      for (size_t axis = 0; axis < subs.size(); ++axis) {
        if (subs[axis].AsValue() == sub.AsValue()) FlipArray(v, axis);
      }
    };
    for (size_t k = 0; k < each.results.size(); ++k)
      flip_axes(insts_[at].results[k], each.results[k].out);
    ForEachRead(each, flip_axes);
  }
  static bool MayFlip(const Each& each, size_t place) {
    return std::all_of(each.results.begin(), each.results.end(), [&](const EachResult& r) {
      if (r.into.valid() || KeepsOrder(r)) return false;
      return !ir::IsScan(r.monoid) || place < r.outer || place >= each.indices.size() - r.inner;
    });
  }

  void FlipIndex(Each& each, Value v) {
    ir::IndexVar& index = each.indices[*PlaceOfIndex(each, v)];
    index.var = f_.NewLike(f_, v);
    SubstituteIndex(each, f_, v, Mirrored(Affine::Of(index.var), index.extent));
  }
  void FlipAxes(Inst& inst) {
    Each& each = *inst.each;
    for (size_t k = 0; k < inst.results.size(); ++k) {
      const auto it = axes_.find(inst.results[k]);
      if (it == axes_.end()) continue;
      Affine& sub = each.results[k].out[it->second];
      sub = Mirrored(sub, each.results[k].shape[it->second]);
    }
    for (Inst& read : each.body) {
      const auto it = read.op == Op::Index ? axes_.find(read.args[0]) : axes_.end();
      if (it == axes_.end()) continue;
      Affine& sub = read.subs[it->second];
      sub = Mirrored(sub, ResultOf(insts_, arrays_.at(it->first)).shape[it->second]);
    }
  }

  ir::Function& f_;
  const std::vector<Inst>& insts_;
  MadeArrays arrays_;
  std::map<Value, size_t> axes_;               // of arrays that count from the end
  std::map<size_t, std::set<Value>> flipped_;  // by statement: indices that do
};

MadeArrays FindLarge(const std::vector<Inst>& insts, const ir::OwnArrays& own,
                     const std::vector<bool>& elsewhere, size_t depth) {
  return FindMadeArrays(insts, elsewhere, [&](Value, const EachResult& r) {
    return r.shape.size() > depth + 1 && !own.IsNoLarger(ir::ValueSpan(r.shape).subspan(depth));
  });
}

}  // namespace

std::vector<MirrorWay> MirrorWays(const std::vector<Inst>& insts) {
  std::set<size_t> scans;
  for (size_t at = 0; at < insts.size(); ++at) {
    if (HasScan(insts[at])) scans.insert(at);
  }
  if (scans.empty()) return {};
  std::vector<MirrorWay> ways = {{.scans = scans}};
  for (size_t at : scans) {
    if (ways.size() > 2 * kMostAlone) break;
    for (const bool in_front : {false, true}) ways.push_back({.scans = {at}, .in_front = in_front});
  }
  ways.push_back({.scans = scans, .small = true});
  return ways;
}

std::optional<std::vector<Inst>> MirrorScans(ir::Function& f, const std::vector<Inst>& insts,
                                             const ir::OwnArrays& own,
                                             const std::vector<bool>& elsewhere,
                                             const MirrorWay& way) {
  const auto any = [](Value, const EachResult& r) { return !r.shape.empty(); };
  MadeArrays arrays =
      way.small ? FindMadeArrays(insts, elsewhere, any) : FindLarge(insts, own, elsewhere, 0);
  return BlockMirror(f, insts, std::move(arrays)).Run(way);
}

size_t CountKept(const std::vector<Inst>& insts, const ir::OwnArrays& own,
                 const std::vector<bool>& elsewhere, size_t depth) {
  MadeArrays arrays = FindLarge(insts, own, elsewhere, depth);
  const auto is_by_turns = [&](size_t loop) {
    return [&, loop, turns = Turns(insts, 0, insts.size() - 1, {}, loop)](const auto& a) {
      return IsByTurns(insts, a.first, a.second, turns, loop);
    };
  };
  for (size_t loop = 0; loop < depth && !arrays.empty(); ++loop)
    std::erase_if(arrays, std::not_fn(is_by_turns(loop)));
  if (arrays.empty()) return 0;
  return arrays.size() -
         static_cast<size_t>(std::count_if(arrays.begin(), arrays.end(), is_by_turns(depth)));
}

}  // namespace pullback::tensor
