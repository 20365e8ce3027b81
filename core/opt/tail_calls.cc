// A checkpointed call of a function by itself, as the last thing it does, becomes a jump to its start.
#include <algorithm>
#include <utility>

#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Block;
using ir::Function;
using ir::Inst;
using ir::Terminator;
using ir::Value;

// What the function returns where control goes on by `term`;
// empty where more happens before it does.
std::vector<Value> ReturnedBy(const Function& f, const Terminator& term) {
  std::vector<Value> values;
  const Terminator* at = &term;
  std::vector<std::pair<Value, Value>> bound;  // parameters on the way, what they are
  const auto resolve = [&](Value v) {
    const auto it = std::find_if(bound.rbegin(), bound.rend(),
                                 [v](const auto& pair) { return pair.first == v; });
    return it == bound.rend() ? v : it->second;
  };
  for (size_t steps = 0; at->kind == Terminator::Kind::kJump; ++steps) {
    const ir::Edge& edge = at->edges[0];
    const Block& next = f.blocks[edge.block];
    if (!next.insts.empty() || steps > f.blocks.size()) return {};
    std::vector<std::pair<Value, Value>> now;
    for (size_t k = 0; k < edge.args.size(); ++k)
      now.emplace_back(next.params[k], resolve(edge.args[k]));
    bound.insert(bound.end(), now.begin(), now.end());
    at = &next.term;
  }
  if (at->kind != Terminator::Kind::kReturn) return {};
  for (Value v : at->results) values.push_back(resolve(v));
  return values;
}

bool EndsInCallOf(const Function& f, uint32_t id, const Block& b) {
  if (b.insts.empty()) return false;
  const Inst& last = b.insts.back();
  return last.op == ir::Op::Call && last.checkpoint && last.callee == id && !last.results.empty() &&
         absl::MakeConstSpan(ReturnedBy(f, b.term)) == last.results;
}

// The entry's text moves to a block that the calls can jump to.
void AddStart(Function& f) {
  const auto start = static_cast<uint32_t>(f.blocks.size());
  Block moved;
  moved.params = f.blocks[0].params;
  moved.insts = std::move(f.blocks[0].insts);
  moved.term = std::move(f.blocks[0].term);
  Block entry;
  for (Value v : moved.params) entry.params.push_back(f.NewLike(f, v));
  entry.term = {Terminator::Kind::kJump, ir::kNoValue, {{start, entry.params}}, {}};
  f.blocks[0] = std::move(entry);
  f.blocks.push_back(std::move(moved));
}

}  // namespace

Status LoopTailCalls(ir::Module& module) {
  for (uint32_t id = 0; id < module.functions.size(); ++id) {
    Function& f = module.Get(id);
    std::vector<uint32_t> ends;
    for (uint32_t b = 0; b < f.blocks.size(); ++b) {
      if (EndsInCallOf(f, id, f.blocks[b])) ends.push_back(b);
    }
    if (ends.empty()) continue;
    const auto start = static_cast<uint32_t>(f.blocks.size());
    AddStart(f);
    for (uint32_t b : ends) {
      Block& end = f.blocks[b == 0 ? start : b];
      std::vector<Value> args = ir::ToVector(end.insts.back().args);
      end.insts.pop_back();
      end.term = {Terminator::Kind::kJump, ir::kNoValue, {{start, args}}, {}};
    }
  }
  return {};
}

}  // namespace pullback::opt
