// Instructions and tensor statements.
#include "core/ir/function_parser.h"

namespace pullback::ir::internal {
namespace {

constexpr int kMaxStatementNesting = 8;  // the verifier allows 1

// How many results an operation has; -1: as many as are written.
int ResultCount(Op op) {
  switch (op) {
    case Op::BoxSet:
    case Op::Check: return 0;
    case Op::Pop: return 2;
    case Op::ListGet:
    case Op::ListTake:
    case Op::ListPop:
    case Op::BoxGet:
    case Op::Call:
    case Op::Jvp:
    case Op::Vjp:
    case Op::Each: return -1;
    default: return 1;
  }
}

std::string Plural(int n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

}  // namespace

// `%y, %z = op operands if %guard !loc`
bool FunctionParser::ParseInst() {
  std::vector<Token> names;
  if (c_.Is(Token::Kind::kValue)) {
    do {
      if (!c_.Is(Token::Kind::kValue)) return c_.Fail("expected a name such as `%x`");
      names.push_back(c_.Take());
    } while (c_.Accept(","));
    if (!c_.Expect("=")) return false;
  }
  const auto op = c_.Is(Token::Kind::kWord) ? FindOp(c_.Peek().text) : std::nullopt;
  if (!op) return c_.Fail("expected an operation");
  const Token mnemonic = c_.Take();
  Inst inst;
  inst.op = *op;
  std::vector<Type> types;
  if (!ParseOperation(inst, types) || !ParseSuffix(inst)) return false;
  const int count = ResultCount(*op);
  if (count >= 0 && count != static_cast<int>(names.size())) {
    return c_.FailAt(mnemonic.span, "`" + mnemonic.text + "` has " + Plural(count, "result"));
  }
  if (!DefineResults(names, types, inst)) return false;
  out_->push_back(std::move(inst));
  while (c_.Accept(";")) {
  }
  return true;
}

// Types that do not stand in the text stay open; they follow from the operands' (op_types.h).
bool FunctionParser::DefineResults(const std::vector<Token>& names, const std::vector<Type>& types,
                                   Inst& inst) {
  for (size_t i = 0; i < names.size(); ++i) {
    Value v;
    if (!Define(names[i], i < types.size() ? types[i] : Type{}, v)) return false;
    inst.results.push_back(v);
  }
  return true;
}

bool FunctionParser::ParseSuffix(Inst& inst) {
  if (c_.Accept("if") && !ParseOperand(inst.guard)) return false;
  return ParseLoc(inst.loc);
}

bool FunctionParser::ParseLoc(uint32_t& loc) {
  if (!c_.Accept("!")) return true;
  uint64_t parsed = 0;
  if (!ParseIndex(parsed)) return false;
  loc = static_cast<uint32_t>(parsed);
  return true;
}

bool FunctionParser::ParseOperation(Inst& inst, std::vector<Type>& types) {
  switch (inst.op) {
    case Op::Const: return ParseConst(inst, types);
    case Op::AffineOf: return ParseAffine(inst.subs.emplace_back());
    case Op::Holds: return ParseHolds(inst);
    case Op::Dim: return ParseDim(inst);
    case Op::Cast:
    case Op::Zeros:
    case Op::ListNew:
    case Op::ListOf:
    case Op::BoxNew:
    case Op::Pop: return ParseWithType(inst, types);
    case Op::Index:
    case Op::Update:
    case Op::AddAt: return ParseAccess(inst);
    case Op::Call: return ParseCall(inst);
    case Op::Jvp:
    case Op::Vjp: return ParseDerivative(inst);
    case Op::Check: return ParseCheck(inst);
    case Op::Each: return ParseEach(inst);
    default: return ParsePlain(inst);
  }
}

bool FunctionParser::ParsePlain(Inst& inst) {
  const Span span = c_.Peek().span;
  const int arity = Info(inst.op).arity;
  if (arity != 0 && StartsOperand() && !ParseOperands(inst.args)) return false;
  if (arity < 0 || arity == static_cast<int>(inst.args.size())) return true;
  const std::string mnemonic = Info(inst.op).mnemonic;
  return c_.FailAt(span, "`" + mnemonic + "` takes " + Plural(arity, "operand"));
}

bool FunctionParser::ParseConst(Inst& inst, std::vector<Type>& types) {
  Literal c;
  if (!ParseLiteral(c)) return false;
  inst.bits = c.bits;
  types = {Type::Scalar(c.type)};
  return true;
}

// `cast %x : f32`, `zeros %n, %m : f64` (the element's type), `%t1, %v = pop %t : f64`
bool FunctionParser::ParseWithType(Inst& inst, std::vector<Type>& types) {
  Type t;
  if (StartsOperand() && !ParseOperands(inst.args)) return false;
  if (!c_.Expect(":") || !ParseType(t)) return false;
  if (inst.op == Op::Zeros) t = Type::Array(t.elem, static_cast<int>(inst.args.size()));
  types = inst.op == Op::Pop ? std::vector<Type>{Type::Tape(), t} : std::vector<Type>{t};
  return true;
}

bool FunctionParser::ParseDim(Inst& inst) {
  return ParseOperand(inst.args.emplace_back()) && c_.Expect(",") && ParseIndex(inst.bits);
}

bool FunctionParser::ParseHolds(Inst& inst) {
  std::vector<Constraint> constraints;
  if (!ParseConstraints(constraints)) return false;
  inst.constraints = std::move(constraints);
  return true;
}

bool FunctionParser::ParseAccess(Inst& inst) {
  std::vector<Affine> subs;
  if (!ParseOperand(inst.args.emplace_back()) || !ParseSubscripts(subs)) return false;
  inst.subs = std::move(subs);
  if (inst.op == Op::Index) return true;
  return c_.Expect(",") && ParseOperand(inst.args.emplace_back());
}

bool FunctionParser::ParseCallee(uint32_t& callee) {
  if (!c_.Is(Token::Kind::kFunction)) return c_.Fail("expected a function such as `@f`");
  callee = static_cast<uint32_t>(callees_.size());
  callees_.push_back({c_.Peek().text, c_.Peek().span});
  c_.Take();
  return true;
}

bool FunctionParser::ParseArguments(Inst& inst) {
  if (!c_.Expect("(")) return false;
  return c_.Accept(")") || (ParseOperands(inst.args) && c_.Expect(")"));
}

// `@f(%x)`, `checkpoint @f(%x)`
bool FunctionParser::ParseCall(Inst& inst) {
  inst.checkpoint = c_.Accept("checkpoint");
  return ParseCallee(inst.callee) && ParseArguments(inst);
}

// `@f wrt(0, 2) (%x, %n, %z, %dx, %dz)`
bool FunctionParser::ParseDerivative(Inst& inst) {
  return ParseCallee(inst.callee) && ParseWrt(inst.wrt) && ParseArguments(inst);
}

bool FunctionParser::ParseWrt(ThinVector<bool>& wrt) {
  constexpr uint64_t kMaxParams = 1 << 16;
  if (!c_.Expect("wrt") || !c_.Expect("(")) return false;
  if (c_.Accept(")")) return true;
  do {
    uint64_t k = 0;
    const Span span = c_.Peek().span;
    if (!ParseIndex(k)) return false;
    if (k >= kMaxParams) return c_.FailAt(span, "there is no such parameter");
    if (wrt.size() <= k) wrt.resize(k + 1);
    wrt[k] = true;
  } while (c_.Accept(","));
  return c_.Expect(")");
}

bool FunctionParser::ParseCheck(Inst& inst) {
  if (!ParseOperand(inst.args.emplace_back()) || !c_.Expect(",")) return false;
  const auto kind = FindTrapKind(c_.Peek().text);
  if (!kind) return c_.Fail("expected a kind of trap such as `index`");
  c_.Take();
  inst.bits = static_cast<uint64_t>(*kind);
  return !c_.Accept(",") || ParseOperands(inst.args);
}

// `(i < %n, j < 3) where (...)`
bool FunctionParser::ParseEachHead(Each& each) {
  if (!c_.Expect("(")) return false;
  if (!c_.Is(")")) {
    do {
      if (!c_.Is(Token::Kind::kWord) && !c_.Is(Token::Kind::kValue)) {
        return c_.Fail("expected an index such as `i < %n`");
      }
      const Token name = c_.Take();
      IndexVar i;
      if (!c_.Expect("<") || !ParseOperand(i.extent) || !Define(name, Type::I64(), i.var)) {
        return false;
      }
      each.indices.push_back(i);
    } while (c_.Accept(","));
  }
  return c_.Expect(")") && (!c_.Accept("where") || ParseConstraints(each.where));
}

// `sum [%i] of (%n): %v if %g`, `scan_linear 1 [%i, %j] of (%n, %m): %a, %b if %g` or
// `scan_sum 0 beside 1 [%i, %j] of (%n, %m): %a`; the extents are
// values of the block around.
bool FunctionParser::ParseEachResult(EachResult& r, std::vector<Inst>& outer) {
  const auto monoid = FindMonoid(c_.Peek().text);
  if (!monoid) return c_.Fail("expected gen, sum, prod, max, min, argmax, argmin or a scan");
  c_.Take();
  r.monoid = *monoid;
  if (IsScan(*monoid)) {
    uint64_t outer = 0, inner = 0;
    if (!ParseIndex(outer) || (c_.Accept("beside") && !ParseIndex(inner))) return false;
    if (outer > UINT32_MAX || inner > UINT32_MAX) return c_.Fail("this many indices do not exist");
    r.outer = static_cast<uint32_t>(outer);
    r.inner = static_cast<uint32_t>(inner);
  }
  std::vector<Affine> out;
  if (!ParseSubscripts(out) || !ParseLoc(r.loc)) return false;
  r.out = out;
  std::vector<Inst>* const body = std::exchange(out_, &outer);
  const bool ok =
      (!c_.Accept("of") || (c_.Expect("(") && ParseOperands(r.shape) && c_.Expect(")"))) &&
      (!c_.Accept("into") || ParseOperand(r.into));
  out_ = body;
  if (!ok || !c_.Expect(":") || !ParseOperand(r.value)) return false;
  if (r.monoid == Monoid::kScanLinear && !(c_.Expect(",") && ParseOperand(r.second))) return false;
  return !c_.Accept("if") || ParseOperand(r.guard);
}

// `each(...) where (...) { body } results`
bool FunctionParser::ParseEach(Inst& inst) {
  inst.each = std::make_unique<Each>();
  Each& each = *inst.each;
  locals_.emplace_back();
  if (locals_.size() > kMaxStatementNesting) return c_.Fail("statements are nested too deeply");
  if (!ParseEachHead(each) || !c_.Expect("{")) return false;
  std::vector<Inst>* const outer = std::exchange(out_, &each.body);
  while (!c_.Accept("}")) {
    if (!ParseInst()) return false;
  }
  if (FindMonoid(c_.Peek().text)) {
    do {
      if (!ParseEachResult(each.results.emplace_back(), *outer)) return false;
    } while (c_.Accept(","));
  }
  out_ = outer;
  locals_.pop_back();
  return true;
}

}  // namespace pullback::ir::internal
