#include <algorithm>

#include "core/tensor/statement_edit.h"
#include "core/tensor/statement_texts.h"
#include "core/tensor/tensor_ssa.h"

namespace pullback::tensor {
namespace {

using ir::Inst;
using ir::Value;

// Indices of a gen in the order of its subscripts: the points of a reduction are in an order of their own.
void OrderIndices(ir::Each& each) {
  for (const ir::EachResult& r : each.results) {
    if (r.monoid != ir::Monoid::kGen) return;
  }
  absl::InlinedVector<ir::IndexVar, 2> ordered;
  const auto take = [&](Value v) {
    const auto is = [v](const ir::IndexVar& i) { return i.var == v; };
    const auto it = std::find_if(each.indices.begin(), each.indices.end(), is);
    if (it == each.indices.end() || std::any_of(ordered.begin(), ordered.end(), is)) return;
    ordered.push_back(*it);
  };
  for (const ir::EachResult& r : each.results) {
    for (const ir::Affine& a : r.out) ir::ForEachOperand(a, take);
  }
  for (const ir::IndexVar& i : each.indices) take(i.var);
  each.indices = std::move(ordered);
}

template <typename List>
void SortByText(List& list, const StatementTexts& texts) {
  std::sort(list.begin(), list.end(), [&](const ir::Constraint& a, const ir::Constraint& b) {
    return texts.Text(a) < texts.Text(b);
  });
  list.resize(static_cast<size_t>(std::unique(list.begin(), list.end()) - list.begin()));
}

// The body in the order in which its result is put together; equal expressions once.
class BodyOrder {
 public:
  BodyOrder(ir::Each& each, const StatementTexts& texts) : each_(each), texts_(texts) {}

  void Run() {
    for (const ir::EachResult& r : each_.results) {
      Visit(r.value);
      Visit(r.second);
      Visit(r.guard);
      for (const ir::Affine& a : r.out) ir::ForEachOperand(a, [&](Value v) { Visit(v); });
    }
    each_.body = std::move(ordered_);
  }

 private:
  void Visit(Value v) {
    const Inst* def = v.valid() ? FindDef(each_, v) : nullptr;
    if (!def || std::find(done_.begin(), done_.end(), def) != done_.end()) return;
    done_.push_back(def);
    Inst copy = *def;
    if ((ir::Info(copy.op).flags & ir::kCommutes) != 0 &&
        texts_.Text(copy.args[1]) < texts_.Text(copy.args[0]))
      std::swap(copy.args[0], copy.args[1]);
    SortByText(copy.constraints, texts_);
    ir::ForEachOperand(copy, [&](Value w) { Visit(w); });
    ordered_.push_back(std::move(copy));
  }

  ir::Each& each_;
  const StatementTexts& texts_;
  std::vector<const Inst*> done_;
  std::vector<Inst> ordered_;
};

// One instruction for equal ones of the body.
void ShareOperands(Inst& statement, const StatementTexts& texts) {
  std::unordered_map<std::string, Value> first;
  std::unordered_map<uint32_t, Value> same;
  for (const Inst& inst : statement.each->body) {
    for (Value v : inst.results) {
      const auto [it, fresh] = first.emplace(texts.Text(v), v);
      if (!fresh) same[v.id] = it->second;
    }
  }
  if (same.empty()) return;
  ReplaceValues(statement, same);
  PruneBody(*statement.each);
}

void NameInOrder(const ir::Each& each, ir::Function& f) {
  for (size_t i = 0; i < each.indices.size(); ++i)
    f.names[each.indices[i].var.id] = "i" + std::to_string(i);
  size_t next = 0;
  for (const Inst& inst : each.body) {
    for (Value v : inst.results) f.names[v.id] = "t" + std::to_string(next++);
  }
}

}  // namespace

void NameCanonically(ir::Function& f) {
  StatementTexts texts(f);
  for (ir::Block& b : f.blocks) {
    for (Inst& inst : b.insts) {
      if (!inst.each) continue;
      OrderIndices(*inst.each);
      texts.Enter(*inst.each);
      ShareOperands(inst, texts);
      SortByText(inst.each->where, texts);
      BodyOrder(*inst.each, texts).Run();
      NameInOrder(*inst.each, f);
    }
  }
}

void EliminateCommonStatements(ir::Function& f) {
  StatementTexts texts(f);
  std::unordered_map<uint32_t, Value> same;
  for (ir::Block& b : f.blocks) {
    std::unordered_map<std::string, ir::Values> first;
    std::erase_if(b.insts, [&](Inst& inst) {
      ReplaceValues(inst, same);
      if (!inst.each) return false;
      texts.Enter(*inst.each);
      const auto [it, fresh] = first.emplace(texts.Key(*inst.each), inst.results);
      if (fresh) return false;
      for (size_t r = 0; r < inst.results.size(); ++r) same[inst.results[r].id] = it->second[r];
      return true;
    });
  }
  ReplaceValues(f, same);
}

}  // namespace pullback::tensor
