// What the instructions of one statement's body are to the tensor algebra.
#pragma once

#include <unordered_map>
#include <vector>

#include "core/analysis/outer_values.h"
#include "core/ir/ir.h"

namespace pullback::tensor {

// Where an instruction is computed that does not need every index: over the indices marked, where there is a
// point for some value of the others.
struct Space {
  std::vector<bool> needs;
  std::vector<ir::Constraint> where;
};

class BodyGraph {
 public:
  BodyGraph(const ir::Each& each, const ir::Function& f, const analysis::OuterValues& outer);

  // Whether body instruction k is an op: it costs something, or is made of what does.
  bool IsOp(size_t k) const { return nodes_[k].op; }
  // Readers of its results, in the body and among the statement's results.
  int ReadersOf(size_t k) const { return nodes_[k].readers; }
  // The space of a statement of its own. An index stays, though nothing that the instruction reads speaks of
  // it, if `where` cannot be solved for it.
  Space SpaceOf(size_t k) const;
  bool NeedsAll(size_t k) const;
  // The instruction that defines v, or -1.
  int DefinitionOf(ir::Value v) const;
  // An op with several readers; not a black box each of whose results one result of the statement stores.
  bool IsShared(size_t k) const;
  // Whether the statement's results store the results of instruction k, each once, and nothing else.
  bool IsStoredWhole(size_t k) const;

 private:
  struct Node {
    bool op = false;
    int readers = 0;
    std::vector<bool> needs;
  };
  void Visit(size_t k, const ir::Inst& inst, const ir::Function& f);

  const ir::Each& each_;
  const analysis::OuterValues& outer_;
  std::vector<Node> nodes_;
  std::unordered_map<uint32_t, size_t> indices_, definitions_;
};

}  // namespace pullback::tensor
