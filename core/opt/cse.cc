// Value numbering by text over the dominator tree: an instruction's key is its op, operands and
// payload; an equal one that dominates it stands for it.
#include <map>
#include <string>

#include "core/ir/dominance.h"
#include "core/opt/rename.h"
#include "core/opt/simplify.h"

namespace pullback::opt {
namespace {

using ir::Inst;
using ir::Value;

void Put(std::string& key, uint64_t n) { key.append(reinterpret_cast<const char*>(&n), sizeof n); }
void Put(std::string& key, const ir::Affine& a) {
  Put(key, static_cast<uint64_t>(a.constant));
  Put(key, a.terms.size());
  for (const ir::Affine::Term& t : a.terms) {
    Put(key, t.value.id);
    Put(key, static_cast<uint64_t>(t.coeff));
  }
}

// Empty for what may not be shared.
std::string KeyOf(const Inst& inst, const ir::Function& f) {
  if (inst.results.size() != 1 || (ir::Info(inst.op).flags & ir::kEffect) || inst.each) return {};
  const ir::Type t = f.TypeOf(inst.results[0]);
  if (t.IsArray() || t.IsList())
    return {};  // sharing an array would cost an update its unique owner
  std::string key;
  Put(key, static_cast<uint64_t>(inst.op));
  Put(key, static_cast<uint64_t>(t.elem));
  Put(key, inst.guard.id);
  Put(key, inst.bits);
  ir::Values args = inst.args;
  if ((ir::Info(inst.op).flags & ir::kCommutes) && args[1] < args[0]) std::swap(args[0], args[1]);
  for (Value v : args) Put(key, v.id);
  for (const ir::Affine& a : inst.subs) Put(key, a);
  for (const ir::Constraint& c : inst.constraints) {
    Put(key, c.equality);
    Put(key, c.e);
  }
  return key;
}

// Ancestors looked at: keeps long chains of arms linear.
constexpr int kMaxDepth = 32;

class Numbering {
 public:
  explicit Numbering(ir::Function& f) : f_(f), renaming_(f) {}

  bool Run() {
    const ir::Dominators dominators(f_);
    const size_t n = f_.blocks.size();
    tables_.resize(n);
    parents_.assign(n, -1);
    for (uint32_t b : dominators.order()) {
      if (b != 0) parents_[b] = static_cast<int>(dominators.Idom(b));
      for (Inst& inst : f_.blocks[b].insts) Visit(inst, b);
      renaming_.Apply(f_.blocks[b].term);
    }
    renaming_.Apply(f_);
    return renaming_.any();
  }

 private:
  using Table = std::map<std::string, Value>;

  void Visit(Inst& inst, uint32_t b) {
    renaming_.Apply(inst);
    if (inst.each) VisitBody(*inst.each);
    const std::string key = KeyOf(inst, f_);
    if (key.empty()) return;
    int steps = 0;
    for (int at = static_cast<int>(b); at >= 0 && steps < kMaxDepth;
         at = parents_[static_cast<size_t>(at)], ++steps) {
      const Table& table = tables_[static_cast<size_t>(at)];
      if (const auto it = table.find(key); it != table.end()) {
        renaming_.Set(inst.results[0], it->second);
        return;
      }
    }
    tables_[b][key] = inst.results[0];
  }

  void VisitBody(ir::Each& each) {
    Table table;
    for (Inst& inst : each.body) {
      renaming_.Apply(inst);
      const std::string key = KeyOf(inst, f_);
      if (key.empty()) continue;
      const auto [it, fresh] = table.emplace(key, inst.results[0]);
      if (!fresh) renaming_.Set(inst.results[0], it->second);
    }
    // The results are renamed by the final Apply over the function.
  }

  ir::Function& f_;
  Renaming renaming_;
  std::vector<Table> tables_;
  std::vector<int> parents_;
};

}  // namespace

bool EliminateCommonSubexpressions(ir::Function& f) { return Numbering(f).Run(); }

}  // namespace pullback::opt
