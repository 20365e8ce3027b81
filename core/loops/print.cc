// Loops as text. Integer and boolean arithmetic that is used once, in the list of nodes where it
// stands, is written at its use, so that offsets and bounds read as formulas.
#include <algorithm>
#include <map>
#include <set>

#include "core/ir/literal.h"
#include "core/ir/names.h"
#include "core/loops/loops.h"
#include "core/loops/survey.h"

namespace pullback::loops {
namespace {

using ir::Op;
using Kind = Node::Kind;

// Binding strength: higher binds tighter.
struct Infix {
  Op op;
  const char* text;
  int strength;
};
constexpr Infix kInfix[] = {
    {Op::Or, " or ", 1}, {Op::And, " and ", 2}, {Op::Eq, " == ", 3}, {Op::Ne, " != ", 3},
    {Op::Lt, " < ", 3},  {Op::Le, " <= ", 3},   {Op::Gt, " > ", 3},  {Op::Ge, " >= ", 3},
    {Op::Add, " + ", 4}, {Op::Sub, " - ", 4},   {Op::Mul, " * ", 5}, {Op::Div, " / ", 5},
};
constexpr int kAtom = 9;

const Infix* FindInfix(Op op) {
  const auto* it = std::find_if(std::begin(kInfix), std::end(kInfix),
                                [&](const Infix& i) { return i.op == op; });
  return it == std::end(kInfix) ? nullptr : it;
}

class FunctionPrinter {
 public:
  FunctionPrinter(const Function& f, const Module& m) : f_(f), m_(m), survey_(f) {}

  std::string Print();

 private:
  const std::string& NameOf(Reg r);

  struct Text {
    std::string text;
    int strength = kAtom;
  };
  Text Write(Reg r);
  Text WriteScalar(const Node& n);
  std::string Expr(Reg r) { return Write(r).text; }
  // In brackets when it binds less than `strength`.
  std::string Expr(Reg r, int strength) {
    const Text t = Write(r);
    return t.strength < strength ? "(" + t.text + ")" : t.text;
  }
  std::string Exprs(ir::ValueSpan regs, size_t from = 0);
  std::string Typed(ir::ValueSpan params);
  std::string Element(const Node& n) { return Expr(n.args[0]) + "[" + Expr(n.args[1]) + "]"; }

  void PrintNodes(const std::vector<Node>& nodes, const std::string& indent);
  void PrintFor(const Node& n, const std::string& indent);
  void PrintIf(const Node& n, const std::string& indent);
  std::string ContractElement(const Node& n, size_t array);
  void PrintContract(const Node& n, const std::string& indent);
  void PrintArm(const std::vector<Node>& nodes, const std::vector<Reg>& yields,
                const std::string& indent);
  std::string Results(const Node& n);
  std::string Line(const Node& n);
  std::string AllocLine(const Node& n);
  std::string CheckLine(const Node& n);
  std::string EdgeText(const ir::Edge& e);
  std::string TermLine(const ir::Terminator& t);

  const Function& f_;
  const Module& m_;
  const Survey survey_;
  std::map<uint32_t, std::string> names_;
  std::set<std::string> taken_;
  std::map<std::string, int> repeats_;  // by hint: the last suffix
  int numbers_ = 0;
  std::string out_;
};

// Names are given in the order in which the text needs them.
const std::string& FunctionPrinter::NameOf(Reg r) {
  auto [it, added] = names_.try_emplace(r.id);
  if (!added) return it->second;
  const std::string& hint = f_.regs[r.id].name;
  std::string name = hint.empty() ? std::to_string(numbers_++) : hint;
  while (!taken_.insert(name).second) {
    int& last = repeats_.try_emplace(hint, 1).first->second;
    name = hint.empty() ? std::to_string(numbers_++) : hint + "." + std::to_string(++last);
  }
  return it->second = "%" + name;
}

FunctionPrinter::Text FunctionPrinter::Write(Reg r) {
  if (!survey_.IsInline(r)) return {NameOf(r)};
  return WriteScalar(*survey_.Definition(r));
}

FunctionPrinter::Text FunctionPrinter::WriteScalar(const Node& n) {
  if (n.op == Op::Const) return {ir::LiteralText({f_.TypeOf(n.results[0]).elem, n.bits})};
  if (const Infix* infix = FindInfix(n.op)) {
    // A chain of additions needs no brackets on the left; the right side always does.
    const bool chains = infix->strength != 3;
    return {Expr(n.args[0], infix->strength + (chains ? 0 : 1)) + infix->text +
                Expr(n.args[1], infix->strength + 1),
            infix->strength};
  }
  const std::string name =
      n.op == Op::Cast ? DTypeName(f_.TypeOf(n.results[0]).elem) : ir::Info(n.op).mnemonic;
  return {name + "(" + Exprs(n.args) + ")"};
}

std::string FunctionPrinter::Exprs(ir::ValueSpan regs, size_t from) {
  std::string out;
  for (size_t i = from; i < regs.size(); ++i) out += (i > from ? ", " : "") + Expr(regs[i]);
  return out;
}

std::string FunctionPrinter::Typed(ir::ValueSpan params) {
  std::string out;
  for (Reg p : params) {
    out += (out.empty() ? "" : ", ") + NameOf(p) + ": " + ir::ToString(f_.TypeOf(p));
  }
  return out;
}

// --- nodes

std::string FunctionPrinter::Results(const Node& n) {
  std::string out;
  for (Reg r : n.results) out += (out.empty() ? "" : ", ") + NameOf(r);
  return out.empty() ? "" : out + " = ";
}

std::string FunctionPrinter::AllocLine(const Node& n) {
  return std::string("alloc ") + DTypeName(f_.TypeOf(n.results[0]).elem) + " [" + Exprs(n.args) +
         "]" + (n.bits == 1 ? " zeroed" : "");
}

std::string FunctionPrinter::CheckLine(const Node& n) {
  std::string out =
      "check " + Expr(n.args[0]) + ", " + ir::TrapKindName(static_cast<ir::TrapKind>(n.bits));
  if (n.args.size() > 1) out += "(" + Exprs(n.args, 1) + ")";
  return n.loc == 0 ? out : out + " !" + std::to_string(n.loc);
}

std::string FunctionPrinter::Line(const Node& n) {
  const auto arg = [&](size_t i) { return Expr(n.args[i]); };
  switch (n.kind) {
    case Kind::kScalar: return WriteScalar(n).text;
    case Kind::kDim: return "dim " + arg(0) + ", " + std::to_string(n.bits);
    case Kind::kLoad: return Element(n);
    case Kind::kStore: return Element(n) + " = " + arg(2);
    case Kind::kAlloc: return AllocLine(n);
    case Kind::kRetain: return "retain " + arg(0);
    case Kind::kRelease: return "release " + arg(0);
    case Kind::kUnique: return "unique " + arg(0);
    case Kind::kLanesNew: return std::string("lanes ") + ir::MonoidName(n.monoid);
    case Kind::kLaneAdd:
      return std::string(ir::MonoidName(n.monoid)) + " " + Element(n) + ": " + arg(2);
    case Kind::kLanesTotal: return "total " + arg(0);
    case Kind::kCheck: return CheckLine(n);
    case Kind::kCall:
      return "call " + ir::FunctionName(m_.functions[n.callee]->name) + "(" + Exprs(n.args) + ")";
    case Kind::kTapeNew: return "tape_new";
    case Kind::kPush: return "push " + arg(0) + ", " + arg(1);
    case Kind::kPop: return "pop " + arg(0);
    case Kind::kList: {
      std::string out = ir::Info(n.op).mnemonic;
      for (size_t i = 0; i < n.args.size(); ++i) out += (i > 0 ? ", " : " ") + arg(i);
      return out;
    }
    case Kind::kContract:
    case Kind::kFor:
    case Kind::kIf: break;
  }
  return "";
}

void FunctionPrinter::PrintNodes(const std::vector<Node>& nodes, const std::string& indent) {
  for (const Node& n : nodes) {
    if (n.kind == Kind::kScalar && survey_.IsInline(n.results[0])) continue;
    if (n.kind == Kind::kFor) {
      PrintFor(n, indent);
    } else if (n.kind == Kind::kIf) {
      PrintIf(n, indent);
    } else if (n.kind == Kind::kContract) {
      PrintContract(n, indent);
    } else {
      const std::string line = Line(n);
      out_ += indent + Results(n) + line + "\n";
    }
  }
}

void FunctionPrinter::PrintFor(const Node& n, const std::string& indent) {
  const std::string range = Expr(n.args[0], 4) + ".." + Expr(n.args[1], 4);
  out_ += indent + "for " + NameOf(n.results[0]) + " in " + range + " {\n";
  PrintNodes(n.body, indent + "  ");
  out_ += indent + "}\n";
}

void FunctionPrinter::PrintIf(const Node& n, const std::string& indent) {
  const std::string condition = Expr(n.args[0]);
  out_ += indent + Results(n) + "if " + condition + " {\n";
  PrintArm(n.body, n.body_yields, indent + "  ");
  if (!n.other.empty() || !n.results.empty()) {
    out_ += indent + "} else {\n";
    PrintArm(n.other, n.other_yields, indent + "  ");
  }
  out_ += indent + "}\n";
}

// The element of an array by the node's indices, which have no names: %a[%n*i0 + i2].
std::string FunctionPrinter::ContractElement(const Node& n, size_t array) {
  std::string offset;
  const auto add = [&](const std::string& term) { offset += (offset.empty() ? "" : " + ") + term; };
  const std::string start = Expr(n.args[kContractArrays + array], 4);
  if (start != "0") add(start);
  for (size_t at = 2 * kContractArrays, i = 0; at < n.args.size(); at += kContractIndexArgs, ++i) {
    const std::string step = Expr(n.args[at + 1 + array], 5);
    if (step != "0") add((step == "1" ? "" : step + "*") + "i" + std::to_string(i));
  }
  return Expr(n.args[array]) + "[" + (offset.empty() ? "0" : offset) + "]";
}

void FunctionPrinter::PrintContract(const Node& n, const std::string& indent) {
  std::string line = "contract " + ContractElement(n, 0) + (n.bits == 1 ? " += " : " = ");
  line += ContractElement(n, 1) + " * " + ContractElement(n, 2);
  for (size_t at = 2 * kContractArrays, i = 0; at < n.args.size(); at += kContractIndexArgs, ++i) {
    line += ", i" + std::to_string(i) + " < " + Expr(n.args[at], 4);
  }
  out_ += indent + line + " {\n";
  PrintNodes(n.body, indent + "  ");
  out_ += indent + "}\n";
}

void FunctionPrinter::PrintArm(const std::vector<Node>& nodes, const std::vector<Reg>& yields,
                               const std::string& indent) {
  PrintNodes(nodes, indent);
  if (!yields.empty()) out_ += indent + "yield " + Exprs(yields) + "\n";
}

// --- blocks

std::string FunctionPrinter::EdgeText(const ir::Edge& e) {
  const std::string label = "b" + std::to_string(e.block);
  return e.args.empty() ? label : label + "(" + Exprs(e.args) + ")";
}

std::string FunctionPrinter::TermLine(const ir::Terminator& t) {
  switch (t.kind) {
    case ir::Terminator::Kind::kNone: break;
    case ir::Terminator::Kind::kJump: return "jump " + EdgeText(t.edges[0]);
    case ir::Terminator::Kind::kBranch: {
      const std::string condition = Expr(t.cond);
      const std::string yes = EdgeText(t.edges[0]);
      return "br " + condition + ", " + yes + ", " + EdgeText(t.edges[1]);
    }
    case ir::Terminator::Kind::kReturn:
      return t.results.empty() ? "ret" : "ret " + Exprs(t.results);
  }
  return "";
}

std::string FunctionPrinter::Print() {
  std::string results;
  for (ir::Type t : f_.results) results += (results.empty() ? "" : ", ") + ir::ToString(t);
  if (f_.results.size() != 1) results = "(" + results + ")";
  out_ += "fn " + ir::FunctionName(f_.name) + "(" + Typed(f_.blocks[0].params) + ") -> " + results +
          " {\n";
  for (size_t b = 0; b < f_.blocks.size(); ++b) {
    const Block& block = f_.blocks[b];
    out_ += "b" + std::to_string(b);
    if (b > 0 && !block.params.empty()) out_ += "(" + Typed(block.params) + ")";
    out_ += ":\n";
    PrintNodes(block.nodes, "  ");
    out_ += "  " + TermLine(block.term) + "\n";
  }
  return out_ + "}\n";
}

}  // namespace

std::string Print(const Module& module) {
  std::string out;
  for (const auto& f : module.functions) {
    if (!out.empty()) out += "\n";
    out += FunctionPrinter(*f, module).Print();
  }
  return out;
}

}  // namespace pullback::loops
