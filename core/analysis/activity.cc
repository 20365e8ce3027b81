#include "core/analysis/activity.h"

namespace pullback::analysis {
namespace {

bool Set(std::vector<char>& flags, ir::Value v) {
  if (flags[v.id]) return false;
  flags[v.id] = 1;
  return true;
}

}  // namespace

Activity::Activity(const ir::Module& m, const ir::Function& f,
                   const std::vector<bool>& active_params, const std::vector<bool>& active_results,
                   const std::function<bool(ir::Op)>& is_constant)
    : module_(m),
      is_constant_(is_constant),
      varied_(f.values.size()),
      useful_(f.values.size()),
      in_body_(f.values.size()) {
  for (size_t k = 0; k < f.params().size(); ++k) {
    if (active_params[k] && ir::CarriesTangent(m, f.TypeOf(f.params()[k])))
      Set(varied_, f.params()[k]);
  }
  for (const ir::Block& b : f.blocks) {
    for (const ir::Inst& inst : b.insts) {
      if (!inst.each) continue;
      for (const ir::Inst& body : inst.each->body) {
        for (ir::Value v : body.results) in_body_[v.id] = 1;
      }
    }
    if (b.term.kind != ir::Terminator::Kind::kReturn) continue;
    for (size_t k = 0; k < b.term.results.size(); ++k) {
      if (active_results[k] && ir::CarriesTangent(m, f.results[k])) Set(useful_, b.term.results[k]);
    }
  }
  while (SpreadVaried(f) || SpreadTapes(f, varied_)) {
  }
  while (SpreadUseful(f) || SpreadTapes(f, useful_)) {
  }
}

// Pops do not know which push they mirror, so that either everything on the tapes of a function has a
// derivative beside it or nothing has.
bool Activity::SpreadTapes(const ir::Function& f, std::vector<char>& flags) {
  bool any = false, changed = false;
  for (uint32_t v = 0; v < f.values.size(); ++v) any |= f.values[v].IsTape() && flags[v];
  for (uint32_t v = 0; any && v < f.values.size(); ++v) {
    if (f.values[v].IsTape()) changed |= Set(flags, ir::Value{v});
  }
  return changed;
}

bool Activity::SpreadVaried(const ir::Function& f) {
  bool changed = false;
  for (const ir::Block& b : f.blocks) {
    for (const ir::Inst& inst : b.insts) changed |= VisitVaried(inst, f);
    for (const ir::Edge& e : b.term.edges) {
      for (size_t k = 0; k < e.args.size(); ++k) {
        if (varied_[e.args[k].id]) changed |= Set(varied_, f.blocks[e.block].params[k]);
      }
    }
  }
  return changed;
}

bool Activity::VisitVaried(const ir::Inst& inst, const ir::Function& f) {
  if (is_constant_(inst.op)) return false;
  bool changed = false;
  if (inst.each) {
    for (const ir::Inst& body : inst.each->body) changed |= VisitVaried(body, f);
    for (size_t k = 0; k < inst.results.size(); ++k) {
      const ir::EachResult& r = inst.each->results[k];
      const bool varies = varied_[r.value.id] || (r.second.valid() && varied_[r.second.id]);
      if (varies && f.TypeOf(inst.results[k]).IsFloat()) changed |= Set(varied_, inst.results[k]);
    }
    return changed;
  }
  bool any = false;
  for (ir::Value v : inst.args) any |= varied_[v.id] != 0;
  if (!any) return false;
  for (ir::Value v : inst.results) {
    if (ir::CarriesTangent(module_, f.TypeOf(v))) changed |= Set(varied_, v);
  }
  return changed;
}

bool Activity::SpreadUseful(const ir::Function& f) {
  bool changed = false;
  for (auto b = f.blocks.rbegin(); b != f.blocks.rend(); ++b) {
    for (const ir::Edge& e : b->term.edges) {
      for (size_t k = 0; k < e.args.size(); ++k) {
        if (useful_[f.blocks[e.block].params[k].id]) changed |= Set(useful_, e.args[k]);
      }
    }
    for (auto inst = b->insts.rbegin(); inst != b->insts.rend(); ++inst) {
      if (is_constant_(inst->op)) continue;
      bool any = false;
      for (ir::Value v : inst->results) any |= useful_[v.id] != 0;
      if (!any) continue;
      ir::ForEachOperand(*inst, [&](ir::Value v) {
        if (ir::CarriesTangent(module_, f.TypeOf(v))) changed |= Set(useful_, v);
      });
    }
  }
  return changed;
}

bool TapeIsActive(const ir::Function& f, const std::vector<bool>& active_params) {
  for (size_t k = 0; k < f.params().size(); ++k) {
    if (active_params[k] && f.TypeOf(f.params()[k]).IsTape()) return true;
  }
  return false;
}

}  // namespace pullback::analysis
