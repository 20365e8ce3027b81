#include "core/ir/verifier.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "core/ir/dominance.h"
#include "core/ir/names.h"
#include "core/ir/verify_insts.h"
#include "core/ir/verify_tapes.h"

namespace pullback::ir {
namespace {

// A point of a function: an instruction of a block (0: the parameters, i + 1: instruction i, one
// more: the terminator) and, inside a statement, of its body in the same way (0: the indices).
struct Place {
  static constexpr uint32_t kOutside = UINT32_MAX;
  uint32_t block = kNoBlock;
  uint32_t inst = 0;
  uint32_t body = kOutside;

  bool InBody() const { return body != kOutside; }
  bool InSameBody(const Place& o) const {
    return InBody() && o.InBody() && block == o.block && inst == o.inst;
  }
};

class FunctionVerifier {
 public:
  FunctionVerifier(const Function& f, const Module& m) : f_(f), m_(m), defined_(f.values.size()) {}

  Status Run() {
    const bool ok = CheckDefinitions() && CheckTerminators() && CheckReachable() && CheckBlocks() &&
                    CheckTapes() && CheckRules();
    return ok ? Status() : Status(Code::kInternal, "IR_INVALID", message_);
  }

 private:
  bool Fail(const Place& at, const std::string& message);
  bool FailUse(const Place& at, Value v, const std::string& message);

  // --- invariant 1: definitions
  bool CheckDefinitions();
  bool Define(Value v, const Place& at);
  bool DefineInst(const Inst& inst, Place at);
  bool CheckTyped(ValueSpan vs, const Place& at);

  // --- invariants 3 and 4: the shape of the graph, before anything walks it
  bool CheckTerminators();
  bool CheckReachable();
  bool CheckTerminatorTypes(const Terminator& t, const Place& at);
  bool CheckEdge(const Edge& e, const Place& at);

  // --- uses and instructions
  bool CheckBlocks();
  bool IsVisible(Value v, const Place& at) const;
  bool CheckUse(Value v, const Place& at);
  bool CheckInst(const Inst& inst, const Place& at);
  bool CheckUses(const Inst& inst, const Place& at);
  bool CheckEach(const Inst& inst, Place at);
  bool CheckGuard(Value guard, const Place& at);
  bool CheckBodyInst(const Inst& inst, const Place& at);
  bool CheckAffineUses(const Affine& a, const Place& at);
  bool CheckTapes();
  bool CheckRules() {
    const std::string wrong = internal::CheckRules(f_, m_);
    return wrong.empty() || Fail({}, wrong);
  }

  const Function& f_;
  const Module& m_;
  std::vector<Place> defined_;
  std::optional<Dominators> dominators_;
  std::string message_;
};

// --- messages

bool FunctionVerifier::Fail(const Place& at, const std::string& message) {
  message_ = FunctionName(f_.name);
  if (at.block < f_.blocks.size()) {
    message_ += ", b" + std::to_string(at.block);
    const std::vector<Inst>& insts = f_.blocks[at.block].insts;
    if (at.inst > insts.size()) {
      message_ += ", terminator";
    } else if (at.inst > 0) {
      const Inst& inst = insts[at.inst - 1];
      message_ += ", instruction " + std::to_string(at.inst - 1) + " (" + Info(inst.op).mnemonic;
      if (at.InBody() && at.body > 0 && at.body <= inst.each->body.size()) {
        message_ += ", body " + std::to_string(at.body - 1) + ", " +
                    Info(inst.each->body[at.body - 1].op).mnemonic;
      }
      message_ += ")";
    }
  }
  message_ += ": " + message;
  return false;
}

bool FunctionVerifier::FailUse(const Place& at, Value v, const std::string& message) {
  const bool named = v.id < f_.values.size() && defined_[v.id].block != kNoBlock;
  return Fail(at, (named ? Names(f_).Text(v) : "value " + std::to_string(v.id)) + " " + message);
}

// --- invariant 1: definitions

bool FunctionVerifier::Define(Value v, const Place& at) {
  if (v.id >= f_.values.size()) return Fail(at, "defines a value that does not exist");
  if (defined_[v.id].block != kNoBlock) return FailUse(at, v, "is defined twice");
  defined_[v.id] = at;
  return true;
}

bool FunctionVerifier::CheckTyped(ValueSpan vs, const Place& at) {
  for (Value v : vs) {
    const Type t = f_.TypeOf(v);
    const bool typed = t.IsScalar() || t.IsTape() || (t.IsArray() && t.rank > 0) ||
                       (t.HasRecord() && t.record < m_.records.size());
    if (!typed) return FailUse(at, v, "has no type");
  }
  return true;
}

bool FunctionVerifier::DefineInst(const Inst& inst, Place at) {
  for (Value v : inst.results) {
    if (!Define(v, at)) return false;
  }
  if (!inst.each) return true;
  if (at.InBody()) return Fail(at, "statements do not nest");
  at.body = 0;
  for (const IndexVar& i : inst.each->indices) {
    if (!Define(i.var, at)) return false;
  }
  for (const Inst& b : inst.each->body) {
    ++at.body;
    if (!DefineInst(b, at)) return false;
  }
  return true;
}

bool FunctionVerifier::CheckDefinitions() {
  if (f_.blocks.empty()) return Fail({}, "has no blocks");
  if (f_.names.size() != f_.values.size()) return Fail({}, "has not as many names as values");
  for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
    Place at{b};
    for (Value v : f_.blocks[b].params) {
      if (!Define(v, at)) return false;
    }
    for (const Inst& i : f_.blocks[b].insts) {
      ++at.inst;
      if (!DefineInst(i, at)) return false;
    }
  }
  return true;
}

// --- invariant 3: the shape of the graph

bool FunctionVerifier::CheckTerminators() {
  using Kind = Terminator::Kind;
  for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
    const Terminator& t = f_.blocks[b].term;
    const Place at{b, static_cast<uint32_t>(f_.blocks[b].insts.size()) + 1};
    if (t.kind == Kind::kNone) return Fail(at, "the block has no terminator");
    const size_t edges = t.kind == Kind::kJump ? 1 : t.kind == Kind::kBranch ? 2 : 0;
    if (t.edges.size() != edges) return Fail(at, "wrong number of edges");
    for (const Edge& e : t.edges) {
      if (e.block >= f_.blocks.size()) return Fail(at, "jumps to a block that does not exist");
      if (e.block == 0) return Fail(at, "jumps to the entry");
    }
  }
  return true;
}

bool FunctionVerifier::CheckReachable() {
  dominators_.emplace(f_);
  for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
    if (!dominators_->IsReachable(b)) return Fail({b}, "the block is unreachable");
  }
  return true;
}

bool FunctionVerifier::CheckEdge(const Edge& e, const Place& at) {
  const ir::Values& params = f_.blocks[e.block].params;
  const auto target = [&] { return "b" + std::to_string(e.block); };
  if (e.args.size() != params.size()) {
    return Fail(at, "passes " + std::to_string(e.args.size()) + " arguments to " + target() +
                        ", which has " + std::to_string(params.size()) + " parameters");
  }
  for (size_t i = 0; i < params.size(); ++i) {
    const Type got = f_.TypeOf(e.args[i]);
    const Type wanted = f_.TypeOf(params[i]);
    if (got != wanted) {
      return FailUse(at, e.args[i],
                     "is " + ToString(got, m_) + ", but the parameter of " + target() + " is " +
                         ToString(wanted, m_));
    }
  }
  return true;
}

bool FunctionVerifier::CheckTerminatorTypes(const Terminator& t, const Place& at) {
  bool visible = true;
  ForEachTermOperand(t, [&](const Value& v) { visible = visible && CheckUse(v, at); });
  if (!visible) return false;
  const bool branch = t.kind == Terminator::Kind::kBranch;
  if (branch && (!t.cond.valid() || f_.TypeOf(t.cond) != Type::Bool())) {
    return Fail(at, "branches on something that is not a bool");
  }
  if (t.snapshots.valid() && (t.edges.empty() || f_.TypeOf(t.snapshots) != Type::I64())) {
    return Fail(at, "a loop keeps a number of states, an i64, which its header says");
  }
  for (const Edge& e : t.edges) {
    if (!CheckEdge(e, at)) return false;
  }
  if (t.kind != Terminator::Kind::kReturn) return true;
  bool fits = t.results.size() == f_.results.size();
  for (size_t i = 0; fits && i < t.results.size(); ++i) {
    fits = f_.TypeOf(t.results[i]) == f_.results[i];
  }
  return fits || Fail(at, "does not return the function's result types");
}

// --- uses

bool FunctionVerifier::IsVisible(Value v, const Place& at) const {
  const Place& def = defined_[v.id];
  if (def.InBody()) return def.InSameBody(at) && def.body < at.body;
  if (def.block != at.block) return dominators_->Dominates(def.block, at.block);
  return def.inst < at.inst;
}

bool FunctionVerifier::CheckUse(Value v, const Place& at) {
  if (v.id >= f_.values.size() || defined_[v.id].block == kNoBlock) {
    return FailUse(at, v, "is not defined");
  }
  return IsVisible(v, at) || FailUse(at, v, "is used where its definition does not reach");
}

bool FunctionVerifier::CheckAffineUses(const Affine& a, const Place& at) {
  for (const Affine::Term& t : a.terms) {
    if (!CheckUse(t.value, at)) return false;
  }
  return true;
}

bool FunctionVerifier::CheckUses(const Inst& inst, const Place& at) {
  bool ok = true;
  ForEachOperand(inst, [&](const Value& v) { ok = ok && CheckUse(v, at); });
  return ok;
}

bool FunctionVerifier::CheckGuard(Value guard, const Place& at) {
  if (f_.TypeOf(guard) != Type::Bool()) return FailUse(at, guard, "is a guard and no bool");
  const bool local = defined_[guard.id].InSameBody(at);
  return local || FailUse(at, guard, "is a guard and not of the same body");
}

bool FunctionVerifier::CheckBodyInst(const Inst& inst, const Place& at) {
  if (!CheckUses(inst, at)) return false;
  if (inst.guard.valid() && !CheckGuard(inst.guard, at)) return false;
  const std::string wrong = internal::CheckInst(inst, /*in_body=*/true, f_, m_);
  return wrong.empty() ? CheckTyped(inst.results, at) : Fail(at, wrong);
}

// Extents and shapes are read outside, constraints see the indices, results see the whole body.
bool FunctionVerifier::CheckEach(const Inst& inst, Place at) {
  const Each& e = *inst.each;
  for (const IndexVar& i : e.indices) {
    if (!CheckUse(i.extent, at)) return false;
  }
  for (const EachResult& r : e.results) {
    for (Value v : r.shape) {
      if (!CheckUse(v, at)) return false;
    }
    if (r.into.valid() && !CheckUse(r.into, at)) return false;
  }
  at.body = 1;
  for (const Constraint& c : e.where) {
    if (!CheckAffineUses(c.e, at)) return false;
  }
  for (at.body = 1; at.body <= e.body.size(); ++at.body) {
    if (!CheckBodyInst(e.body[at.body - 1], at)) return false;
  }
  for (const EachResult& r : e.results) {
    for (const Affine& a : r.out) {
      if (!CheckAffineUses(a, at)) return false;
    }
    if (!CheckUse(r.value, at)) return false;
    if (r.second.valid() && !CheckUse(r.second, at)) return false;
    if (r.guard.valid() && (!CheckUse(r.guard, at) || !CheckGuard(r.guard, at))) return false;
  }
  return true;
}

bool FunctionVerifier::CheckInst(const Inst& inst, const Place& at) {
  const bool visible = inst.op == Op::Each && inst.each ? CheckEach(inst, at) : CheckUses(inst, at);
  if (!visible) return false;
  const std::string wrong = internal::CheckInst(inst, /*in_body=*/false, f_, m_);
  return wrong.empty() ? CheckTyped(inst.results, at) : Fail(at, wrong);
}

bool FunctionVerifier::CheckBlocks() {
  for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
    Place at{b};
    if (!CheckTyped(f_.blocks[b].params, at)) return false;
    for (const Inst& i : f_.blocks[b].insts) {
      ++at.inst;
      if (!CheckInst(i, at)) return false;
    }
    ++at.inst;
    if (!CheckTerminatorTypes(f_.blocks[b].term, at)) return false;
  }
  return true;
}

// --- invariant 7

bool FunctionVerifier::CheckTapes() {
  uint32_t block = 0;
  const Value v = internal::FindReusedTape(f_, &block);
  return !v.valid() || FailUse({block}, v, "is a tape that is used twice on a path");
}

}  // namespace

namespace {

Status BadRecord(const Record& record, const std::string& what) {
  return Status(Code::kInternal, "IR_INVALID", "record " + record.name + ": " + what);
}

bool IsIdentifier(const std::string& name) {
  return !name.empty() && (name[0] < '0' || name[0] > '9') &&
         std::all_of(name.begin(), name.end(), IsNameChar);
}

Status CheckRecord(const Record& record, const Module& m) {
  if (!IsIdentifier(record.name)) return BadRecord(record, "its name is no word");
  if (record.fields.size() != record.field_names.size()) {
    return BadRecord(record, "the numbers of fields and of their names differ");
  }
  for (size_t i = 0; i < record.fields.size(); ++i) {
    const Type t = record.fields[i];
    const bool plain = t.IsScalar() || (t.IsArray() && t.rank > 0);
    if (!IsIdentifier(record.field_names[i])) return BadRecord(record, "a field has no name");
    if (!plain && !(t.HasRecord() && t.record < m.records.size())) {
      return BadRecord(record, "field " + record.field_names[i] + " is " + ToString(t, m));
    }
  }
  return {};
}

// Invariant 9.
Status CheckRecords(const Module& m) {
  absl::flat_hash_set<std::string> names;
  for (const Record& record : m.records) {
    PB_RETURN_IF_ERROR(CheckRecord(record, m));
    if (!names.insert(record.name).second) return BadRecord(record, "is defined twice");
  }
  return {};
}

}  // namespace

Status Verify(const Module& module) {
  PB_RETURN_IF_ERROR(CheckRecords(module));
  if (module.entry >= module.functions.size() && !module.functions.empty()) {
    return Status(Code::kInternal, "IR_INVALID", "the entry function does not exist");
  }
  for (const auto& f : module.functions) {
    PB_RETURN_IF_ERROR(FunctionVerifier(*f, module).Run());
  }
  return Status();
}

}  // namespace pullback::ir
