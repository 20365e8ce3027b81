#include "core/opt/carried_extents.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "core/analysis/carried_extents.h"
#include "core/opt/definitions.h"
#include "core/opt/rename.h"

namespace pullback::opt {
namespace {

using analysis::Extent;
using ir::Inst;
using ir::Op;
using ir::Value;

class Reader {
 public:
  Reader(ir::Function& f, const RewriteOptions& options)
      : f_(f), options_(options), extents_(f), definitions_(f), block_(f.values.size()) {
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      for (Value param : f_.blocks[b].params) block_[param.id] = b;
      for (const Inst& inst : f_.blocks[b].insts) {
        definitions_.Record(inst);
        for (Value result : inst.results) block_[result.id] = b;
      }
    }
  }

  bool Run() {
    Renaming renaming(f_);
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      for (const Inst& inst : f_.blocks[b].insts) {
        if (inst.op != Op::Dim) continue;
        const Extent own{inst.args[0], static_cast<int>(inst.bits)};
        const Extent is = extents_.Of(own.value, own.axis);
        if (block_[own.value.id] == 0 || is == own || !MayTake(is)) continue;
        renaming.Set(inst.results[0], is.IsInteger() ? is.value : Asked(is, inst.results[0], b));
      }
    }
    Insert();
    renaming.Apply(f_);
    return renaming.any();
  }

 private:
  // Whoever asks for a size sees no negative one, even where nobody makes the array any more.
  bool MayTake(Extent is) const {
    if (is.IsInteger() && !definitions_.IsSize(is.value)) return false;
    return options_.Take(RuleId::kLengthOfBuild);
  }

  // Where the array is made: later it would be kept alive for it.
  Value Asked(Extent is, Value like, uint32_t reader) {
    const uint32_t block = block_[is.value.id];
    for (const Inst& inst : f_.blocks[block].insts) {
      if (block != reader && inst.op == Op::Dim && inst.args[0] == is.value &&
          inst.bits == static_cast<uint64_t>(is.axis))
        return inst.results[0];
    }
    Inst& dim = dims_.emplace_back();
    dim.op = Op::Dim;
    dim.args = {is.value};
    dim.bits = static_cast<uint64_t>(is.axis);
    dim.results = {f_.NewValue(ir::Type::I64(), f_.names[like.id])};
    return dim.results[0];
  }

  void Insert() {
    for (Inst& dim : dims_) {
      const Value array = dim.args[0];
      std::vector<Inst>& insts = f_.blocks[block_[array.id]].insts;
      const auto makes = [array](const Inst& inst) {
        return std::find(inst.results.begin(), inst.results.end(), array) != inst.results.end();
      };
      const auto made = std::find_if(insts.begin(), insts.end(), makes);
      insts.insert(made == insts.end() ? insts.begin() : made + 1, std::move(dim));
    }
  }

  ir::Function& f_;
  const RewriteOptions& options_;
  const analysis::CarriedExtents extents_;
  Definitions definitions_;
  std::vector<uint32_t> block_;  // by value: where it is defined
  std::vector<Inst> dims_;
};

bool AsksParams(const ir::Function& f) {
  std::vector<char> is_param(f.values.size());
  for (size_t b = 1; b < f.blocks.size(); ++b) {
    for (Value param : f.blocks[b].params) is_param[param.id] = 1;
  }
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      if (inst.op == Op::Dim && is_param[inst.args[0].id]) return true;
    }
  }
  return false;
}

}  // namespace

bool ReadCarriedExtents(ir::Function& f, const RewriteOptions& options) {
  return f.blocks.size() > 1 && AsksParams(f) && Reader(f, options).Run();
}

}  // namespace pullback::opt
