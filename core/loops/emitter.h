// Writes nodes of one function. Nodes go into the innermost open scope; integer arithmetic on
// subscripts and bounds goes into the outermost scope where its operands are known, with constants
// folded and equal expressions shared, which is what keeps the innermost loops small.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "core/ir/ir.h"
#include "core/loops/loops.h"

namespace pullback::loops {

class Emitter {
 public:
  // Registers below f.regs.size() exist already and are known everywhere.
  explicit Emitter(Function& f) : f_(f) {}

  Function& function() { return f_; }
  ir::Type TypeOf(Reg r) const { return f_.TypeOf(r); }

  // --- scopes. A block is scope 0; Open and Close nest.
  void BeginBlock();
  std::vector<Node> EndBlock();
  void Open();
  std::vector<Node> Close();
  size_t scope() const { return scopes_.size() - 1; }

  // --- nodes, into the innermost scope
  Node& Append(Node node);  // its results are known from here to the end of the scope
  Reg Scalar(ir::Op op, std::vector<Reg> args, ir::Type result, Reg into = ir::kNoValue);
  // `about`: its rows and proofs (Node), of what is accessed.
  struct About {
    Rows rows;
    std::vector<Proof> proofs;
  };
  Reg Load(Reg array, Reg offset, Reg into = ir::kNoValue, About about = {});
  void Store(Reg array, Reg offset, Reg value, std::vector<Reg> apart = {}, About about = {});
  void Effect(Node::Kind kind, std::vector<Reg> args);  // retain, release
  // Nothing where a check in front, in a scope that is open, has the same condition: that one proves this, too.
  void Check(Reg condition, ir::TrapKind kind, uint32_t loc, std::vector<Reg> details = {},
             std::vector<Proof> proofs = {});
  // Where in the program the loops that follow come from (ir::Inst::loc).
  void At(uint32_t loc) { loc_ = loc; }
  // An index that runs over [lo, hi) in a new scope, until CloseFor.
  Reg OpenFor(Reg lo, Reg hi, Reg index);
  void CloseFor();
  // Closes the innermost scope, of an Open, as the body of `node`, which defines nothing.
  void CloseInto(Node node);
  void OpenIf(Reg condition);
  void CloseIf() { CloseIf({}, {}); }
  // results[i] takes yields[i] where the condition held, 0 elsewhere.
  void CloseIf(std::vector<Reg> results, std::vector<Reg> yields);

  // --- constants: in scope 0, one per value
  Reg Const(ir::Type t, uint64_t bits);
  Reg I64(int64_t v) { return Const(ir::Type::I64(), static_cast<uint64_t>(v)); }
  Reg Zero(ir::Type t) { return Const(t, 0); }
  void SetConstant(Reg r, uint64_t bits) { constants_[r.id] = bits; }
  std::optional<int64_t> AsI64(Reg r) const;

  // --- integer arithmetic, floating outwards
  Reg Add(Reg a, Reg b);
  Reg Sub(Reg a, Reg b);
  Reg Mul(Reg a, Reg b);
  Reg Min(Reg a, Reg b);
  Reg Max(Reg a, Reg b);
  Reg Div(Reg a, int64_t positive);
  Reg Rem(Reg a, int64_t positive);
  Reg Select(Reg condition, Reg a, Reg b);
  Reg Compare(ir::Op op, Reg a, Reg b);
  Reg And(Reg a, Reg b);  // either may be kNoValue: true
  // The value of an affine form whose values are registers, plus `base` if valid.
  Reg Linear(const ir::Affine& a, Reg base = ir::kNoValue);
  Reg Holds(const ir::Constraint& c);

  // --- extents: in scope 0, once per block. `root`: an array of the same extents that stands for all
  // of its kind (an array before its updates), so that they share.
  Reg Dim(Reg array, int axis, Reg root);
  // Row-major offset of an element in an array with these extents.
  Reg Offset(ir::AffineSpan subs, const std::vector<Reg>& extents);

 private:
  using Key = std::tuple<ir::Op, DType, uint64_t, std::vector<Reg>>;
  struct Scope {
    std::vector<Node> nodes;
    std::map<Key, Reg> known;
    std::map<Reg, size_t> checked;  // conditions, and the node that traps unless they hold
    std::vector<Reg> pending;  // OpenFor, OpenIf: results and arguments of the node being built
  };

  size_t ScopeOf(Reg r) const { return r.id < scope_of_.size() ? scope_of_[r.id] : 0; }
  void Define(Reg r, size_t scope);
  // The shared register for a pure node in the outermost scope where `args` are known.
  Reg Shared(ir::Op op, ir::Type t, uint64_t bits, std::vector<Reg> args);
  // kNoValue when `key` has to be made in this scope, to be entered with Remember.
  Reg Find(const Key& key, size_t scope) const;
  Reg Remember(const Key& key, Node node, ir::Type t, size_t scope);
  Reg Arithmetic(ir::Op op, Reg a, Reg b);
  Reg AddTerm(Reg sum, const ir::Affine::Term& term);
  void AddConstant(Reg& sum, int64_t& constant);

  uint32_t loc_ = 0;  // of loops
  Function& f_;
  std::vector<Scope> scopes_;
  std::map<Key, Reg> entry_;  // what scope 0 of the entry block knows: it dominates every block
  bool in_entry_ = true;
  std::vector<size_t> scope_of_;
  std::map<uint32_t, uint64_t> constants_;
};

}  // namespace pullback::loops
