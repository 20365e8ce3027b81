#include "core/opt/simplify.h"

#include <functional>

namespace pullback::opt {
namespace {

constexpr int kMaxRounds = 6;

template <typename Fn>
void ForEachCall(ir::Function& f, Fn&& fn) {
  for (ir::Block& b : f.blocks) {
    for (ir::Inst& inst : b.insts) {
      if (inst.op == ir::Op::Call) fn(inst);
      if (!inst.each) continue;
      for (ir::Inst& body : inst.each->body) {
        if (body.op == ir::Op::Call) fn(body);
      }
    }
  }
}

}  // namespace

Status Simplify(ir::Module& module) {
  for (auto& f : module.functions) {
    for (int round = 0; round < kMaxRounds; ++round) {
      bool changed = SimplifyControlFlow(*f);
      changed |= FoldConstants(*f);
      changed |= EliminateCommonSubexpressions(*f);
      changed |= EliminateDeadCode(*f);
      if (!changed) break;
    }
  }
  DropUnreachedFunctions(module);
  return {};
}

Status FuseStatements(ir::Module& module, bool only_free) {
  for (auto& f : module.functions) {
    for (int round = 0; round < kMaxRounds && FuseReads(*f, only_free); ++round) {
      EliminateDeadCode(*f);
    }
  }
  return Simplify(module);
}

void DropUnreachedFunctions(ir::Module& module) {
  constexpr uint32_t kUnseen = UINT32_MAX;
  std::vector<uint32_t> number(module.functions.size(), kUnseen);
  std::vector<uint32_t> order = {module.entry};
  number[module.entry] = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    ForEachCall(module.Get(order[k]), [&](ir::Inst& call) {
      if (number[call.callee] != kUnseen) return;
      number[call.callee] = static_cast<uint32_t>(order.size());
      order.push_back(call.callee);
    });
  }
  std::vector<std::unique_ptr<ir::Function>> kept;
  for (uint32_t old : order) {
    ForEachCall(module.Get(old), [&](ir::Inst& call) { call.callee = number[call.callee]; });
    kept.push_back(std::move(module.functions[old]));
  }
  module.functions = std::move(kept);
  module.entry = 0;
}

Status LowerStrongMultiplies(ir::Module& module) {
  for (auto& f : module.functions) {
    const auto lower = [&](std::vector<ir::Inst>& list) {
      std::vector<ir::Inst> out;
      out.reserve(list.size());
      for (ir::Inst& inst : list) {
        if (inst.op != ir::Op::SMul) {
          out.push_back(std::move(inst));
          continue;
        }
        const ir::Type type = f->TypeOf(inst.results[0]);
        const auto append = [&](ir::Op op, ir::Type t, std::vector<ir::Value> args) {
          ir::Inst made;
          made.op = op;
          made.args = std::move(args);
          made.guard = inst.guard;
          made.results = {f->NewValue(t)};
          out.push_back(std::move(made));
          return out.back().results[0];
        };
        const ir::Value w = inst.args[0];
        const ir::Value zero = append(ir::Op::Const, type, {});
        const ir::Value is_zero = append(ir::Op::Eq, ir::Type::Bool(), {w, zero});
        const ir::Value product = append(ir::Op::Mul, type, {w, inst.args[1]});
        inst.op = ir::Op::Select;
        inst.args = {is_zero, zero, product};
        out.push_back(std::move(inst));
      }
      list = std::move(out);
    };
    for (ir::Block& b : f->blocks) {
      for (ir::Inst& inst : b.insts) {
        if (inst.each) lower(inst.each->body);
      }
      lower(b.insts);
    }
  }
  return {};
}

}  // namespace pullback::opt
