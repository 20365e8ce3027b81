#include "core/tensor/statement_edit.h"

#include <algorithm>
#include <unordered_set>

#include "core/ir/append.h"

namespace pullback::tensor {

using ir::Affine;
using ir::Inst;
using ir::Value;

bool IsWithin(const ir::Each& each, Value guard, const Affine& e, Value extent) {
  const bool first = e == Affine::Const(0);
  if (first && std::any_of(each.indices.begin(), each.indices.end(),
                           [&](const ir::IndexVar& i) { return i.extent == extent; }))
    return true;
  const Affine to = Affine::Of(extent) - e - Affine::Const(1);
  bool above = false, below = false;
  for (const ir::Constraint& c : ir::ConstraintsAt(each, guard)) {
    above |= !c.equality && c.e == e;
    below |= !c.equality && c.e == to;
  }
  return above && below;
}

bool RunsAgainst(const ir::Each& each, Value index, Value guard) {
  const auto is_element = [&](Value v) {
    return std::any_of(each.results.begin(), each.results.end(),
                       [&](const ir::EachResult& r) { return CountNaming(r, v) != 0; });
  };
  if (!PlaceOfIndex(each, index) || is_element(index)) return false;
  const std::vector<ir::Constraint> known = ir::ConstraintsAt(each, guard);
  return std::any_of(each.indices.begin(), each.indices.end(), [&](const ir::IndexVar& other) {
    const auto has_sum = [&](int64_t sign) {
      return std::any_of(known.begin(), known.end(), [&](const ir::Constraint& c) {
        return c.e.Coeff(index) == sign && c.e.Coeff(other.var) == sign;
      });
    };
    return other.var != index && is_element(other.var) && has_sum(1) && has_sum(-1);
  });
}

bool WalksAcrossRows(const ir::Each& each, bool with_results) {
  return !each.indices.empty() && WalksAcrossRows(each, each.indices.back().var, with_results);
}

bool WalksAcrossRows(const ir::Each& each, Value index, bool with_results) {
  std::set<Value> run = {index};  // with that index: itself, and what it reads
  const auto runs = [&](const Affine& a) {
    return std::any_of(a.terms.begin(), a.terms.end(),
                       [&](const Affine::Term& t) { return run.contains(t.value); });
  };
  const auto across = [&](ir::AffineSpan subs) {
    return std::any_of(subs.begin(), subs.end() - (subs.empty() ? 0 : 1), runs);
  };
  for (const Inst& inst : each.body) {
    if (inst.op == ir::Op::Index && across(inst.subs)) return true;
    bool reads = false;
    ir::ForEachOperand(inst, [&](Value v) { reads |= run.contains(v); });
    if (reads) run.insert(inst.results.begin(), inst.results.end());
  }
  return with_results && std::any_of(each.results.begin(), each.results.end(),
                                     [&](const ir::EachResult& r) { return across(r.out); });
}

bool StoresByData(const ir::Each& each, const ir::EachResult& r) {
  return std::any_of(r.out.begin(), r.out.end(), [&](const Affine& sub) {
    return std::any_of(sub.terms.begin(), sub.terms.end(),
                       [&](const Affine::Term& t) { return FindDef(each, t.value) != nullptr; });
  });
}

size_t CountNaming(const ir::EachResult& r, Value v) {
  return static_cast<size_t>(
      std::count_if(r.out.begin(), r.out.end(), [v](const Affine& a) { return a.Coeff(v) != 0; }));
}

Affine Mirrored(const Affine& sub, Value extent) {
  return Affine::Of(extent) - Affine::Const(1) - sub;
}

Value MirroredIndex(const ir::Each& each, const Affine& sub, Value extent) {
  const Value index = Mirrored(sub, extent).AsValue();
  return PlaceOfIndex(each, index) ? index : Value();
}

bool HasElementByIndices(const ir::Each& each, const ir::EachResult& r) {
  for (size_t axis = 0; axis < r.out.size(); ++axis) {
    const Value v = r.out[axis].AsValue();
    const auto place = PlaceOfIndex(each, v);
    if (!place || each.indices[*place].extent != r.shape[axis] || CountNaming(r, v) != 1)
      return false;
  }
  return true;
}

namespace {

void Substitute(Affine& a, Value v, const Affine& e) { a = a.Substitute(v, e); }

// Instructions that take the index itself as an operand need it as a value.
void MaterialiseOperandUses(ir::Each& each, ir::Function& f, Value v, const Affine& e) {
  const auto uses = [v](ir::ValueSpan args) {
    return std::find(args.begin(), args.end(), v) != args.end();
  };
  bool used = std::any_of(each.body.begin(), each.body.end(),
                          [&](const Inst& inst) { return uses(inst.args); });
  for (const ir::EachResult& r : each.results) used |= r.value == v || r.second == v;
  if (!used) return;
  Inst made;
  made.op = ir::Op::AffineOf;
  made.subs = {e};
  made.results = {f.NewValue(ir::Type::I64(), f.names[v.id])};
  const Value value = made.results[0];
  for (Inst& inst : each.body) std::replace(inst.args.begin(), inst.args.end(), v, value);
  for (ir::EachResult& r : each.results) {
    if (r.value == v) r.value = value;
    if (r.second == v) r.second = value;
  }
  each.body.insert(each.body.begin(), std::move(made));
}

}  // namespace

void SubstituteIndex(ir::Each& each, ir::Function& f, Value v, const Affine& e) {
  MaterialiseOperandUses(each, f, v, e);
  for (ir::Constraint& c : each.where) Substitute(c.e, v, e);
  for (Inst& inst : each.body) {
    for (Affine& a : inst.subs) Substitute(a, v, e);
    for (ir::Constraint& c : inst.constraints) Substitute(c.e, v, e);
  }
  for (ir::EachResult& r : each.results) {
    for (Affine& a : r.out) Substitute(a, v, e);
  }
}

void AddRange(ir::Each& each, const Affine& e, Value extent) {
  for (const ir::IndexVar& i : each.indices) {
    if (i.extent == extent && e.AsValue() == i.var) return;
  }
  each.where.push_back({e, false});
  each.where.push_back({Affine::Of(extent) - e - Affine::Const(1), false});
}

Affine SolveFor(const Affine& e, Value v) {
  Affine rest = e;
  rest.terms.erase(std::remove_if(rest.terms.begin(), rest.terms.end(),
                                  [v](const Affine::Term& t) { return t.value == v; }),
                   rest.terms.end());
  return e.Coeff(v) == 1 ? rest * -1 : rest;
}

CopiedStatement CopyWithResult(const Inst& inst, size_t result, ir::Function& f) {
  Inst one = inst;
  one.each->results = {one.each->results[result]};
  one.results = {inst.results[result]};
  return CopyStatement(one, f);
}

CopiedStatement CopyStatement(const Inst& inst, ir::Function& f) {
  CopiedStatement copy{inst, {}};
  ir::Each& each = *copy.inst.each;
  const auto fresh = [&](Value& v) {
    const Value made = f.NewLike(f, v);
    copy.fresh[v.id] = made;
    v = made;
  };
  for (ir::IndexVar& i : each.indices) fresh(i.var);
  for (Inst& body : each.body) {
    for (Value& v : body.results) fresh(v);
  }
  ir::ForEachOperand(copy.inst, [&](Value& v) {
    if (const auto it = copy.fresh.find(v.id); it != copy.fresh.end()) v = it->second;
  });
  ir::CanonicaliseAffines(copy.inst);
  PruneBody(each);
  return copy;
}

void ReplaceValues(Inst& inst, const std::unordered_map<uint32_t, Value>& by) {
  ir::ForEachOperand(inst, [&](Value& v) {
    if (const auto it = by.find(v.id); it != by.end()) v = it->second;
  });
  ir::CanonicaliseAffines(inst);
}

void ReplaceValues(ir::Function& f, const std::unordered_map<uint32_t, Value>& by) {
  for (ir::Block& b : f.blocks) {
    for (Inst& inst : b.insts) ReplaceValues(inst, by);
    ir::ForEachTermOperand(b.term, [&](Value& v) {
      if (const auto it = by.find(v.id); it != by.end()) v = it->second;
    });
  }
}

namespace {

// Then it stays a value of the body.
bool IsGuard(const ir::Each& each, Value v) {
  const auto is_guard = [&](const auto& of) { return of.guard == v; };
  return std::any_of(each.body.begin(), each.body.end(), is_guard) ||
         std::any_of(each.results.begin(), each.results.end(), is_guard);
}

}  // namespace

void ReadNumbers(Inst& inst, const std::unordered_map<uint32_t, Value>& numbers) {
  std::unordered_map<uint32_t, Value> everywhere;
  for (Inst& read : inst.each->body) {
    const auto number = read.results.empty() ? numbers.end() : numbers.find(read.results[0].id);
    if (number == numbers.end()) continue;
    if (read.guard.valid()) {
      read.op = ir::Op::Select;
      read.subs = {};
      read.args = {read.guard, number->second, number->second};
    } else if (IsGuard(*inst.each, read.results[0])) {
      read.op = ir::Op::And;
      read.subs = {};
      read.args = {number->second, number->second};
    } else {
      everywhere.insert(*number);
    }
  }
  if (everywhere.empty()) return;
  std::erase_if(inst.each->body, [&](const Inst& read) {
    return !read.results.empty() && everywhere.contains(read.results[0].id);
  });
  ReplaceValues(inst, everywhere);
}

void CheckSize(Value size, uint32_t loc, ir::Function& f, std::vector<Inst>& out) {
  ir::Appender made(f, out, loc);
  const Value in_range = made.Make(ir::Op::Ge, ir::Type::Bool(), {size, made.Number({})});
  made.Check(in_range, ir::TrapKind::kNegativeSize, {size});
}

void PruneBody(ir::Each& each) {
  std::unordered_set<uint32_t> live;
  const auto mark = [&](Value v) { live.insert(v.id); };
  for (const ir::EachResult& r : each.results) {
    mark(r.value);
    if (r.guard.valid()) mark(r.guard);
    if (r.second.valid()) mark(r.second);
    for (const Affine& a : r.out) ir::ForEachOperand(a, mark);
  }
  std::vector<Inst> kept;
  for (auto inst = each.body.rbegin(); inst != each.body.rend(); ++inst) {
    const bool needed = std::any_of(inst->results.begin(), inst->results.end(),
                                    [&](Value v) { return live.count(v.id) != 0; });
    if (!needed) continue;
    ir::ForEachOperand(*inst, mark);
    kept.push_back(std::move(*inst));
  }
  std::reverse(kept.begin(), kept.end());
  each.body = std::move(kept);
}

}  // namespace pullback::tensor
