// A statement over m ends the run where m is negative. So do those that compute something for it in front, over max(m, 0):
// behind a check of their own, which says what that of the statement would, max(m, 0) is m (PropagateConditions).
//
//   %1 = max %m, 0                            %0 = ge %m, 0
//   %a = each(j < %1) { … }                   check %0, negative_size, %m
//   %s = each(i < %m) { … %a … }              %1 = max %m, 0
//                                             %a = each(j < %1) { … }
//                                             %s = each(i < %m) { … %a … }
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

std::set<Value> ZerosOf(const ir::Function& f) {
  std::set<Value> zeros;
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      if (inst.op == Op::Const && inst.bits == 0 && f.TypeOf(inst.results[0]) == ir::Type::I64())
        zeros.insert(inst.results[0]);
    }
  }
  return zeros;
}

void AppendCheck(ir::Function& f, Value size, Value zero, uint32_t loc, std::vector<Inst>& out) {
  Inst in_range, check;
  in_range.op = Op::Ge;
  in_range.args = {size, zero};
  in_range.results = {f.NewValue(ir::Type::Bool())};
  check.op = Op::Check;
  check.bits = static_cast<uint64_t>(ir::TrapKind::kNegativeSize);
  check.args = {in_range.results[0], size};
  check.loc = loc;
  out.push_back(std::move(in_range));
  out.push_back(std::move(check));
}

// Instructions of a block that are max(m, 0), and where the first statement behind them that is over m stands.
std::map<size_t, uint32_t> ClampsToCheck(const std::vector<Inst>& insts,
                                         const std::set<Value>& zeros) {
  std::map<size_t, uint32_t> found;
  std::map<Value, uint32_t> behind;
  for (size_t k = insts.size(); k-- > 0;) {
    const Inst& inst = insts[k];
    if (inst.each) {
      for (const ir::IndexVar& i : inst.each->indices) behind[i.extent] = inst.loc;
    }
    if (inst.op != Op::Max || !zeros.contains(inst.args[1])) continue;
    if (const auto over = behind.find(inst.args[0]); over != behind.end()) found[k] = over->second;
  }
  return found;
}

}  // namespace

bool CheckSizesEarly(ir::Function& f, const RewriteOptions& options) {
  const std::set<Value> zeros = ZerosOf(f);
  bool changed = false;
  for (ir::Block& b : f.blocks) {
    const std::map<size_t, uint32_t> clamps = ClampsToCheck(b.insts, zeros);
    if (clamps.empty()) continue;
    std::vector<Inst> out;
    for (size_t k = 0; k < b.insts.size(); ++k) {
      Inst& inst = b.insts[k];
      const auto clamp = clamps.find(k);
      if (clamp != clamps.end() && options.Take(RuleId::kEqualInArms)) {
        AppendCheck(f, inst.args[0], inst.args[1], clamp->second, out);
        changed = true;
      }
      out.push_back(std::move(inst));
    }
    b.insts = std::move(out);
  }
  return changed;
}

}  // namespace pullback::opt
