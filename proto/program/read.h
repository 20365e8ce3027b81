// Tables as a tree, to be printed by lang::Format: spans are empty, and of what the parser makes up (the
// copies in chains and updates, what stands for a loop over values) there is only what the formatter reads.
//
// Whatever the tables hold is safe to read: indices are checked, what is part of itself is found, and the
// tree is never larger or deeper than that of a text within the limits. After the first fault nothing is
// read; functions then return placeholders.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/lang/lang.h"
#include "pullback/v1/program_tables.pb.h"

namespace pullback::program {

class Reader {
 public:
  Reader(const v1::ProgramTables& in, const lang::Limits& limits);
  StatusOr<lang::Program> Run();

 private:
  using Indices = google::protobuf::RepeatedField<uint32_t>;
  using Accesses = google::protobuf::RepeatedPtrField<v1::Access>;
  using Subscripts = google::protobuf::RepeatedPtrField<v1::Subscript>;

  // --- the path to what is being read, for messages
  struct Segment {
    const char* name;
    int64_t index;  // -1: the field does not repeat
  };
  class At {  // for its lifetime, inside a field
   public:
    At(Reader& reader, const char* name, int64_t index = -1) : reader_(reader) {
      reader_.path_.push_back({name, index});
    }
    ~At() { reader_.path_.pop_back(); }
    At(const At&) = delete;

   private:
    Reader& reader_;
  };
  struct Table {
    const char* name;
    std::vector<bool> open;  // what is being read
  };
  // For its lifetime, in an item of a table, which `ok` says is there and not part of itself.
  class Entry {
   public:
    Entry(Reader& reader, Table& table, uint32_t index);
    ~Entry();
    Entry(const Entry&) = delete;
    bool ok() const { return ok_; }

   private:
    Reader& reader_;
    Table& table_;
    const uint32_t index_;
    const size_t root_;
    bool ok_;
  };
  class Nest {  // brackets, blocks, types and prefix operators
   public:
    explicit Nest(Reader& reader, bool nests = true);
    ~Nest() { reader_.nesting_ -= nests_; }
    Nest(const Nest&) = delete;

   private:
    Reader& reader_;
    const int nests_;
  };

  // --- read.cc
  void Fault(const std::string& what, const char* reason = "INVALID_PROGRAM");
  bool Require(bool holds, const char* what);
  std::string PathText() const;
  void Spend(size_t bytes);
  std::string Name(const std::string& name, const char* field, int64_t i = -1);
  std::string FieldName(const std::string& name, const char* field);
  bool CheckName(const std::string& name);
  void ReadStruct(const v1::StructDeclaration& in, lang::Program& out);
  void ReadFunction(const v1::FunctionDeclaration& in, lang::Program& out);
  std::vector<lang::Param> ReadParams(const google::protobuf::RepeatedPtrField<v1::NamedType>& in,
                                      bool types_needed);
  std::string RuleName(const std::string& name, const char* field);

  // --- read_type.cc
  lang::TypeExpr ReadType(uint32_t index, const char* field, int64_t i = -1);
  void ReadTypeKind(const v1::TypeExpression& in, lang::TypeExpr& out);
  void ReadArrayType(const v1::ArrayType& in, lang::TypeExpr& out);
  void ReadFunctionType(const v1::FunctionType& in, lang::TypeExpr& out);
  void ReadRelationType(const v1::SizeList& in, lang::TypeExpr& out);
  void ReadSizes(const Indices& sizes, const char* field, lang::TypeExpr& out);
  DType ReadScalar(v1::DType type, const char* field);

  // --- read_stmt.cc
  lang::Block ReadStatements(const v1::Block& in, const char* field);
  lang::Block ReadValueBlock(const v1::Block& in, const char* field);
  void ReadBlock(const v1::Block& in, lang::Block& out, bool braces = false);
  void ReadStatement(uint32_t index, const char* field, int64_t i, lang::Block& out);
  void ReadStatementKind(const v1::Statement& in, lang::Block& out, lang::Stmt& s);
  void ReadBinding(const v1::Binding& in, lang::Stmt& s);
  void ReadAssignment(const v1::Assignment& in, lang::Stmt& s);
  void ReadUpdate(const v1::Update& in, lang::Stmt& s);
  void ReadWhile(const v1::WhileLoop& in, lang::Stmt& s);
  void ReadRange(const v1::RangeLoop& in, lang::Stmt& s);
  void ReadEach(const v1::EachLoop& in, lang::Block& out, lang::Stmt& s);
  void ReadJump(v1::Jump jump, lang::Stmt& s);
  void ReadCallStatement(uint32_t index, lang::Stmt& s);
  lang::Target ReadTarget(const v1::Target& in, const char* field, int64_t i = -1);
  std::vector<lang::CondArm> ReadArms(const v1::Conditional& in, bool values);

  // --- read_expr.cc, read_primary.cc
  lang::ExprPtr ReadExpr(uint32_t index, const char* field, int64_t i = -1);
  // What stands where only what binds so tightly (core/lang/spelling.h) stands without brackets.
  lang::ExprPtr ReadOperand(uint32_t index, const char* field, int binding, int64_t i = -1);
  void ReadExprKind(const v1::Expression& in, lang::Expr& e);
  void ReadList(const Indices& in, const char* field, lang::Expr& e);
  void ReadInteger(const v1::Expression& in, lang::Expr& e);
  void ReadReal(const v1::Expression& in, lang::Expr& e);
  void ReadSuffix(const v1::Expression& in, lang::Expr& e);
  static void Negate(lang::Expr& literal);
  void ReadUnary(const v1::Unary& in, lang::Expr& e);
  void ReadBinary(const v1::Binary& in, lang::Expr& e);
  lang::BinaryOp ReadOperator(v1::BinaryOperator op, const char* field, int64_t i = -1);
  void ReadChain(const v1::Chain& in, lang::Expr& e);
  void ReadCall(const v1::Call& in, bool broadcast, lang::Expr& e);
  void ReadApply(const v1::Apply& in, bool broadcast, lang::Expr& e);
  void ReadCast(const v1::Cast& in, lang::Expr& e);
  void ReadIndex(const v1::Index& in, lang::Expr& e);
  void ReadField(const v1::FieldAccess& in, lang::Expr& e);
  void ReadWith(const v1::With& in, lang::Expr& e);
  void ReadComprehension(const v1::Comprehension& in, lang::Expr& e);
  void ReadScan(const v1::Comprehension& in, bool exclusive, lang::Expr& e);
  void ReadLambda(const v1::Lambda& in, lang::Expr& e);
  lang::Binder ReadBinder(const v1::Binder& in, const char* field, int64_t i = -1);
  std::vector<lang::Subscript> ReadSubscripts(const Subscripts& in, const char* field);
  lang::Subscript ReadSubscript(const v1::Subscript& in, const char* field, int64_t i);
  void ReadSlice(const v1::Slice& in, lang::Subscript& out);
  std::vector<lang::Access> ReadPath(const Accesses& in);

  const v1::ProgramTables& in_;
  const lang::Limits& limits_;
  Table types_, statements_, expressions_;
  std::vector<Segment> path_;
  size_t root_ = 0;  // of the path of the table's item that is being read
  size_t nodes_ = 0;
  size_t bytes_ = 0;
  int nesting_ = 0;
  int depth_ = 0;            // expressions inside each other
  int each_ = 0;             // loops over values so far
  bool ends_block_ = false;  // the expression that is read next ends a block in braces
  Status status_;
};

// A new node.
lang::ExprPtr MakeExpr(lang::Expr::Kind kind);

}  // namespace pullback::program
