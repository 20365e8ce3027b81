// Says of each statement whether it is in the form that a pass promises.
#include <algorithm>
#include <set>

#include "core/ir/printer.h"
#include "core/tensor/body_graph.h"
#include "core/tensor/copies.h"
#include "core/tensor/statement_edit.h"
#include "core/tensor/statement_texts.h"
#include "core/tensor/tensor_ssa.h"

namespace pullback::tensor {
namespace {

using ir::Inst;
using ir::Value;

// Each gives what is wrong, or "".

std::string CheckLets(const ir::Each& each, const BodyGraph& graph) {
  for (size_t k = 0; k < each.body.size(); ++k) {
    if (!graph.IsOp(k)) continue;
    if (graph.IsShared(k)) return "an op has several readers";
    if (!graph.NeedsAll(k)) return "an op does not need every index";
  }
  return {};
}

std::string CheckPairs(const ir::Each& each, const BodyGraph& graph) {
  if (each.results.size() == 1) return {};
  for (size_t k = 0; k < each.body.size(); ++k) {
    if (graph.IsOp(k) && graph.IsStoredWhole(k)) return {};
  }
  return "several results that are no black box's";
}

bool IsHolds(const Inst* def) { return def && def->op == ir::Op::Holds; }

bool SpeaksOfBody(const ir::Each& each, ir::ConstraintSpan constraints) {
  bool body = false;
  for (const ir::Constraint& c : constraints)
    ir::ForEachOperand(c.e, [&](Value v) { body |= FindDef(each, v) != nullptr; });
  return body;
}

std::string CheckGuards(const ir::Each& each) {
  for (const Inst& inst : each.body) {
    const Inst* outer = inst.guard.valid() ? FindDef(each, inst.guard) : nullptr;
    if (IsHolds(&inst) && IsHolds(outer)) return "a predicate is under another one";
    if (inst.op != ir::Op::And || inst.guard.valid()) continue;
    const Inst* a = FindDef(each, inst.args[0]);
    const Inst* b = FindDef(each, inst.args[1]);
    if (IsHolds(a) && IsHolds(b) && !a->guard.valid() && !b->guard.valid())
      return "a conjunction of affine predicates is not one predicate";
  }
  if (each.results.size() != 1) return {};
  const Inst* guard =
      each.results[0].guard.valid() ? FindDef(each, each.results[0].guard) : nullptr;
  if (IsHolds(guard) && !guard->guard.valid() && !SpeaksOfBody(each, guard->constraints))
    return "the predicate of the whole statement is not in `where`";
  return {};
}

std::string CheckOps(const ir::Each& each, const BodyGraph& graph) {
  for (size_t k = 0; k < each.body.size(); ++k) {
    if (graph.IsOp(k) && !graph.IsStoredWhole(k)) return "an op is not what the statement stores";
  }
  return {};
}

std::string CheckNames(const Inst& inst, const ir::Function& f) {
  const ir::Each& each = *inst.each;
  size_t next = 0;
  for (const ir::IndexVar& i : each.indices) {
    if (f.names[i.var.id] != "i" + std::to_string(next++)) return "an index's name";
  }
  next = 0;
  std::set<std::string> seen;
  StatementTexts texts(f);
  texts.Enter(each);
  const auto sorted = [&](ir::ConstraintSpan list) {
    return std::is_sorted(list.begin(), list.end(), [&](const auto& a, const auto& b) {
      return texts.Text(a) < texts.Text(b);
    });
  };
  if (!sorted(each.where)) return "constraints out of order";
  for (const Inst& body : each.body) {
    const bool commutes = (ir::Info(body.op).flags & ir::kCommutes) != 0;
    if (commutes && texts.Text(body.args[1]) < texts.Text(body.args[0]))
      return "operands out of order";
    if (!sorted(body.constraints)) return "constraints out of order";
    for (Value v : body.results) {
      if (f.names[v.id] != "t" + std::to_string(next++)) return "a body value's name";
      if (!seen.insert(texts.Text(v)).second) return "an expression stands twice in a body";
    }
  }
  return {};
}

std::string CheckStatement(const Inst& inst, const ir::Function& f,
                           const analysis::OuterValues& outer, NormalForm form) {
  const BodyGraph graph(*inst.each, f, outer);
  std::string wrong = CheckLets(*inst.each, graph);
  if (wrong.empty() && form >= NormalForm::kPairsEliminated) wrong = CheckPairs(*inst.each, graph);
  if (wrong.empty() && form >= NormalForm::kGensPushedOut) wrong = CheckGuards(*inst.each);
  if (wrong.empty() && form >= NormalForm::kTensorSsa) wrong = CheckOps(*inst.each, graph);
  if (wrong.empty() && form >= NormalForm::kCanonical) wrong = CheckNames(inst, f);
  return wrong;
}

std::string CheckSignature(const ir::Function& f) {
  const auto plain = [](ir::Type t) { return t.IsScalar() || t.IsArray(); };
  for (Value v : f.params()) {
    if (!plain(f.TypeOf(v))) return "a parameter that is neither scalar nor array";
  }
  return std::all_of(f.results.begin(), f.results.end(), plain)
             ? ""
             : "a result that is neither scalar nor array";
}

Status Wrong(const ir::Function& f, Value at, const std::string& what) {
  const std::string name = at.valid() ? " %" + f.names[at.id] : "";
  return {Code::kInternal, "NOT_NORMAL", "@" + f.name + name + ": " + what};
}

}  // namespace

Status VerifyNormalForm(const ir::Module& module, NormalForm form) {
  for (const auto& f : module.functions) {
    StatementTexts texts(*f);
    const analysis::OuterValues outer(*f);
    for (const ir::Block& b : f->blocks) {
      std::set<std::string> keys;
      Extents extents;
      for (const Inst& inst : b.insts) {
        extents.Learn(inst);
        if (!inst.each) continue;
        if (form >= NormalForm::kTensorSsa && CopiedArray(inst, extents).valid())
          return Wrong(*f, inst.results[0], "a copy of an array");
        const std::string wrong = CheckStatement(inst, *f, outer, form);
        if (!wrong.empty()) return Wrong(*f, inst.results[0], wrong);
        if (form >= NormalForm::kPairsEliminated && !CheckSignature(*f).empty())
          return Wrong(*f, ir::kNoValue, CheckSignature(*f));
        texts.Enter(*inst.each);
        if (!keys.insert(texts.Key(*inst.each)).second && form >= NormalForm::kCanonical)
          return Wrong(*f, inst.results[0], "an equal statement stands before it");
      }
    }
  }
  return {};
}

}  // namespace pullback::tensor
