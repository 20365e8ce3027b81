// Writes nodes one behind another. (An Emitter knows all registers of the function: too much for each loop that changes.)
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/loops/loops.h"

namespace pullback::loops {

class Writer {
 public:
  explicit Writer(Function& f) : f_(f) {}

  Reg Scalar(ir::Op op, std::vector<Reg> args, uint64_t bits = 0, ir::Type t = ir::Type::I64()) {
    Node node;
    node.op = op;
    node.bits = bits;
    node.args = std::move(args);
    node.results = {f_.NewReg(t)};
    nodes.push_back(std::move(node));
    return nodes.back().results[0];
  }
  Reg I64(int64_t v) { return Scalar(ir::Op::Const, {}, static_cast<uint64_t>(v)); }

  std::vector<Node> nodes;

 private:
  Function& f_;
};

// Without a body.
inline Node MakeLoop(Function& f, Reg lo, Reg hi, const char* name, uint32_t loc) {
  Node loop;
  loop.kind = Node::Kind::kFor;
  loop.loc = loc;
  loop.args = {lo, hi};
  loop.results = {f.NewReg(ir::Type::I64(), name)};
  return loop;
}

}  // namespace pullback::loops
