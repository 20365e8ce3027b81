// What a function of the math table gives for fewer indices than a statement has becomes a statement of its own, so that it is
// called once for each of these, and so are its partials:
//
//   y = each(i, a) { sigmoid(p[i]) * x[i, a] } gen [i, a]
//                           s = each(i) where (1 <= extent of a) { sigmoid(p[i]) } gen [i]
//                           y = each(i, a) { s[i] * x[i, a] } gen [i, a]
//
// Not where the array would be larger than the function's own, or all that is left out are short axes.
#include <algorithm>
#include <optional>

#include "core/analysis/outer_values.h"
#include "core/ir/known_extents.h"
#include "core/ir/op_weight.h"
#include "core/ir/own_arrays.h"
#include "core/tensor/body_graph.h"
#include "core/tensor/normalise.h"
#include "core/tensor/split_statement.h"

namespace pullback::tensor {
namespace {

using ir::Inst;
using ir::Value;

constexpr int kMost = 8;  // of one statement

class DearLifter {
 public:
  explicit DearLifter(ir::Function& f)
      : f_(f), outer_(f), own_(f), extents_(ir::FindKnownExtents(f)) {}

  bool Run() {
    bool changed = false;
    for (ir::Block& b : f_.blocks) {
      std::vector<Inst> out;
      for (Inst& inst : b.insts) {
        if (inst.each && inst.each->indices.size() > 1) changed |= Lift(inst, out);
        out.push_back(std::move(inst));
      }
      b.insts = std::move(out);
    }
    return changed;
  }

 private:
  bool Lift(Inst& inst, std::vector<Inst>& before) {
    bool changed = false;
    for (int lifted = 0; lifted < kMost; ++lifted) {
      if (std::none_of(inst.each->body.begin(), inst.each->body.end(), ir::IsDear)) break;
      const BodyGraph graph(*inst.each, f_, outer_);
      const std::optional<size_t> k = Next(*inst.each, graph);
      if (!k) break;
      StoreInstruction(inst, *k, graph.SpaceOf(*k), f_, before);
      changed = true;
    }
    return changed;
  }

  // The last that some dear instruction is part of.
  std::optional<size_t> Next(const ir::Each& each, const BodyGraph& graph) const {
    std::vector<bool> dear;
    for (const Inst& inst : each.body) {
      bool is = ir::IsDear(inst);
      ir::ForEachOperand(inst, [&](Value v) {
        const int k = graph.DefinitionOf(v);
        is = is || (k >= 0 && dear[static_cast<size_t>(k)]);
      });
      dear.push_back(is);
    }
    for (size_t k = each.body.size(); k-- > 0;) {
      if (dear[k] && graph.ReadersOf(k) > 0 && graph.IsOp(k) && !graph.NeedsAll(k) &&
          each.body[k].results.size() == 1 && MayStore(each, graph.SpaceOf(k)))
        return k;
    }
    return std::nullopt;
  }

  bool MayStore(const ir::Each& each, const Space& space) const {
    ir::Values shape;
    bool is_long = false;
    for (size_t i = 0; i < each.indices.size(); ++i) {
      const Value extent = each.indices[i].extent;
      if (space.needs[i]) {
        shape.push_back(extent);
      } else {
        is_long = is_long || !extents_.IsShort(extent);
      }
    }
    return is_long && !shape.empty() && own_.IsNoLarger(shape);
  }

  ir::Function& f_;
  const analysis::OuterValues outer_;
  const ir::OwnArrays own_;
  const ir::KnownExtents extents_;
};

}  // namespace

bool LiftDear(ir::Function& f) { return DearLifter(f).Run(); }

}  // namespace pullback::tensor
