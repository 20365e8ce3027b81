// Declarations, types and statements as tables.
#include "proto/program/write.h"

#include "core/lang/each.h"
#include "proto/program/enums.h"
#include "proto/program/tables.h"

namespace pullback::program {

using lang::Stmt;
using lang::TypeExpr;

v1::ProgramTables ToTables(const lang::Program& program) {
  v1::ProgramTables tables;
  Writer(&tables).Run(program);
  return tables;
}

// DType's numbers are the protocol's: proto/values.cc.
v1::DType ToMessage(DType type) { return static_cast<v1::DType>(type); }

void Writer::Run(const lang::Program& program) {
  for (const auto& s : program.structs) WriteStruct(*s);
  for (size_t i = 0; i < program.user_functions; ++i) WriteFunction(*program.functions[i]);
}

void Writer::WriteStruct(const lang::Struct& s) {
  v1::StructDeclaration out;
  out.set_name(s.name);
  for (const lang::Field& f : s.fields) {
    v1::NamedType* field = out.add_fields();
    field->set_name(f.name);
    field->set_type(WriteType(f.type));
  }
  *out_.add_structs() = std::move(out);
}

void Writer::WriteFunction(const lang::Function& f) {
  v1::FunctionDeclaration out;
  out.set_name(f.name);
  for (const std::string& name : f.type_params) out.add_type_parameters(name);
  for (const lang::Param& p : f.params) WriteParam(p, out.add_parameters());
  if (f.has_result) out.set_result(WriteType(f.result));
  out.set_vjp_rule(f.vjp_rule.name);
  out.set_jvp_rule(f.jvp_rule.name);
  WriteBlock(f.body, out.mutable_body());
  *out_.add_functions() = std::move(out);
}

void Writer::WriteParam(const lang::Param& p, v1::NamedType* out) {
  out->set_name(p.name);
  if (p.type.kind != TypeExpr::Kind::kOmitted) out->set_type(WriteType(p.type));
}

// --- types

uint32_t Writer::Add(v1::TypeExpression type) {
  *out_.add_types() = std::move(type);
  return static_cast<uint32_t>(out_.types_size() - 1);
}

uint32_t Writer::AddOnce(v1::TypeExpression type) {
  const auto [found, added] = types_.emplace(type.SerializeAsString(), 0);
  if (added) found->second = Add(std::move(type));
  return found->second;
}

void Writer::WriteSizes(const std::vector<lang::ExprPtr>& dims, size_t count, Indices* out) {
  for (size_t i = 0; i < count; ++i) out->Add(WriteExpr(*dims[i]));
}

uint32_t Writer::WriteType(const TypeExpr& t) {
  v1::TypeExpression out;
  switch (t.kind) {
    case TypeExpr::Kind::kScalar: out.set_scalar(ToMessage(t.elem)); return AddOnce(std::move(out));
    case TypeExpr::Kind::kStruct: out.set_name(t.name); return AddOnce(std::move(out));
    case TypeExpr::Kind::kTuple:
      for (const TypeExpr& e : t.elements) out.mutable_tuple()->add_elements(WriteType(e));
      break;
    case TypeExpr::Kind::kList: out.set_list(WriteType(t.elements[0])); break;
    case TypeExpr::Kind::kBox: out.set_box(WriteType(t.elements[0])); break;
    case TypeExpr::Kind::kFunction:
      for (size_t i = 0; i + 1 < t.elements.size(); ++i) {
        out.mutable_function()->add_parameters(WriteType(t.elements[i]));
      }
      out.mutable_function()->set_result(WriteType(t.elements.back()));
      break;
    case TypeExpr::Kind::kRelation:  // the last size is its own
      WriteSizes(t.dims, t.dims.size() - 1, out.mutable_relation()->mutable_sizes());
      break;
    case TypeExpr::Kind::kArray:
    case TypeExpr::Kind::kStructArray: {
      WriteSizes(t.dims, t.dims.size(), out.mutable_array()->mutable_sizes());
      TypeExpr element;
      element.elem = t.elem;
      element.name = t.name;
      if (!t.name.empty()) element.kind = TypeExpr::Kind::kStruct;
      const bool tuple = t.kind == TypeExpr::Kind::kStructArray;
      out.mutable_array()->set_element(WriteType(tuple ? t.elements[0] : element));
      break;
    }
    case TypeExpr::Kind::kOmitted:
    case TypeExpr::Kind::kGiven: PB_CHECK(false);  // not of a parsed program
  }
  return Add(std::move(out));
}

// --- statements

void Writer::WriteBlock(const lang::Block& b, v1::Block* out) { WriteStatements(b, 0, out); }

void Writer::WriteStatements(const lang::Block& b, size_t from, v1::Block* out) {
  for (size_t i = from; i < b.stmts.size(); ++i) {
    if (lang::IsImplied(*b.stmts[i])) {
      each_ = b.stmts[i].get();
    } else {
      out->add_statements(WriteStatement(*b.stmts[i]));
    }
  }
  if (b.result) out->set_result(WriteExpr(*b.result));
}

void Writer::WriteArms(const std::vector<lang::CondArm>& arms, v1::Conditional* out) {
  for (const lang::CondArm& arm : arms) {
    if (!arm.cond) {
      WriteBlock(arm.body, out->mutable_otherwise());
      continue;
    }
    v1::Arm* message = out->add_arms();
    message->set_condition(WriteExpr(*arm.cond));
    WriteBlock(arm.body, message->mutable_body());
  }
}

uint32_t Writer::WriteStatement(const Stmt& s) {
  v1::Statement out;
  switch (s.kind) {
    case Stmt::Kind::kLet: WriteBinding(s, out.mutable_let()); break;
    case Stmt::Kind::kVar: WriteBinding(s, out.mutable_var()); break;
    case Stmt::Kind::kAssign: WriteAssignment(s, &out); break;
    case Stmt::Kind::kIf: WriteArms(s.arms, out.mutable_conditional()); break;
    case Stmt::Kind::kWhile:
    case Stmt::Kind::kFor: WriteLoop(s, &out); break;
    case Stmt::Kind::kBreak: out.set_jump(v1::JUMP_BREAK); break;
    case Stmt::Kind::kContinue: out.set_jump(v1::JUMP_CONTINUE); break;
    case Stmt::Kind::kReturn:
      out.mutable_returns();
      if (s.value) out.mutable_returns()->set_value(WriteExpr(*s.value));
      break;
    case Stmt::Kind::kCall: out.set_call(WriteExpr(*s.value)); break;
  }
  *out_.add_statements() = std::move(out);
  return static_cast<uint32_t>(out_.statements_size() - 1);
}

void Writer::WriteBinding(const Stmt& s, v1::Binding* out) {
  for (const lang::Target& t : s.targets) out->add_names(t.name);
  if (s.annotation) out->set_type(WriteType(*s.annotation));
  out->set_value(WriteExpr(*s.value));
}

void Writer::WriteAssignment(const Stmt& s, v1::Statement* out) {
  if (s.augmented) {
    WriteTarget(s.targets[0], out->mutable_update()->mutable_target());
    out->mutable_update()->set_op(ToEnum<v1::BinaryOperator>(s.augmented_op));
    out->mutable_update()->set_value(WriteExpr(*s.value->operands[1]));
    return;
  }
  for (const lang::Target& t : s.targets) WriteTarget(t, out->mutable_assign()->add_targets());
  out->mutable_assign()->set_value(WriteExpr(*s.value));
}

void Writer::WriteTarget(const lang::Target& t, v1::Target* out) {
  out->set_name(t.name);
  for (const lang::Access& a : t.path) WriteAccess(a, out->add_path());
}

void Writer::WriteLoop(const Stmt& s, v1::Statement* out) {
  const auto write_checkpoint = [&](auto* loop) {
    if (s.snapshots) loop->set_checkpoint(WriteExpr(*s.snapshots));
  };
  if (s.kind == Stmt::Kind::kWhile) {
    v1::WhileLoop* loop = out->mutable_while_loop();
    loop->set_condition(WriteExpr(*s.value));
    write_checkpoint(loop);
    WriteBlock(s.body, loop->mutable_body());
  } else if (lang::IsEachLoop(s)) {
    v1::EachLoop* loop = out->mutable_each_loop();
    loop->set_name(s.body.stmts[0]->targets[0].name);
    loop->set_values(WriteExpr(*each_->value));
    write_checkpoint(loop);
    WriteStatements(s.body, 1, loop->mutable_body());
  } else {
    v1::RangeLoop* loop = out->mutable_range_loop();
    WriteBinder(s.binder, loop->mutable_binder());
    write_checkpoint(loop);
    WriteBlock(s.body, loop->mutable_body());
  }
}

}  // namespace pullback::program
