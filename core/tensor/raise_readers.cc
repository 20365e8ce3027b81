// What is smaller than an array that it reads is made beside that array, where all that it reads is there: behind control flow,
// in another block, the array would have to be kept for it. In gradients the places of extrema.
//
//   b0: a = each(i, j) { … } gen [i, j]                b0: a = each(i, j) { … } gen [i, j]
//       s = each(i, j) { a[i, j] } max [i]                 s = each(i, j) { a[i, j] } max [i]
//       br …                                               p = each(i, j) { a[i, j] } argmax [i]; br …
//   b3: p = each(i, j) { a[i, j] } argmax [i]          b3:
//
// Only of arrays that may be larger than the function's own, and are needed by no other block otherwise; of blocks that run as
// often; and of what cannot trap, since one path may not have come to it.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/ir/axis_extents.h"
#include "core/ir/block_loops.h"
#include "core/ir/dominance.h"
#include "core/ir/own_arrays.h"
#include "core/tensor/array_reads.h"
#include "core/tensor/normalise.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Each;
using ir::EachResult;
using ir::Inst;
using ir::Op;
using ir::Value;

class Raiser {
 public:
  explicit Raiser(ir::Function& f)
      : f_(f),
        dominators_(f),
        around_(ir::LoopsAround(f, dominators_)),
        own_(f),
        extents_(f),
        reads_(f),
        block_of_(f.values.size(), ir::kNoBlock) {
    for (uint32_t b = 0; b < f.blocks.size(); ++b) {
      for (Value v : f.blocks[b].params) block_of_[v.id] = b;
      for (const Inst& inst : f.blocks[b].insts) {
        for (Value v : inst.results) block_of_[v.id] = b;
        if (!inst.each) continue;
        for (const ir::IndexVar& i : inst.each->indices) block_of_[i.var.id] = kOfStatement;
        for (const Inst& body : inst.each->body) {
          for (Value v : body.results) block_of_[v.id] = kOfStatement;
        }
      }
    }
    for (uint32_t b = 0; b < f.blocks.size(); ++b) {
      for (size_t k = 0; k < f.blocks[b].insts.size(); ++k) {
        if (f.blocks[b].insts[k].each) place_of_[f.blocks[b].insts[k].each.get()] = {b, k};
      }
    }
  }

  bool Run() {
    std::map<Place, uint32_t> raised;  // to which block
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      for (const Inst& inst : f_.blocks[b].insts) {
        if (!inst.each) continue;
        for (size_t k = 0; k < inst.results.size(); ++k) {
          if (own_.IsNoLarger(inst.each->results[k].shape)) continue;
          for (const Place& p : ReadersElsewhere(b, inst.results[k])) raised.emplace(p, b);
        }
      }
    }
    for (const auto& [place, block] : raised) {
      Inst& inst = f_.blocks[place.first].insts[place.second];
      f_.blocks[block].insts.push_back(std::move(inst));
    }
    // From behind, so that places stay.
    for (auto it = raised.rbegin(); it != raised.rend(); ++it) {
      std::vector<Inst>& insts = f_.blocks[it->first.first].insts;
      insts.erase(insts.begin() + static_cast<std::ptrdiff_t>(it->first.second));
    }
    return !raised.empty();
  }

 private:
  using Place = std::pair<uint32_t, size_t>;  // block, instruction
  static constexpr uint32_t kOfStatement = ir::kNoBlock - 1;

  // None, where one of them has to stay.
  std::set<Place> ReadersElsewhere(uint32_t b, Value array) const {
    std::set<Place> readers;
    if (!reads_.OnlyByStatements(array)) return {};
    for (const ArrayReads::Read& read : reads_.Of(array)) {
      const Place place = place_of_.at(read.statement);
      if (place.first == b) continue;
      if (around_[place.first] != around_[b] ||
          !MayRaise(f_.blocks[place.first].insts[place.second], array, b))
        return {};
      readers.insert(place);
    }
    return readers;
  }

  bool MayRaise(const Inst& inst, Value array, uint32_t b) const {
    const Each& each = *inst.each;
    const auto is_small = [&](const EachResult& r) {
      return own_.IsNoLarger(r.shape) && !r.into.valid() && !StoresByData(each, r) &&
             (ir::IsPrefixForm(each, r) || ir::IsArgForm(each, r)) && IsShapedByIndices(each, r);
    };
    bool is_there = true;
    ir::ForEachOperand(inst, [&](Value v) {
      const uint32_t home = block_of_[v.id];
      is_there &= home == kOfStatement || dominators_.Dominates(home, b);
    });
    return is_there && RunsOver(each, array) &&
           std::all_of(each.results.begin(), each.results.end(), is_small) &&
           std::all_of(each.body.begin(), each.body.end(),
                       [&](const Inst& in) { return IsSafe(each, in); });
  }
  // Whether its points are those of the array: no extent is negative, and no turn is made that the array has not.
  static bool RunsOver(const Each& each, Value array) {
    return std::any_of(each.body.begin(), each.body.end(), [&](const Inst& read) {
      return read.op == Op::Index && read.args[0] == array &&
             std::all_of(each.indices.begin(), each.indices.end(), [&](const ir::IndexVar& i) {
               return std::count(read.subs.begin(), read.subs.end(), ir::Affine::Of(i.var)) > 0;
             });
    });
  }
  static bool IsShapedByIndices(const Each& each, const EachResult& r) {
    for (size_t k = 0; k < r.out.size(); ++k) {
      const std::optional<size_t> i = PlaceOfIndex(each, r.out[k].AsValue());
      if (!i || each.indices[*i].extent != r.shape[k]) return false;
    }
    return true;
  }
  bool IsSafe(const Each& each, const Inst& inst) const {
    if (inst.op != Op::Index) return !ir::MayTrap(inst, f_) && !ir::HasCallee(inst.op);
    for (size_t k = 0; k < inst.subs.size(); ++k) {
      const std::optional<size_t> i = PlaceOfIndex(each, inst.subs[k].AsValue());
      if (!i || !extents_.AreEqual(extents_.Of(inst.args[0], k), each.indices[*i].extent))
        return false;
    }
    return true;
  }

  ir::Function& f_;
  const ir::Dominators dominators_;
  const std::vector<std::set<uint32_t>> around_;  // by block
  const ir::OwnArrays own_;
  const ir::AxisExtents extents_;
  const ArrayReads reads_;
  std::vector<uint32_t> block_of_;  // by value, where it is defined
  std::map<const Each*, Place> place_of_;
};

}  // namespace

bool RaiseReaders(ir::Function& f) { return f.blocks.size() > 1 && Raiser(f).Run(); }

}  // namespace pullback::tensor
