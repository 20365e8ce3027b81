#include "core/ir/printer.h"

#include <algorithm>

#include "core/ir/affine_text.h"
#include "core/ir/literal.h"
#include "core/ir/names.h"

namespace pullback::ir {
namespace {

template <typename List, typename Fn>
std::string Join(const List& items, const char* separator, Fn&& text) {
  std::string out;
  for (const auto& item : items) {
    if (!out.empty()) out += separator;
    out += text(item);
  }
  return out;
}

template <typename List, typename Fn>
std::string Commas(const List& items, Fn&& text) {
  return Join(items, ", ", text);
}

// A broken instruction must still be printable, since dumps are for finding what broke.
bool HasShape(const Inst& inst) {
  const bool typed = inst.op == Op::Const || inst.op == Op::Zeros || inst.op == Op::Cast ||
                     inst.op == Op::Pop || inst.op == Op::ListNew || inst.op == Op::ListOf ||
                     inst.op == Op::BoxNew;
  const bool needs_arg =
      inst.op == Op::Index || inst.op == Op::Update || inst.op == Op::AddAt || inst.op == Op::Check;
  return !(typed && inst.results.empty()) && !(needs_arg && inst.args.empty()) &&
         (inst.op == Op::Each) == (inst.each != nullptr);
}

class FunctionPrinter {
 public:
  FunctionPrinter(const Function& f, const Module& m)
      : f_(f), m_(m), names_(f), spelling_(SpellingOfValues()) {}
  FunctionPrinter(const FunctionPrinter&) = delete;
  FunctionPrinter& operator=(const FunctionPrinter&) = delete;

  std::string Print();
  std::string Constraints(ConstraintSpan cs) const {
    return Join(cs, " and ", [&](const Constraint& c) { return ConstraintText(c); });
  }
  std::string Subscripts(AffineSpan subs) const {
    return "[" + Commas(subs, [&](const Affine& a) { return AffineText(a); }) + "]";
  }

 private:
  std::string Text(Value v) const { return names_.Text(v); }
  std::string Texts(ValueSpan vs) const {
    return Commas(vs, [&](Value v) { return Text(v); });
  }
  std::string TypeText(Value v) const {
    return v.id < f_.values.size() ? ToString(f_.TypeOf(v), m_) : "none";
  }
  std::string Params(ValueSpan params) const {
    return Commas(params, [&](Value v) { return Text(v) + ": " + TypeText(v); });
  }
  Spelling SpellingOfValues() const {
    return {[this](Value v) { return names_.Text(v); }, [this](Value v) { return names_.Rank(v); }};
  }
  std::string AffineText(const Affine& a) const { return ir::AffineText(a, spelling_); }
  std::string ConstraintText(const Constraint& c) const { return ir::ConstraintText(c, spelling_); }
  std::string EdgeText(const Edge& e) const;
  std::string TermText(const Terminator& t) const;
  std::string Operands(const Inst& inst) const;
  std::string Callee(uint32_t f) const {
    return FunctionName(f < m_.functions.size() ? m_.Get(f).name : "?");
  }
  std::string Rules() const;
  std::string EachText(const Inst& inst, const std::string& indent) const;
  std::string ResultText(const Inst& inst, const EachResult& r) const;
  void PrintInsts(const std::vector<Inst>& insts, const std::string& indent,
                  std::string& out) const;

  const Function& f_;
  const Module& m_;
  const Names names_;
  const Spelling spelling_;
};

std::string LocText(uint32_t loc) { return loc == 0 ? "" : " !" + std::to_string(loc); }

std::string FunctionPrinter::EdgeText(const Edge& e) const {
  const std::string label = "b" + std::to_string(e.block);
  return e.args.empty() ? label : label + "(" + Texts(e.args) + ")";
}

std::string FunctionPrinter::TermText(const Terminator& t) const {
  const std::string edges = Commas(t.edges, [&](const Edge& e) { return EdgeText(e); });
  const std::string loop = t.snapshots.valid() ? " checkpoint " + Text(t.snapshots) : "";
  switch (t.kind) {
    case Terminator::Kind::kNone: return "";
    case Terminator::Kind::kJump: return "  jump " + edges + loop + "\n";
    case Terminator::Kind::kBranch: return "  br " + Text(t.cond) + ", " + edges + loop + "\n";
    case Terminator::Kind::kReturn:
      return t.results.empty() ? "  ret\n" : "  ret " + Texts(t.results) + "\n";
  }
  return "";
}

std::string FunctionPrinter::ResultText(const Inst& inst, const EachResult& r) const {
  std::string out = std::string(MonoidName(r.monoid)) + " ";
  if (IsScan(r.monoid)) out += std::to_string(r.outer) + " ";
  if (r.inner > 0) out += "beside " + std::to_string(r.inner) + " ";
  out += Subscripts(r.out) + LocText(r.loc == inst.loc ? 0 : r.loc);
  if (!r.shape.empty()) out += " of (" + Texts(r.shape) + ")";
  if (r.into.valid()) out += " into " + Text(r.into);
  out += ": " + Text(r.value);
  if (r.second.valid()) out += ", " + Text(r.second);
  return r.guard.valid() ? out + " if " + Text(r.guard) : out;
}

std::string FunctionPrinter::EachText(const Inst& inst, const std::string& indent) const {
  const Each& e = *inst.each;
  std::string out =
      "each(" +
      Commas(e.indices,
             [&](const IndexVar& i) { return Text(i.var).substr(1) + " < " + Text(i.extent); }) +
      ")";
  if (!e.where.empty()) out += " where (" + Constraints(e.where) + ")";
  out += " {\n";
  PrintInsts(e.body, indent + "  ", out);
  out += indent + "}";
  if (!e.results.empty()) out += " ";
  return out + Commas(e.results, [&](const EachResult& r) { return ResultText(inst, r); });
}

// `wrt(0, 2)`
std::string WrtText(const ThinVector<bool>& wrt) {
  std::vector<size_t> which;
  for (size_t k = 0; k < wrt.size(); ++k) {
    if (wrt[k]) which.push_back(k);
  }
  return "wrt(" + Commas(which, [](size_t k) { return std::to_string(k); }) + ")";
}

// ` vjp @g jvp @h`
std::string FunctionPrinter::Rules() const {
  std::string out;
  if (f_.vjp_rule != kNoFunction) out += " vjp " + Callee(f_.vjp_rule);
  if (f_.jvp_rule != kNoFunction) out += " jvp " + Callee(f_.jvp_rule);
  return out;
}

std::string FunctionPrinter::Operands(const Inst& inst) const {
  std::string args = Texts(inst.args);
  const auto result_type = [&] {
    return (args.empty() ? ": " : " : ") + TypeText(inst.results.back());
  };
  switch (inst.op) {
    case Op::Const: return LiteralText({f_.TypeOf(inst.results.back()).elem, inst.bits});
    case Op::AffineOf: return inst.subs.empty() ? "" : AffineText(inst.subs[0]);
    case Op::Holds: return "(" + Constraints(inst.constraints) + ")";
    case Op::Dim: return args + ", " + std::to_string(inst.bits);
    case Op::Zeros: return args + " : " + DTypeName(f_.TypeOf(inst.results.back()).elem);
    case Op::Cast:
    case Op::ListNew:
    case Op::ListOf:
    case Op::BoxNew:
    case Op::Pop: return args + result_type();
    case Op::Index:
    case Op::Update:
    case Op::AddAt: {
      const std::string rest = inst.args.size() > 1 ? ", " + Text(inst.args[1]) : "";
      return Text(inst.args[0]) + Subscripts(inst.subs) + rest;
    }
    case Op::Call:
      return (inst.checkpoint ? "checkpoint " : "") + Callee(inst.callee) + "(" + args + ")";
    case Op::Jvp:
    case Op::Vjp: return Callee(inst.callee) + " " + WrtText(inst.wrt) + " (" + args + ")";
    case Op::Check: {
      const std::string kind = TrapKindName(static_cast<TrapKind>(inst.bits));
      const std::vector<Value> details(inst.args.begin() + 1, inst.args.end());
      return Text(inst.args[0]) + ", " + kind + (details.empty() ? "" : ", " + Texts(details));
    }
    default: return args;
  }
}

void FunctionPrinter::PrintInsts(const std::vector<Inst>& insts, const std::string& indent,
                                 std::string& out) const {
  for (const Inst& inst : insts) {
    if (!HasShape(inst)) {
      out += indent + "malformed " + Info(inst.op).mnemonic + "\n";
      continue;
    }
    if (inst.op == Op::Const && names_.IsInline(inst.results.back())) continue;
    out += indent;
    if (!inst.results.empty()) out += Texts(inst.results) + " = ";
    if (inst.op == Op::Each) {
      out += EachText(inst, indent);
    } else {
      const std::string operands = Operands(inst);
      out += Info(inst.op).mnemonic + (operands.empty() ? "" : " " + operands);
    }
    if (inst.guard.valid()) out += " if " + Text(inst.guard);
    out += LocText(inst.loc);
    out += "\n";
  }
}

std::string FunctionPrinter::Print() {
  const Values none;
  std::string out = "fn " + FunctionName(f_.name) + "(" +
                    Params(f_.blocks.empty() ? none : f_.params()) + ") -> (" +
                    Commas(f_.results, [&](Type t) { return ToString(t, m_); }) + ")" + Rules() +
                    " {\n";
  for (size_t b = 0; b < f_.blocks.size(); ++b) {
    const Block& block = f_.blocks[b];
    out += "b" + std::to_string(b);
    if (b > 0 && !block.params.empty()) out += "(" + Params(block.params) + ")";
    out += ":\n";
    PrintInsts(block.insts, "  ", out);
    out += TermText(block.term);
  }
  return out + "}\n";
}

}  // namespace

std::string Print(const Function& function, const Module& module) {
  return FunctionPrinter(function, module).Print();
}

std::string PrintSubscripts(const Function& function, AffineSpan subscripts) {
  return FunctionPrinter(function, Module()).Subscripts(subscripts);
}

std::string PrintConstraints(const Function& function, ConstraintSpan constraints) {
  return FunctionPrinter(function, Module()).Constraints(constraints);
}

std::string Print(const Record& record, const Module& module) {
  std::string fields;
  for (size_t i = 0; i < record.fields.size(); ++i) {
    const std::string name = i < record.field_names.size() ? record.field_names[i] : "?";
    fields += (i > 0 ? ", " : " ") + name + ": " + ToString(record.fields[i], module);
  }
  return "record " + record.name + " {" + fields + " }\n";
}

std::string Print(const Module& module) {
  std::string out;
  for (const Record& record : module.records) out += Print(record, module);
  if (module.entry < module.functions.size()) {
    out += "entry " + FunctionName(module.Get(module.entry).name) + "\n";
  }
  for (const auto& f : module.functions) out += "\n" + Print(*f, module);
  return out;
}

}  // namespace pullback::ir
