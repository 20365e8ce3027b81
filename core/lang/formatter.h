// Turns the tree into layouts. format.cc places functions, statements and comments,
// format_expr.cc expressions and types. Others call Format() of lang.h. What makes a tree deep without brackets
// (chains of operators, of postfixes, of `with`) is walked in loops, so that calls nest as brackets do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/lang/ast.h"
#include "core/lang/layout.h"
#include "core/lang/spelling.h"

namespace pullback::lang {

// Comments by place. Each is taken once: blocks take those inside them first, then the statement
// around takes what is left in it, so that none is lost.
class Comments {
 public:
  explicit Comments(const Program& p) : p_(p), taken_(p.comments.size(), false) {}

  // Takes those in [begin, end) that are left.
  std::vector<const Comment*> TakeIn(uint32_t begin, uint32_t end);
  // Takes the one that follows `offset` on its line, with nothing but blanks, ';' and ',' between.
  const Comment* TakeTrailing(uint32_t offset);
  bool AnyIn(uint32_t begin, uint32_t end) const;

 private:
  size_t FirstAt(uint32_t offset) const;

  const Program& p_;
  std::vector<bool> taken_;
};

class Formatter {
 public:
  explicit Formatter(const Program& p) : p_(p), comments_(p) {}
  std::string Run();

 private:
  // --- format.cc, format_struct.cc
  struct ItemText {  // of the file: a function or a struct
    uint32_t begin;  // of its keyword
    uint32_t body_begin;
    uint32_t body_end;
    const Function* function;
    const Struct* structure;
  };
  std::vector<ItemText> FileItems() const;
  std::string FormatFunction(const Function& f);
  std::string FormatStruct(const Struct& s);
  std::string FormatStruct(const Struct& s, bool open);
  uint32_t KeywordBegin(const Span& name, std::string_view keyword) const;
  void AddText(const std::string& text, bool blank_before);
  std::string_view Source(uint32_t begin, uint32_t end) const;
  bool BlankBefore(uint32_t offset) const;

  Layout Body(const Block& b);  // "{ … }"; its lines are those of the group around it
  bool StaysOpen(const Block& b) const;
  struct Item {  // of a block: a comment or a statement
    Layout layout;
    bool blank_before;
    bool comment = false;
  };
  std::vector<Item> Items(const Block& b, uint32_t begin);
  void AddItem(std::vector<Item>& items, Layout layout, const Span& span, uint32_t& from);
  void AddComments(std::vector<Item>& items, const std::vector<const Comment*>& comments);
  static bool IsCompound(const Stmt& s);

  Layout Statement(const Stmt& s);
  Layout For(const Stmt& s);
  Layout Snapshots(const Stmt& s);  // `checkpoint(c) ` of a loop
  Layout Assignment(const Stmt& s);
  Layout Values(const Stmt& s);
  Layout TargetList(const Stmt& s);
  Layout Condition(const Expr& e);
  Layout Arms(const std::vector<CondArm>& arms);

  // --- format_expr.cc. `binding`: an expression that binds less gets brackets.
  Layout Expression(const Expr& e, int binding = kAnyBinding);
  Layout Bare(const Expr& e);  // without brackets around it
  Layout Number(const Expr& e) const;
  Layout Chain(const Expr& e);
  Layout ComparisonChain(const Expr& e);
  Layout Unary(const Expr& e);
  Layout Power(const Expr& e);
  Layout Call(std::string head, const std::vector<ExprPtr>& arguments,
              const std::vector<std::string>& labels = {});
  Layout ArrayLiteral(const Expr& e);
  Layout ComprehensionOf(const Expr& e, Comprehension kind);
  Layout BinderOf(const Binder& b);
  Layout List(const std::vector<ExprPtr>& list, bool fill,
              const std::vector<std::string>& labels = {});
  // --- format_postfix.cc
  Layout Postfixes(const Expr& e);
  Layout Postfix(const Expr& e);
  Layout Subscripts(const std::vector<Subscript>& subscripts);
  Layout SubscriptOf(const Subscript& s);
  Layout With(const Expr& e);
  Layout Path(const std::vector<Access>& path, size_t from);
  // --- format_function.cc
  Layout TypeOf(const TypeExpr& t);
  Layout FunctionType(const TypeExpr& t);
  Layout LambdaOf(const Lambda& lambda);
  Layout Arguments(const Expr& call);

  const Program& p_;
  Comments comments_;
  const Stmt* each_ =
      nullptr;  // the last implied statement: before a loop over values, what gives them
  std::string out_;
};

}  // namespace pullback::lang
