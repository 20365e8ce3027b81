#include "core/loops/statement.h"

namespace pullback::loops {

using ir::Value;

void Alloc(Lowering& l, Value result, const std::vector<Value>& shape, bool zeroed, uint32_t loc) {
  Node node;
  node.kind = Node::Kind::kAlloc;
  node.bits = zeroed ? 1 : 0;
  node.loc = loc;
  node.args = l.Of(shape);
  node.results = {result};
  l.e.Append(std::move(node));
  l.SetShape(result, shape);
}

void LowerStatement(Lowering& l, const ir::Inst&) { l.Fail("a tensor statement"); }

}  // namespace pullback::loops
