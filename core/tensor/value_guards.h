// Where values of a statement's body are 0, by what defines them.
#pragma once

#include <set>
#include <unordered_map>

#include "core/ir/ir.h"

namespace pullback::tensor {

// What is found of a body's values by what defines them; of each value once.
template <typename Found>
class OfValues {
 protected:
  OfValues(const ir::Each& each, const ir::Function& f) : each_(each), f_(f) {
    for (const ir::Inst& inst : each.body) {
      for (ir::Value v : inst.results) definitions_[v.id] = &inst;
    }
  }

  using Known = std::unordered_map<uint32_t, Found>;
  const ir::Inst* DefOf(ir::Value v) const {
    const auto it = definitions_.find(v.id);
    return it == definitions_.end() ? nullptr : it->second;
  }
  template <typename Find>
  Found Look(Known& known, ir::Value v, const Find& find) {
    const ir::Inst* def = DefOf(v);
    if (!def || depth_ == kDeepest) return Found{};
    if (const auto it = known.find(v.id); it != known.end()) return it->second;
    ++depth_;
    Found found = find(*def);
    --depth_;
    return known[v.id] = std::move(found);
  }
  bool IsZero(ir::Value v) const {
    const ir::Inst* def = DefOf(v);
    return def && def->op == ir::Op::Const && def->bits == 0;
  }

  const ir::Each& each_;
  const ir::Function& f_;

 private:
  static constexpr int kDeepest = 100;  // operands of operands

  std::unordered_map<uint32_t, const ir::Inst*> definitions_;
  int depth_ = 0;
};

// Guards outside of which values of a body are 0.
class GuardsOfValues : private OfValues<ir::Value> {
 public:
  GuardsOfValues(const ir::Each& each, const ir::Function& f) : OfValues(each, f) {}

  // Where this is false the value is 0; kNoValue: nothing is known.
  ir::Value Of(ir::Value v);

 private:
  ir::Value OfAbsent(ir::Value v);
  ir::Value OfValue(const ir::Inst& def, ir::Value v);
  ir::Value OfSelect(const ir::Inst& def);

  Known values_, absent_;
};

// What holds wherever a value of a body is not 0: more than one guard says, as a product has with any of its factors.
class NeedsOfValues : private OfValues<std::set<ir::Value>> {
 public:
  NeedsOfValues(const ir::Each& each, const ir::Function& f) : OfValues(each, f) {}

  // Bools of the body.
  std::set<ir::Value> Of(ir::Value v);

 private:
  std::set<ir::Value> OfAbsent(ir::Value v);
  std::set<ir::Value> OfValue(const ir::Inst& def, ir::Value v);
  std::set<ir::Value> OfSelect(const ir::Inst& def);

  Known values_, absent_;
};

}  // namespace pullback::tensor
