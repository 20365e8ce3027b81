// Faults, limits, names and declarations.
#include "proto/program/read.h"

#include <cctype>

#include "core/lang/lexer.h"

namespace pullback::program {
namespace {

constexpr size_t kMaxShown = 40;

bool IsWord(const std::string& s) {
  if (s.empty() || std::isdigit(static_cast<uint8_t>(s[0])) != 0) return false;
  for (const char c : s) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x80 || (std::isalnum(byte) == 0 && c != '_')) return false;
  }
  return true;
}

}  // namespace

Reader::Reader(const v1::ProgramTables& in, const lang::Limits& limits)
    : in_(in),
      limits_(limits),
      types_{"types", std::vector<bool>(static_cast<size_t>(in.types_size()))},
      statements_{"statements", std::vector<bool>(static_cast<size_t>(in.statements_size()))},
      expressions_{"expressions", std::vector<bool>(static_cast<size_t>(in.expressions_size()))} {}

StatusOr<lang::Program> Reader::Run() {
  lang::Program out;
  {
    const At at(*this, "functions");
    Require(in_.functions_size() > 0, "a program has at least one function");
  }
  for (int i = 0; i < in_.structs_size() && status_.ok(); ++i) {
    const At at(*this, "structs", i);
    ReadStruct(in_.structs(i), out);
  }
  for (int i = 0; i < in_.functions_size() && status_.ok(); ++i) {
    const At at(*this, "functions", i);
    ReadFunction(in_.functions(i), out);
  }
  if (!status_.ok()) return status_;
  out.user_functions = out.functions.size();
  return out;
}

// --- faults and limits

std::string Reader::PathText() const {
  std::string text = "program.tables";
  for (size_t i = root_; i < path_.size(); ++i) {
    text += std::string(".") + path_[i].name;
    if (path_[i].index >= 0) text += "[" + std::to_string(path_[i].index) + "]";
  }
  return text;
}

// As a fault of any other field of a request: without a place, the path beside it (server/errors.h).
void Reader::Fault(const std::string& what, const char* reason) {
  if (!status_.ok()) return;
  const std::string path = PathText();
  status_ = Status(Code::kInvalidArgument, reason, path + ": " + what,
                   {Diagnostic{Severity::kError, Span{}, what, path}});
}

bool Reader::Require(bool holds, const char* what) {
  if (!holds) Fault(what);
  return holds;
}

// The text is at least as long as its names, with a byte for every node.
void Reader::Spend(size_t bytes) {
  bytes_ += bytes;
  if (bytes_ <= limits_.max_source_bytes) return;
  Fault("the program's text is too long: at most " + std::to_string(limits_.max_source_bytes) +
            " bytes are allowed",
        "SOURCE_TOO_LARGE");
}

Reader::Nest::Nest(Reader& reader, bool nests) : reader_(reader), nests_(nests ? 1 : 0) {
  if ((reader.nesting_ += nests_) <= reader.limits_.max_nesting) return;
  reader.Fault("nested too deeply: at most " + std::to_string(reader.limits_.max_nesting) +
                   " brackets, blocks, types and prefix operators inside each other",
               "NESTING_TOO_DEEP");
}

Reader::Entry::Entry(Reader& reader, Table& table, uint32_t index)
    : reader_(reader), table_(table), index_(index), root_(reader.root_) {
  const size_t size = table.open.size();
  if (index >= size) {
    reader.Fault(std::to_string(index) + " is out of range, there are " + std::to_string(size) +
                 " " + table.name);
  } else if (table.open[index]) {
    reader.Fault(std::string(table.name) + "[" + std::to_string(index) + "] is part of itself");
  }
  ok_ = reader.status_.ok();
  if (!ok_) return;
  table.open[index] = true;
  reader.root_ = reader.path_.size();
  reader.path_.push_back({table.name, index});
  reader.Spend(1);
  if (++reader.nodes_ > reader.limits_.max_ir_insts) {
    reader.Fault("the program is too large: at most " +
                     std::to_string(reader.limits_.max_ir_insts) + " nodes are allowed",
                 "PROGRAM_TOO_LARGE");
  }
}

Reader::Entry::~Entry() {
  if (!ok_) return;
  table_.open[index_] = false;
  reader_.path_.pop_back();
  reader_.root_ = root_;
}

// --- names

bool Reader::CheckName(const std::string& name) {
  Spend(name.size());
  if (IsWord(name) && !lang::IsKeyword(name)) return true;
  if (name.empty()) {
    Fault("there is no name");
  } else if (IsWord(name)) {
    Fault("'" + name + "' is a reserved word");
  } else {
    // Shortened bytes of anything: protobuf's strings are UTF-8, so only ASCII is shown.
    std::string shown;
    for (const char c : name.substr(0, kMaxShown)) {
      shown += static_cast<uint8_t>(c) < 0x80 && std::isprint(static_cast<uint8_t>(c)) ? c : '?';
    }
    Fault("'" + shown + "' is not a name: letters, digits and _, no digit first");
  }
  return false;
}

std::string Reader::Name(const std::string& name, const char* field, int64_t i) {
  const At at(*this, field, i);
  CheckName(name);
  return name;
}

std::string Reader::FieldName(const std::string& name, const char* field) {
  const At at(*this, field);
  if (CheckName(name)) Require(name != "T", "a field cannot be named 'T': x.T is the transpose");
  return name;
}

// --- declarations

void Reader::ReadStruct(const v1::StructDeclaration& in, lang::Program& out) {
  auto s = std::make_unique<lang::Struct>();
  s->name = Name(in.name(), "name");
  s->body.begin = static_cast<uint32_t>(out.structs.size());  // the formatter's order
  for (int i = 0; i < in.fields_size() && status_.ok(); ++i) {
    const At at(*this, "fields", i);
    lang::Field field;
    field.name = FieldName(in.fields(i).name(), "name");
    if (!Require(in.fields(i).has_type(), "a field has a type")) return;
    field.type = ReadType(in.fields(i).type(), "type");
    s->fields.push_back(std::move(field));
  }
  out.structs.push_back(std::move(s));
}

std::vector<lang::Param> Reader::ReadParams(
    const google::protobuf::RepeatedPtrField<v1::NamedType>& in, bool types_needed) {
  std::vector<lang::Param> params;
  for (int i = 0; i < in.size() && status_.ok(); ++i) {
    const At at(*this, "parameters", i);
    lang::Param p;
    p.name = Name(in[i].name(), "name");
    p.type.kind = lang::TypeExpr::Kind::kOmitted;
    if (in[i].has_type()) {
      p.type = ReadType(in[i].type(), "type");
    } else {
      Require(!types_needed, "a function's parameter has a type");
    }
    params.push_back(std::move(p));
  }
  return params;
}

std::string Reader::RuleName(const std::string& name, const char* field) {
  return name.empty() ? name : Name(name, field);
}

void Reader::ReadFunction(const v1::FunctionDeclaration& in, lang::Program& out) {
  auto f = std::make_unique<lang::Function>();
  f->name = Name(in.name(), "name");
  for (int i = 0; i < in.type_parameters_size() && status_.ok(); ++i) {
    f->type_params.push_back(Name(in.type_parameters(i), "type_parameters", i));
  }
  f->params = ReadParams(in.parameters(), true);
  f->has_result = in.has_result();
  if (in.has_result()) f->result = ReadType(in.result(), "result");
  f->vjp_rule.name = RuleName(in.vjp_rule(), "vjp_rule");
  f->jvp_rule.name = RuleName(in.jvp_rule(), "jvp_rule");
  if (status_.ok()) f->body = ReadStatements(in.body(), "body");
  f->body.span.begin = static_cast<uint32_t>(out.structs.size() + out.functions.size());
  out.functions.push_back(std::move(f));
}

}  // namespace pullback::program
