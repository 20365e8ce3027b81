// Names, constants, affine forms and constraints.
#include "core/ir/function_parser.h"

namespace pullback::ir::internal {
namespace {

constexpr int kMaxNesting = 64;

// Numbers are for values without a name.
std::string Hint(const std::string& name) {
  return name[0] >= '0' && name[0] <= '9' ? std::string() : name;
}

}  // namespace

// A name that is not known yet is one of the function that stands further down.
bool FunctionParser::Use(const Token& name, Value& v) {
  for (auto scope = locals_.rbegin(); scope != locals_.rend(); ++scope) {
    const auto it = scope->find(name.text);
    if (it == scope->end()) continue;
    v = it->second;
    return true;
  }
  const auto [it, fresh] = globals_.try_emplace(name.text);
  if (fresh) {
    it->second = f_.NewValue(Type{}, Hint(name.text));
    open_[name.text] = name.span;
  }
  v = it->second;
  return true;
}

bool FunctionParser::Define(const Token& name, Type t, Value& v) {
  const bool forward = locals_.empty() && open_.erase(name.text) > 0;
  if (forward) {
    v = globals_[name.text];
    f_.values[v.id] = t;
    return true;
  }
  const bool hides = globals_.contains(name.text) && !open_.contains(name.text);
  Names& scope = locals_.empty() ? globals_ : locals_.back();
  const auto [it, fresh] = scope.try_emplace(name.text);
  if (!fresh || (!locals_.empty() && hides)) {
    return c_.FailAt(name.span, "`%" + name.text + "` is defined twice");
  }
  v = it->second = f_.NewValue(t, Hint(name.text));
  return true;
}

Value FunctionParser::AppendConst(const Literal& c) {
  Inst inst;
  inst.op = Op::Const;
  inst.bits = c.bits;
  inst.results = {f_.NewValue(Type::Scalar(c.type))};
  out_->push_back(std::move(inst));
  return out_->back().results[0];
}

bool FunctionParser::StartsOperand() const {
  const Token& t = c_.Peek();
  if (t.kind == Token::Kind::kValue || t.kind == Token::Kind::kNumber || c_.Is("-")) return true;
  if (t.kind != Token::Kind::kWord) return false;
  return ir::ParseLiteral(t.text).has_value() || (FindOp(t.text) && c_.Peek(1).text == "(");
}

bool FunctionParser::ParseLiteral(Literal& c) {
  const bool negative = c_.Accept("-");
  const bool may = c_.Is(Token::Kind::kNumber) || c_.Is(Token::Kind::kWord);
  const auto literal = may ? ir::ParseLiteral(c_.Peek().text) : std::nullopt;
  if (!literal) return c_.Fail("expected a value such as `%x`, `2.0`, `2` or `true`");
  if (negative && literal->type == DType::kBool) return c_.Fail("a bool has no sign");
  if (!negative && literal->type == DType::kI64 && literal->bits >> 63) {
    return c_.Fail("this integer does not fit in 64 bits");
  }
  c_.Take();
  c = negative ? Negate(*literal) : *literal;
  return true;
}

// `add(%x, 1.0)` as an operand: an instruction of its own in front.
bool FunctionParser::ParseNested(Value& v) {
  if (++depth_ > kMaxNesting) return c_.Fail("operations are nested too deeply");
  const Token name = c_.Take();
  Inst inst;
  inst.op = *FindOp(name.text);
  const TypeRule rule = Info(inst.op).rule;
  if (rule == TypeRule::Own || rule == TypeRule::Cast) {
    return c_.FailAt(name.span, "only scalar operations can be operands");
  }
  if (!c_.Expect("(") || !ParseOperands(inst.args) || !c_.Expect(")")) return false;
  if (static_cast<int>(inst.args.size()) != Info(inst.op).arity) {
    return c_.FailAt(name.span, "wrong number of operands");
  }
  --depth_;
  v = f_.NewValue(Type{});
  inst.results = {v};
  out_->push_back(std::move(inst));
  return true;
}

bool FunctionParser::ParseOperand(Value& v) {
  if (c_.Is(Token::Kind::kValue)) return Use(c_.Take(), v);
  if (c_.Is(Token::Kind::kWord) && FindOp(c_.Peek().text)) return ParseNested(v);
  Literal c;
  if (!ParseLiteral(c)) return false;
  v = AppendConst(c);
  return true;
}

bool FunctionParser::ParseIndex(uint64_t& n) {
  const auto literal =
      c_.Is(Token::Kind::kNumber) ? ir::ParseLiteral(c_.Peek().text) : std::nullopt;
  if (!literal || literal->type != DType::kI64) return c_.Fail("expected a whole number");
  n = literal->bits;
  c_.Take();
  return true;
}

// `%i`, `2*%i` or `3`
bool FunctionParser::ParseAffineTerm(bool negative, Affine& a) {
  uint64_t k = 1;
  const bool number = c_.Is(Token::Kind::kNumber);
  if (number && !ParseIndex(k)) return false;
  if (negative) k = uint64_t{0} - k;
  if (number && !c_.Accept("*")) {
    a = a + Affine::Const(static_cast<int64_t>(k));
    return true;
  }
  if (!c_.Is(Token::Kind::kValue)) return c_.Fail("expected an index such as `%i + 2*%j - 1`");
  Value v;
  Use(c_.Take(), v);
  a = a + Affine::Of(v) * static_cast<int64_t>(k);
  return true;
}

bool FunctionParser::ParseAffine(Affine& a) {
  bool negative = c_.Accept("-");
  while (ParseAffineTerm(negative, a)) {
    negative = c_.Is("-");
    if (!c_.Accept("-") && !c_.Accept("+")) return true;
  }
  return false;
}

bool FunctionParser::ParseConstraint(Constraint& c) {
  Affine l, r;
  if (!ParseAffine(l)) return false;
  const std::string op = c_.Peek().text;
  if (op != "==" && op != "<" && op != "<=" && op != ">" && op != ">=") {
    return c_.Fail("expected a comparison: == < <= > >=");
  }
  c_.Take();
  if (!ParseAffine(r)) return false;
  c.equality = op == "==";
  c.e = op[0] == '<' ? r - l : l - r;
  if (op == "<" || op == ">") c.e = c.e - Affine::Const(1);
  return true;
}

bool FunctionParser::ParseConstraints(std::vector<Constraint>& cs) {
  if (!c_.Expect("(")) return false;
  do {
    if (!ParseConstraint(cs.emplace_back())) return false;
  } while (c_.Accept("and"));
  return c_.Expect(")");
}

bool FunctionParser::ParseSubscripts(std::vector<Affine>& subs) {
  if (!c_.Expect("[")) return false;
  if (c_.Accept("]")) return true;
  do {
    if (!ParseAffine(subs.emplace_back())) return false;
  } while (c_.Accept(","));
  return c_.Expect("]");
}

}  // namespace pullback::ir::internal
