#include "core/ad/symbolic_pattern.h"

#include <algorithm>
#include <utility>

#include "core/ad/float_flow.h"
#include "core/ad/pattern_steps.h"

namespace pullback::ad {

using ir::Affine;
using ir::Inst;
using ir::Value;

namespace {

using Affines = std::vector<Affine>;

// From a result back to a parameter. What depends on an element of a value that is on the way is known as pieces whose
// elements are subscripts of the result, then of the value.
class Walk {
 public:
  Walk(PatternIntegers& integers, FloatFlow& flow, const std::vector<Inst>& code, Value result,
       Value param)
      : all_(integers), flow_(flow), code_(code), param_(param), rank_(RankOf(result)) {
    if (!IsBetween(result)) return;
    const std::optional<Affines> extents = PatternExtents(all_, result);
    ok_ = extents.has_value();
    if (!ok_) return;
    extents_ = *extents;
    PatternPiece self;
    for (size_t axis = 0; axis < rank_; ++axis) {
      self.points.push_back(all_.NewPoint(NameOf(result, axis), extents_[axis]));
      self.element.push_back(Affine::Of(self.points.back().var));
    }
    const Affines whole = self.element;
    self.element.insert(self.element.end(), whole.begin(), whole.end());
    Reach(result, std::move(self));
  }

  std::optional<SymbolicPattern> Run() {
    for (size_t k = code_.size(); ok_ && k-- > 0;) {
      for (size_t r = 0; ok_ && r < code_[k].results.size(); ++r) {
        const auto it = reached_.find(code_[k].results[r]);
        if (it == reached_.end()) continue;
        const std::vector<PatternPiece> pieces = it->second.pieces();
        reached_.erase(it);
        for (const PatternPiece& piece : pieces) Step(code_[k], r, piece);
      }
    }
    if (!ok_) return std::nullopt;
    return Found();
  }

 private:
  size_t RankOf(Value v) const { return all_.function().TypeOf(v).rank; }
  bool IsBetween(Value v) { return v == param_ || flow_.Depends(v, param_); }

  // The index that a statement has for an axis of its result.
  Value NameOf(Value v, size_t axis) const {
    const Inst* inst = all_.DefinitionOf(v);
    if (inst == nullptr || !inst->each) return {};
    return inst->each->results[all_.ResultNumber(v)].out[axis].AsValue();
  }

  SymbolicPattern Found() {
    SymbolicPattern pattern;
    const auto it = reached_.find(param_);
    if (it == reached_.end()) return pattern;
    PatternPieces& all = it->second;
    all.Join();
    for (const PatternPiece& piece : all.pieces()) pattern.everywhere |= all.IsEverything(piece);
    if (!pattern.everywhere) pattern.pieces = all.pieces();
    return pattern;
  }

  void Reach(Value v, PatternPiece piece) {
    if (!ok_ || !IsBetween(v)) return;
    auto it = reached_.find(v);
    if (it == reached_.end()) {
      const std::optional<Affines> extents = PatternExtents(all_, v);
      ok_ = extents.has_value();
      if (!ok_) return;
      Affines all = extents_;
      all.insert(all.end(), extents->begin(), extents->end());
      it = reached_.emplace(v, PatternPieces(all_, std::move(all))).first;
    }
    ok_ = it->second.Add(std::move(piece));
  }

  void Step(const Inst& inst, size_t k, const PatternPiece& piece) {
    if (!ok_) return;
    auto reads = PatternReads(all_, {rank_, [&](Value v) { return IsBetween(v); }}, inst, k, piece);
    ok_ = reads.has_value();
    for (size_t r = 0; ok_ && r < reads->size(); ++r)
      Reach((*reads)[r].source, std::move((*reads)[r].piece));
  }

  PatternIntegers& all_;
  FloatFlow& flow_;
  const std::vector<Inst>& code_;
  const Value param_;
  const size_t rank_;
  Affines extents_;
  bool ok_ = true;
  std::map<Value, PatternPieces> reached_;
};

}  // namespace

SymbolicPatterns FindSymbolicPatterns(const ir::Module& module, uint32_t f,
                                      const std::vector<bool>& wrt, const JacobianRows& rows) {
  SymbolicPatterns out;
  out.function = module.Get(f);
  const ir::Function& code = module.Get(f);
  const bool straight = code.blocks.size() == 1 && !code.HasRule();
  const std::vector<Inst> none;
  const std::vector<Inst>& insts = straight ? code.blocks[0].insts : none;
  FloatFlow flow(module, code, insts);
  PatternIntegers integers(out.function, insts);
  for (size_t r = 0; r < code.results.size(); ++r) {
    for (size_t p = 0; p < wrt.size() && rows.differentiated[r]; ++p) {
      const Value param = code.params()[p];
      if (!wrt[p] || !code.TypeOf(param).IsFloat()) continue;
      out.blocks.emplace_back();
      if (!straight) continue;
      out.blocks.back() = Walk(integers, flow, insts, code.blocks[0].term.results[r], param).Run();
    }
  }
  out.atoms = integers.atoms();
  return out;
}

}  // namespace pullback::ad
