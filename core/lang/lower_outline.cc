// A body with control flow becomes a function of scalars that the body calls: to the algebra of
// tensor statements it is a black box. What it captures are its parameters; element reads come in
// as parameters too (and extents), where reading them beforehand cannot trap when the body would
// not.
#include <algorithm>
#include <set>

#include "core/lang/builtins.h"
#include "core/lang/lower_comprehension.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_keys.h"
#include "core/lang/lower_sizes.h"
#include "core/lang/lower_stmt.h"
#include "core/lang/lower_walk.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

bool IsScalarLocal(const Context& c, const Leaves& leaves) {
  return std::all_of(leaves.begin(), leaves.end(), [&](const Leaf& l) {
    return l.value.valid() && c.b.TypeOf(l.value).IsScalar();
  });
}

// x[i, j] of an array around the body, with subscripts from around the body.
bool IsOuterRead(const Context& c, const Expr& e, const std::set<uint32_t>& outer) {
  if (e.kind != Expr::Kind::kIndex || e.type.kind != Type::Kind::kScalar) return false;
  const Expr& x = *e.operands[0];
  if (x.type.kind != Type::Kind::kArray) return false;
  bool all = c.IsGiven(x) || (x.kind == Expr::Kind::kName && outer.count(x.local) != 0);
  for (const Subscript& s : e.subscripts) {
    ForEachExpr(s.index, [&](const Expr& part) {
      const bool simple = part.kind == Expr::Kind::kName || part.kind == Expr::Kind::kInt ||
                          part.kind == Expr::Kind::kUnary || part.kind == Expr::Kind::kBinary ||
                          part.kind == Expr::Kind::kIndex;
      all = all && simple;
      if (part.kind == Expr::Kind::kName) all = all && outer.count(part.local) != 0;
    });
  }
  return all;
}

// len(x), dim(x, k) of an array around the body.
bool IsOuterExtent(const Expr& e, const std::set<uint32_t>& outer) {
  const bool extent = e.kind == Expr::Kind::kCall && (e.builtin == static_cast<int>(Builtin::Len) ||
                                                      e.builtin == static_cast<int>(Builtin::Dim));
  return extent && e.operands[0]->kind == Expr::Kind::kName &&
         outer.count(e.operands[0]->local) != 0;
}

// Parts of a block that are evaluated whenever it is.
std::set<const Expr*> CertainParts(const Block& block) {
  std::set<const Expr*> certain;
  const auto add = [&](const Expr& e) { return certain.insert(&e).second; };
  for (const StmtPtr& s : block.stmts) {
    if (const Expr* part = CertainPart(*s)) ForEachCertain(*part, add);
  }
  ForEachCertain(*block.result, add);
  return certain;
}

class Outlining {
 public:
  Outlining(Context& c, const Block& block) : c_(c), block_(block) {}
  MaybeValue Run();

 private:
  bool FindReads();
  MaybeValue LowerReads();
  uint32_t MakeFunction();

  Context& c_;
  const Block& block_;
  std::vector<uint32_t> captured_;  // scalars
  std::vector<const Expr*> reads_;
  std::vector<Value> args_;
};

// False: an array is used in another way.
bool Outlining::FindReads() {
  std::set<uint32_t> outer, arrays;
  for (uint32_t local : FreeLocals(block_)) {
    outer.insert(local);
    if (IsScalarLocal(c_, c_.at->locals[local])) {
      captured_.push_back(local);
    } else {
      arrays.insert(local);
    }
  }
  const std::set<const Expr*> certain = CertainParts(block_);
  std::set<const Expr*> covered;  // by a read
  bool only_reads = true;
  const auto may_read = [&](const Expr& e) {
    return certain.count(&e) != 0 || (e.operands[0]->kind == Expr::Kind::kName && IsInside(c_, e));
  };
  ForEachExpr(block_, [&](const Expr& e) {
    if (covered.count(&e) != 0) return;
    const bool given = c_.IsGiven(e);
    if (given && e.type.kind != Type::Kind::kScalar) {
      only_reads = false;
    } else if (given || IsOuterExtent(e, outer) || (IsOuterRead(c_, e, outer) && may_read(e))) {
      reads_.push_back(&e);
      ForEachExpr(e, [&](const Expr& part) { covered.insert(&part); });
    } else if (e.kind == Expr::Kind::kName) {
      only_reads = only_reads && arrays.count(e.local) == 0;
    }
  });
  return only_reads;
}

uint32_t Outlining::MakeFunction() {
  ModuleContext& m = c_.module;
  const Function& source = *c_.at->function;
  const uint32_t id = m.module.AddFunction(source.name + ".body" + std::to_string(m.outlined++));
  Context inner(m, id);
  inner.function.results = m.Flatten(block_.result->type);
  inner.b.SetBlock(inner.b.NewBlock());
  Activation run{&source, c_.at->base, {}, {}, {}, {}};
  run.locals.resize(source.locals.size());
  inner.at = &run;
  size_t next = 0;
  const auto add_param = [&](const std::string& name) {
    const Value outside = args_[next++];
    const Value v = inner.b.AddParam(0, c_.b.TypeOf(outside), name);
    if (c_.small.count(outside.id) != 0 || c_.IsIndex(outside)) inner.small.insert(v.id);
    if (c_.sizes.count(outside.id) != 0 || c_.IsIndex(outside)) inner.sizes.insert(v.id);
    return v;
  };
  for (uint32_t local : captured_) {
    for (size_t l = 0; l < c_.at->locals[local].size(); ++l) {
      run.locals[local].push_back({add_param(source.locals[local].name), nullptr});
    }
  }
  for (const Expr* read : reads_) {
    const bool named = !read->operands.empty() && read->operands[0]->kind == Expr::Kind::kName;
    inner.replaced[read] =
        add_param(named ? source.locals[read->operands[0]->local].name : std::string());
  }
  const Leaves result = LowerBlockValue(inner, block_);
  inner.b.Return({result[0].value});
  return id;
}

MaybeValue Outlining::Run() {
  if (block_.result->type.kind != Type::Kind::kScalar || !FindReads()) return std::nullopt;
  for (uint32_t local : captured_) {
    for (const Leaf& leaf : c_.at->locals[local]) args_.push_back(leaf.value);
  }
  for (const Expr* read : reads_) {
    PB_TRY(const Value v, LowerScalar(c_, *read));
    args_.push_back(v);
  }
  return c_.b.Call(MakeFunction(), args_)[0];
}

}  // namespace

MaybeValue LowerOutlined(Context& c, const Block& block) {
  // The function would look at all cases of an `or` (lower_either.cc), and all terms (lower_terms.cc).
  bool chosen = false;
  ForEachExpr(block, [&](const Expr& e) {
    chosen = chosen || c.chosen.count(&e) != 0 || c.terms.count(&e) != 0;
  });
  return chosen ? std::nullopt : Outlining(c, block).Run();
}

}  // namespace pullback::lang
