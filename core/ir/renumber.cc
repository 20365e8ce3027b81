#include "core/ir/renumber.h"

#include <utility>

namespace pullback::ir {
namespace {

class Renumbering {
 public:
  explicit Renumbering(Function& f) : f_(f), to_(f.values.size()) {}

  void Run() {
    for (Block& b : f_.blocks) {
      for (Value& v : b.params) Define(v);
      for (Inst& inst : b.insts) Define(inst);
    }
    const auto rename = [&](Value& v) { v = to_[v.id]; };
    for (Block& b : f_.blocks) {
      for (Inst& inst : b.insts) {
        ForEachOperand(inst, rename);
        CanonicaliseAffines(inst);
      }
      ForEachTermOperand(b.term, rename);
    }
    f_.values = std::move(values_);
    f_.names = std::move(names_);
  }

 private:
  void Define(Value& v) {
    to_[v.id] = Value{static_cast<uint32_t>(values_.size())};
    values_.push_back(f_.values[v.id]);
    names_.push_back(std::move(f_.names[v.id]));
    v = to_[v.id];
  }
  void Define(Inst& inst) {
    if (inst.each) {
      for (IndexVar& i : inst.each->indices) Define(i.var);
      for (Inst& body : inst.each->body) Define(body);
    }
    for (Value& v : inst.results) Define(v);
  }

  Function& f_;
  std::vector<Value> to_;  // by old number
  std::vector<Type> values_;
  std::vector<std::string> names_;
};

}  // namespace

void Renumber(Function& f) { Renumbering(f).Run(); }

}  // namespace pullback::ir
