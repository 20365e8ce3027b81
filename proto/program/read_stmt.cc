// Blocks and statements of tables.
#include "core/lang/each.h"
#include "core/lang/spelling.h"
#include "proto/program/enums.h"
#include "proto/program/read.h"

namespace pullback::program {

using lang::Expr;
using lang::Stmt;

void Reader::ReadBlock(const v1::Block& in, lang::Block& out, bool braces) {
  for (int i = 0; i < in.statements_size() && status_.ok(); ++i) {
    ReadStatement(in.statements(i), "statements", i, out);
  }
  if (!in.has_result() || !status_.ok()) return;
  ends_block_ = braces;
  out.result = ReadExpr(in.result(), "result");
}

lang::Block Reader::ReadStatements(const v1::Block& in, const char* field) {
  const At at(*this, field);
  const Nest nest(*this);
  lang::Block out;
  if (Require(!in.has_result(), "this block gives no value: it has no result")) ReadBlock(in, out);
  return out;
}

lang::Block Reader::ReadValueBlock(const v1::Block& in, const char* field) {
  const At at(*this, field);
  const Nest nest(*this);
  lang::Block out;
  if (!Require(in.has_result(), "this block gives a value: it needs a result")) return out;
  ReadBlock(in, out, /*braces=*/true);
  return out;
}

std::vector<lang::CondArm> Reader::ReadArms(const v1::Conditional& in, bool values) {
  std::vector<lang::CondArm> arms;
  const auto read = [&](const v1::Block& b, const char* field) {
    return values ? ReadValueBlock(b, field) : ReadStatements(b, field);
  };
  const At at(*this, "conditional");
  Require(in.arms_size() > 0, "there is no arm");
  if (values) Require(in.has_otherwise(), "a conditional expression needs an otherwise");
  for (int i = 0; i < in.arms_size() && status_.ok(); ++i) {
    const At arm(*this, "arms", i);
    lang::CondArm& out = arms.emplace_back();
    out.cond = ReadExpr(in.arms(i).condition(), "condition");
    if (status_.ok()) out.body = read(in.arms(i).body(), "body");
  }
  if (in.has_otherwise() && status_.ok()) {
    arms.push_back({nullptr, read(in.otherwise(), "otherwise")});
  }
  return arms;
}

void Reader::ReadStatement(uint32_t index, const char* field, int64_t i, lang::Block& out) {
  const At at(*this, field, i);
  const Entry entry(*this, statements_, index);
  if (!entry.ok()) return;
  auto s = std::make_unique<Stmt>();
  ReadStatementKind(in_.statements(static_cast<int>(index)), out, *s);
  out.stmts.push_back(std::move(s));
}

void Reader::ReadStatementKind(const v1::Statement& in, lang::Block& out, Stmt& s) {
  switch (in.kind_case()) {
    case v1::Statement::kLet: {
      const At at(*this, "let");
      s.kind = Stmt::Kind::kLet;
      return ReadBinding(in.let(), s);
    }
    case v1::Statement::kVar: {
      const At at(*this, "var");
      s.kind = Stmt::Kind::kVar;
      return ReadBinding(in.var(), s);
    }
    case v1::Statement::kAssign: return ReadAssignment(in.assign(), s);
    case v1::Statement::kUpdate: return ReadUpdate(in.update(), s);
    case v1::Statement::kConditional:
      s.kind = Stmt::Kind::kIf;
      s.arms = ReadArms(in.conditional(), false);
      return;
    case v1::Statement::kWhileLoop: return ReadWhile(in.while_loop(), s);
    case v1::Statement::kRangeLoop: return ReadRange(in.range_loop(), s);
    case v1::Statement::kEachLoop: return ReadEach(in.each_loop(), out, s);
    case v1::Statement::kJump: return ReadJump(in.jump(), s);
    case v1::Statement::kReturns:
      s.kind = Stmt::Kind::kReturn;
      if (in.returns().has_value()) s.value = ReadExpr(in.returns().value(), "returns.value");
      return;
    case v1::Statement::kCall: return ReadCallStatement(in.call(), s);
    case v1::Statement::KIND_NOT_SET: break;
  }
  s.kind = Stmt::Kind::kBreak;
  Fault("the statement is empty");
}

void Reader::ReadBinding(const v1::Binding& in, Stmt& s) {
  Require(in.names_size() > 0, "there is no name");
  for (int i = 0; i < in.names_size() && status_.ok(); ++i) {
    lang::Target t;
    t.name = Name(in.names(i), "names", i);
    s.targets.push_back(std::move(t));
  }
  if (in.has_type()) {
    Require(in.names_size() == 1, "only one name can have a type");
    s.annotation_storage = std::make_unique<lang::TypeExpr>(ReadType(in.type(), "type"));
    s.annotation = s.annotation_storage.get();
  }
  s.value = ReadExpr(in.value(), "value");
}

lang::Target Reader::ReadTarget(const v1::Target& in, const char* field, int64_t i) {
  const At at(*this, field, i);
  lang::Target t;
  t.name = Name(in.name(), "name");
  if (status_.ok()) t.path = ReadPath(in.path());
  return t;
}

void Reader::ReadAssignment(const v1::Assignment& in, Stmt& s) {
  const At at(*this, "assign");
  s.kind = Stmt::Kind::kAssign;
  Require(in.targets_size() > 0, "there is no target");
  for (int i = 0; i < in.targets_size() && status_.ok(); ++i) {
    s.targets.push_back(ReadTarget(in.targets(i), "targets", i));
  }
  s.value = ReadExpr(in.value(), "value");
}

// The formatter reads the value's right operand only.
void Reader::ReadUpdate(const v1::Update& in, Stmt& s) {
  const At at(*this, "update");
  s.kind = Stmt::Kind::kAssign;
  s.augmented = true;
  s.targets.push_back(ReadTarget(in.target(), "target"));
  s.augmented_op = ReadOperator(in.op(), "op");
  if (s.augmented_op > lang::BinaryOp::kDiv) {
    const At op(*this, "op");
    Fault("an update adds, subtracts, multiplies or divides");
  }
  s.value = MakeExpr(Expr::Kind::kBinary);
  s.value->operands.push_back(MakeExpr(Expr::Kind::kInt));
  s.value->operands.push_back(ReadExpr(in.value(), "value"));
}

void Reader::ReadWhile(const v1::WhileLoop& in, Stmt& s) {
  const At at(*this, "while_loop");
  s.kind = Stmt::Kind::kWhile;
  s.value = ReadExpr(in.condition(), "condition");
  if (in.has_checkpoint()) s.snapshots = ReadExpr(in.checkpoint(), "checkpoint");
  if (status_.ok()) s.body = ReadStatements(in.body(), "body");
}

void Reader::ReadRange(const v1::RangeLoop& in, Stmt& s) {
  const At at(*this, "range_loop");
  s.kind = Stmt::Kind::kFor;
  s.binder = ReadBinder(in.binder(), "binder");
  if (in.has_checkpoint()) s.snapshots = ReadExpr(in.checkpoint(), "checkpoint");
  if (status_.ok()) s.body = ReadStatements(in.body(), "body");
}

// As the parser reads such a loop: core/lang/each.h.
void Reader::ReadEach(const v1::EachLoop& in, lang::Block& out, Stmt& s) {
  const At at(*this, "each_loop");
  const auto let = [](std::string name, lang::ExprPtr value) {
    auto made = std::make_unique<Stmt>();
    made->kind = Stmt::Kind::kLet;
    made->targets.emplace_back().name = std::move(name);
    made->value = std::move(value);
    return made;
  };
  const int number = each_++;
  lang::StmtPtr values =
      let(lang::EachValues(number), ReadOperand(in.values(), "values", lang::kSumBinding));
  lang::ExprPtr element = MakeExpr(Expr::Kind::kIndex);
  element->operands.push_back(MakeExpr(Expr::Kind::kName));
  element->operands[0]->name = lang::EachValues(number);
  lang::StmtPtr first = let(Name(in.name(), "name"), std::move(element));
  s.kind = Stmt::Kind::kFor;
  s.binder.name = lang::EachIndex(number);
  if (in.has_checkpoint()) s.snapshots = ReadExpr(in.checkpoint(), "checkpoint");
  if (status_.ok()) s.body = ReadStatements(in.body(), "body");
  s.body.stmts.insert(s.body.stmts.begin(), std::move(first));
  out.stmts.push_back(std::move(values));
}

void Reader::ReadJump(v1::Jump jump, Stmt& s) {
  const At at(*this, "jump");
  s.kind = jump == v1::JUMP_BREAK ? Stmt::Kind::kBreak : Stmt::Kind::kContinue;
  Require(jump == v1::JUMP_BREAK || jump == v1::JUMP_CONTINUE, "neither a break nor a continue");
}

void Reader::ReadCallStatement(uint32_t index, Stmt& s) {
  s.kind = Stmt::Kind::kCall;
  s.value = ReadExpr(index, "call");
  const bool call = s.value->kind == Expr::Kind::kCall || s.value->kind == Expr::Kind::kApply;
  const At at(*this, "call");
  Require(call, "this expression is no call");
}

}  // namespace pullback::program
