#include "core/lang/lower_invariants.h"

#include <algorithm>
#include <set>

#include "core/lang/builtins.h"
#include "core/lang/function_flow.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_source.h"
#include "core/lang/lower_walk.h"
#include "core/lang/walk.h"

namespace pullback::lang {
namespace {

using Locals = std::set<uint32_t>;

constexpr int kMaxDepth = 50;  // of functions that are looked into
// Expressions that are looked at for one module: what is inside others is looked at again for each of them.
constexpr size_t kMostLooked = 20000000;

bool IsCallOfFunction(const Expr& e) { return e.kind == Expr::Kind::kCall && e.builtin < 0; }

// Calls of the function do not end soon, or are nothing that a body can say.
bool IsDear(ModuleContext& m, uint32_t function, int depth);

bool IsDearCall(ModuleContext& m, const Expr& e, int depth = 0) {
  if (e.kind == Expr::Kind::kDerive) return true;
  return IsCallOfFunction(e) && IsDear(m, e.callee, depth);
}

bool HasLoops(const Function& f) {
  bool loops = HasLoops(f.body);
  if (!IsScalarFunction(f)) return loops;
  // A body calls it, and has no part of its text.
  ForEachExpr(f.body,
              [&](const Expr& e) { loops = loops || e.kind == Expr::Kind::kComprehension; });
  return loops;
}

bool IsDear(ModuleContext& m, uint32_t function, int depth) {
  const auto [at, added] = m.dear.try_emplace(function, true);  // as if it called itself
  if (!added || depth >= kMaxDepth) return at->second;
  const Function& f = *m.program.functions[function];
  bool dear = HasLoops(f) || (!IsScalarFunction(f) && !MayInline(f));
  ForEachExpr(f.body, [&](const Expr& e) { dear = dear || IsDearCall(m, e, depth + 1); });
  return m.dear[function] = dear;
}

bool MakesList(const Expr& e) {
  return e.kind == Expr::Kind::kCall && IsListBuiltin(e.builtin) &&
         e.type.kind == Type::Kind::kList;
}

// Whether a block evaluates it by loops.
bool IsMadeInLoops(ModuleContext& m, const Expr& e) {
  switch (e.kind) {
    case Expr::Kind::kComprehension:
    case Expr::Kind::kScan: return true;
    case Expr::Kind::kCall:
      if (e.builtin >= 0) return static_cast<Builtin>(e.builtin) == Builtin::ScanLinear;
      return !IsScalarFunction(*m.program.functions[e.callee]);
    case Expr::Kind::kBinary:
      return e.binary == BinaryOp::kMatMul && e.type.kind == Type::Kind::kScalar;
    default: return false;
  }
}

// Nothing that has a box can be evaluated elsewhere; what a function that is data captured may have one.
bool IsPure(const Expr& e) {
  bool pure = true;
  ForEachExpr(e, [&](const Expr& part) {
    pure = pure && !HoldsBox(part.type) && !HoldsDynamic(part.type);
  });
  return pure;
}

class Finder {
 public:
  Finder(Context& c, Dear dear) : c_(c), dear_(dear) {}
  std::vector<Invariants> Run(const Expr& comprehension, size_t first);

 private:
  void Find(const Block& body);
  void FindIn(const Stmt& s, Invariants& found);
  void FindIn(const Expr& e, Invariants& found);
  void Keep(Invariants& found);
  void FindInside(const Expr& e);
  bool IsKnownEnd(const Expr& e) const;
  bool IsDearAlone(const Expr& e) const;
  bool HasDear(const Expr& e);
  bool IsPart(const Expr& e);
  bool IsKept(const Stmt& let) const;
  bool MayBeAhead(const Expr& e);
  bool Look() { return ++c_.module.looked < kMostLooked; }

  Context& c_;
  const Dear dear_;
  Locals varying_;
  Locals binders_;  // among those
  std::vector<const Expr*> around_;
  std::vector<const Expr*> inside_;  // comprehensions that the body at hand surely evaluates
  std::vector<Invariants> all_;
};

bool Finder::IsDearAlone(const Expr& e) const {
  if (IsDearCall(c_.module, e) || MakesList(e)) return true;
  return dear_ == Dear::kInLoops && IsMadeInLoops(c_.module, e);
}

// Of a reduction, something that it cannot have in its body, which calls of scalars are not.
bool Finder::HasDear(const Expr& e) {
  const bool reduces = e.kind == Expr::Kind::kComprehension || e.kind == Expr::Kind::kScan;
  if (!reduces && e.kind != Expr::Kind::kIf && !IsChain(e)) return false;
  bool dear = false;
  ForEachExpr(e, [&](const Expr& part) {
    if (dear || !Look()) return;
    const bool said = reduces && IsCallOfFunction(part) &&
                      IsScalarFunction(*c_.module.program.functions[part.callee]);
    dear = !said && IsDearAlone(part);
  });
  return dear;
}

bool Finder::MayBeAhead(const Expr& e) {
  bool same = true;
  ForEachExpr(e, [&](const Expr& part) {
    same = same && Look() && (part.kind != Expr::Kind::kName || varying_.count(part.local) == 0);
  });
  return same && IsPure(e);
}

// One that is evaluated as a whole.
bool Finder::IsPart(const Expr& e) { return (IsDearAlone(e) || HasDear(e)) && MayBeAhead(e); }

void Finder::FindIn(const Expr& e, Invariants& found) {
  ForEachCertain(e, [&](const Expr& part) {
    if (c_.IsGiven(part)) return false;
    if (IsPart(part)) {
      found.parts.push_back({&part, nullptr, true});
      return false;
    }
    if (part.kind != Expr::Kind::kComprehension) return true;
    for (const ExprPtr& operand : part.operands) FindIn(*operand, found);
    if (part.binders[0].lo) FindIn(*part.binders[0].lo, found);
    FindIn(*part.binders[0].hi, found);
    inside_.push_back(&part);
    return false;
  });
}

// A let that is the same at all points is one of the parts, until Keep knows whether it is needed.
void Finder::FindIn(const Stmt& s, Invariants& found) {
  if (const Expr* part = CertainPart(s)) FindIn(*part, found);
  if (s.kind != Stmt::Kind::kLet && s.kind != Stmt::Kind::kVar) return;
  const bool shared = std::any_of(s.targets.begin(), s.targets.end(), [&](const Target& t) {
    return c_.at->function->locals[t.local].shared;
  });
  if (s.kind == Stmt::Kind::kLet && !shared && !s.annotation && MayBeAhead(*s.value)) {
    if (found.parts.empty() || found.parts.back().value != s.value.get()) {
      found.parts.push_back({s.value.get(), nullptr, IsKept(s)});
    }
    found.parts.back().let = &s;
  } else {
    for (const Target& t : s.targets) varying_.insert(t.local);
  }
}

// An array that a loop would make at each turn for the let's sake.
bool Finder::IsKept(const Stmt& let) const {
  const Type::Kind kind = let.value->type.kind;
  const bool made = kind == Type::Kind::kArray || kind == Type::Kind::kStructArray;
  return dear_ == Dear::kInLoops && made && let.value->kind != Expr::Kind::kName;
}

// Without lets that nothing dear speaks of, which vary as far as the comprehensions inside know.
void Finder::Keep(Invariants& found) {
  Locals needed;
  std::vector<Invariant> kept;
  for (size_t i = found.parts.size(); i-- > 0;) {
    const Invariant& part = found.parts[i];
    const bool named =
        part.let && std::any_of(part.let->targets.begin(), part.let->targets.end(),
                                [&](const Target& t) { return needed.count(t.local) != 0; });
    if (!named && !part.dear) {
      for (const Target& t : part.let->targets) varying_.insert(t.local);
      continue;
    }
    kept.push_back(part);
    ForEachExpr(*part.value, [&](const Expr& e) {
      if (e.kind == Expr::Kind::kName) needed.insert(e.local);
    });
  }
  found.parts.assign(kept.rbegin(), kept.rend());
}

void Finder::Find(const Block& body) {
  Invariants found{around_, &body, {}};
  inside_.clear();
  for (uint32_t local : AssignedIn(body)) varying_.insert(local);
  for (const StmtPtr& s : body.stmts) FindIn(*s, found);
  FindIn(*body.result, found);
  const std::vector<const Expr*> inside = std::move(inside_);
  Keep(found);
  if (!found.parts.empty()) all_.push_back(std::move(found));
  for (const Expr* inner : inside) FindInside(*inner);
}

void Finder::FindInside(const Expr& e) {
  if (!e.operands.empty()) varying_.insert(e.local);
  bool known = true;
  for (const Binder& b : e.binders) {
    known = known && (!b.lo || IsKnownEnd(*b.lo)) && IsKnownEnd(*b.hi);
    varying_.insert(b.local);
    binders_.insert(b.local);
  }
  if (!known) return;
  around_.push_back(&e);
  Find(e.body);
  around_.pop_back();
}

// Of a range: a simple form of binders and of what is known in front.
bool Finder::IsKnownEnd(const Expr& e) const {
  bool known = IsSimple(e);
  ForEachExpr(e, [&](const Expr& part) {
    const bool name = part.kind == Expr::Kind::kName && varying_.count(part.local) != 0;
    known = known && (!name || binders_.count(part.local) != 0);
  });
  return known;
}

std::vector<Invariants> Finder::Run(const Expr& comprehension, size_t first) {
  for (size_t i = first; i < comprehension.binders.size(); ++i) {
    varying_.insert(comprehension.binders[i].local);
    binders_.insert(comprehension.binders[i].local);
  }
  Find(comprehension.body);
  return std::move(all_);
}

}  // namespace

std::vector<Invariants> FindInvariants(Context& c, const Expr& comprehension, size_t first,
                                       Dear dear) {
  return Finder(c, dear).Run(comprehension, first);
}

}  // namespace pullback::lang
