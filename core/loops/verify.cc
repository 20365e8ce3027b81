#include "core/loops/verify.h"

#include <set>
#include <string>

#include "core/ir/dominance.h"
#include "core/loops/liveness.h"
#include "core/loops/verify_nodes.h"

namespace pullback::loops {
namespace {

using ir::Op;
using ir::Terminator;
using ir::Type;
using Kind = Node::Kind;

class FunctionVerifier {
 public:
  FunctionVerifier(const Module& m, const Function& f)
      : m_(m),
        f_(f),
        defined_in_(f.regs.size(), ir::kNoBlock),
        over_(f.regs.size()),
        held_(f.regs.size()),
        counted_in_(f.regs.size(), ir::kNoBlock) {}

  Status Run() {
    if (f_.blocks.empty() || !TargetsAreThere()) return Wrong("a block that is not there");
    const ir::Dominators dominators(ir::Successors(f_.blocks));
    dominators_ = &dominators;
    for (uint32_t b : dominators.order()) {
      block_ = b;
      const bool good = DefineAll(f_.blocks[b].params) && Nodes(f_.blocks[b].nodes) && Ends();
      if (!good) return Wrong(what_);
    }
    return {};
  }

 private:
  Status Wrong(const std::string& what) const {
    return {Code::kInternal, "LOOPS_INVALID",
            "@" + f_.name + " block " + std::to_string(block_) + ": " + what};
  }
  bool Fail(const char* what) {
    what_ = what;
    return false;
  }

  bool TargetsAreThere() const {
    for (const Block& block : f_.blocks) {
      for (const ir::Edge& edge : block.term.edges) {
        if (edge.block >= f_.blocks.size()) return false;
      }
    }
    return true;
  }

  // --- definitions and uses
  bool Define(Reg r) {
    if (r.id >= f_.regs.size()) return Fail("a register that is not there");
    if (defined_in_[r.id] != ir::kNoBlock) return Fail("a register is written twice");
    defined_in_[r.id] = block_;
    return true;
  }
  bool DefineAll(ir::ValueSpan regs) {
    for (Reg r : regs) {
      if (!Define(r)) return false;
    }
    return true;
  }
  bool Use(Reg r) {
    if (r.id >= f_.regs.size()) return Fail("a register that is not there");
    const uint32_t from = defined_in_[r.id];
    if (from == ir::kNoBlock || over_[r.id] || !dominators_->Dominates(from, block_))
      return Fail("a register is used where it is not defined");
    if (IsCounted(f_.TypeOf(r)) && Held(r) < 1)
      return Fail("an array is used after its last owner");
    return true;
  }
  bool UseAll(const std::vector<Reg>& regs) {
    for (Reg r : regs) {
      if (!Use(r)) return false;
    }
    return true;
  }
  void Close(const std::vector<Node>& nodes) {
    for (const Node& n : nodes) {
      for (Reg r : n.results) over_[r.id] = true;
    }
  }

  // --- references that the block holds: one of each that it is given or makes
  int& Held(Reg r) {
    if (counted_in_[r.id] != block_) held_[r.id] = 1;
    counted_in_[r.id] = block_;
    return held_[r.id];
  }
  bool Consume(Reg r) {
    if (!IsCounted(f_.TypeOf(r))) return true;
    if (Held(r) < 1) return Fail("an array is used after its last owner");
    if (depth_ == 0) --Held(r);
    return true;
  }
  bool ConsumeAll(ir::ValueSpan regs) {
    for (Reg r : regs) {
      if (!Consume(r)) return false;
    }
    return true;
  }
  static bool Consumes(const Node& n) {
    switch (n.kind) {
      case Kind::kRelease:
      case Kind::kUnique:
      case Kind::kPush:
      case Kind::kPop:
      case Kind::kCall: return true;
      case Kind::kList: return n.op != Op::ListLen && n.op != Op::ListGet;
      default: return false;
    }
  }

  bool IsThere(uint32_t function) const {
    return function < m_.functions.size() && !m_.functions[function]->blocks.empty();
  }

  // --- nodes
  bool Nodes(const std::vector<Node>& nodes) {
    for (const Node& n : nodes) {
      if (!One(n)) return false;
    }
    return true;
  }
  // What is written in them is known to `yields` and then no more.
  bool Inner(const std::vector<Node>& nodes, const std::vector<Reg>& yields) {
    ++depth_;
    const bool good = Nodes(nodes) && UseAll(yields);
    --depth_;
    if (good) Close(nodes);
    return good;
  }
  bool Proofs(const Node& n) {
    for (const Proof& p : n.proofs) {
      if (n.kind != Kind::kCheck)
        relied_on_.insert(p.token);
      else if (relied_on_.contains(p.token))
        return Fail("a check comes behind what relies on it");
    }
    return true;
  }
  bool One(const Node& n) {
    if (!UseAll(n.args) || !Proofs(n)) return false;
    if (n.kind == Kind::kCall && !IsThere(n.callee)) return Fail("a function that is not there");
    if (n.kind == Kind::kFor && !DefineAll(n.results)) return false;
    if (!Inner(n.body, n.body_yields) || !Inner(n.other, n.other_yields)) return false;
    if (n.kind != Kind::kFor && !DefineAll(n.results)) return false;
    if (const char* wrong = WrongShape(m_, f_, n)) return Fail(wrong);
    if (n.kind == Kind::kFor) over_[n.results[0].id] = true;
    if (n.kind == Kind::kRetain) ++Held(n.args[0]);
    return !Consumes(n) || ConsumeAll(n.args);
  }

  // --- ends of blocks
  bool Passes(const ir::Edge& edge) {
    const ir::Values& params = f_.blocks[edge.block].params;
    if (edge.args.size() != params.size()) return Fail("an edge with the wrong number of values");
    for (size_t i = 0; i < params.size(); ++i) {
      if (!Use(edge.args[i])) return false;
      if (params[i].id >= f_.regs.size() || f_.TypeOf(edge.args[i]) != f_.TypeOf(params[i]))
        return Fail("an edge with a value of the wrong type");
    }
    return true;
  }
  bool Returns(ir::ValueSpan results) {
    if (results.size() != f_.results.size()) return Fail("a return of the wrong number of values");
    for (size_t i = 0; i < results.size(); ++i) {
      if (!Use(results[i])) return false;
      if (f_.TypeOf(results[i]) != f_.results[i]) return Fail("a return of the wrong type");
      if (!Consume(results[i])) return false;
    }
    return true;
  }
  bool Ends() {
    const Terminator& term = f_.blocks[block_].term;
    switch (term.kind) {
      case Terminator::Kind::kReturn: return Returns(term.results);
      case Terminator::Kind::kJump:
        if (term.edges.size() != 1) return Fail("a jump without its edge");
        return Passes(term.edges[0]) && ConsumeAll(term.edges[0].args);
      case Terminator::Kind::kBranch:
        if (term.edges.size() != 2) return Fail("a branch without its edges");
        if (!Use(term.cond)) return false;
        if (f_.TypeOf(term.cond) != Type::Bool()) return Fail("a branch on what is no condition");
        return Passes(term.edges[0]) && Passes(term.edges[1]);
      case Terminator::Kind::kNone: break;
    }
    return Fail("a block without an end");
  }

  const Module& m_;
  const Function& f_;
  const ir::Dominators* dominators_ = nullptr;
  uint32_t block_ = 0;
  int depth_ = 0;  // loops and branches that are open
  const char* what_ = "";
  std::vector<uint32_t> defined_in_;  // by register
  std::vector<bool> over_;            // the loop or branch that it is written in
  std::set<Reg> relied_on_;           // tokens
  std::vector<int> held_;
  std::vector<uint32_t> counted_in_;  // the block that `held_` speaks of
};

}  // namespace

Status Verify(const Module& module) {
  for (const auto& f : module.functions) PB_RETURN_IF_ERROR(FunctionVerifier(module, *f).Run());
  return {};
}

}  // namespace pullback::loops
