// Which values carry a derivative: varied (depends on an active parameter through differentiable
// ops) and useful (an active result depends on it). Both are over-approximations.
#pragma once

#include <functional>
#include <vector>

#include "core/ir/ir.h"

namespace pullback::analysis {

class Activity {
 public:
  // active_params / active_results: by position; what carries no tangent is never active.
  // `is_constant(op)` tells ops without derivative.
  Activity(const ir::Module& m, const ir::Function& f, const std::vector<bool>& active_params,
           const std::vector<bool>& active_results, const std::function<bool(ir::Op)>& is_constant);

  // For values of bodies: varied.
  bool Active(ir::Value v) const { return varied_[v.id] && (useful_[v.id] || in_body_[v.id]); }

 private:
  bool SpreadTapes(const ir::Function& f, std::vector<char>& flags);
  bool SpreadVaried(const ir::Function& f);
  bool SpreadUseful(const ir::Function& f);
  bool VisitVaried(const ir::Inst& inst, const ir::Function& f);

  const ir::Module& module_;
  const std::function<bool(ir::Op)>& is_constant_;
  std::vector<char> varied_, useful_, in_body_;
};

// Whether `f` is given an active tape.
bool TapeIsActive(const ir::Function& f, const std::vector<bool>& active_params);

}  // namespace pullback::analysis
