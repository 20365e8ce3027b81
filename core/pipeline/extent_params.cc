#include "core/pipeline/extent_params.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/opt/rename.h"

namespace pullback::pipeline {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int kMaxDepth = 16;      // calls between the array and the function
constexpr size_t kMaxParams = 16;  // each is compared with each, through the whole module

struct Extent {
  size_t integer, array;  // parameters
  int axis;
};

const Inst* DefinitionOf(const ir::Function& f, Value v) {
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      if (std::find(inst.results.begin(), inst.results.end(), v) != inst.results.end())
        return &inst;
    }
  }
  return nullptr;
}

bool CallsInBodies(const ir::Function& f, uint32_t callee) {
  for (const ir::Block& b : f.blocks) {
    for (const Inst& inst : b.insts) {
      if (!inst.each) continue;
      for (const Inst& body : inst.each->body) {
        if (ir::HasCallee(body.op) && body.callee == callee) return true;
      }
    }
  }
  return false;
}

bool Always(const ir::Module& m, uint32_t f, const Extent& e, int depth);

bool HoldsAt(const ir::Module& m, uint32_t caller, const Inst& call, const Extent& e, int depth) {
  const ir::Function& h = m.Get(caller);
  const Value integer = call.args[e.integer], array = call.args[e.array];
  if (const Inst* def = DefinitionOf(h, integer)) {
    return def->op == Op::Dim && def->args[0] == array &&
           def->bits == static_cast<uint64_t>(e.axis);
  }
  const ir::Values& params = h.params();
  const auto n = std::find(params.begin(), params.end(), integer);
  const auto a = std::find(params.begin(), params.end(), array);
  if (n == params.end() || a == params.end()) return false;
  const Extent above{static_cast<size_t>(n - params.begin()),
                     static_cast<size_t>(a - params.begin()), e.axis};
  return Always(m, caller, above, depth + 1);
}

bool Always(const ir::Module& m, uint32_t f, const Extent& e, int depth) {
  if (f == m.entry || depth > kMaxDepth) return false;
  for (uint32_t caller = 0; caller < m.functions.size(); ++caller) {
    const ir::Function& h = m.Get(caller);
    if (h.vjp_rule == f || h.jvp_rule == f || CallsInBodies(h, f)) return false;
    for (const ir::Block& b : h.blocks) {
      for (const Inst& inst : b.insts) {
        const bool calls = ir::HasCallee(inst.op) && inst.callee == f;
        if (calls && !HoldsAt(m, caller, inst, e, depth)) return false;
      }
    }
  }
  return true;
}

}  // namespace

void ReadExtentParams(const ir::Module& module, uint32_t f, ir::Function& copy) {
  const ir::Values params = copy.params();
  if (params.size() > kMaxParams) return;
  opt::Renaming renaming(copy);
  std::vector<Inst> dims;
  for (size_t n = 0; n < params.size(); ++n) {
    if (copy.TypeOf(params[n]) != ir::Type::I64()) continue;
    bool found = false;
    for (size_t a = 0; a < params.size() && !found; ++a) {
      const ir::Type type = copy.TypeOf(params[a]);
      for (int axis = 0; type.IsArray() && axis < type.rank && !found; ++axis) {
        found = Always(module, f, {n, a, axis}, 0);
        if (!found) continue;
        Inst& dim = dims.emplace_back();
        dim.op = Op::Dim;
        dim.args = {params[a]};
        dim.bits = static_cast<uint64_t>(axis);
        dim.results = {copy.NewValue(ir::Type::I64(), copy.names[params[n].id])};
        renaming.Set(params[n], dim.results[0]);
      }
    }
  }
  if (!renaming.any()) return;
  renaming.Apply(copy);
  std::vector<Inst>& first = copy.blocks[0].insts;
  first.insert(first.begin(), std::make_move_iterator(dims.begin()),
               std::make_move_iterator(dims.end()));
}

}  // namespace pullback::pipeline
