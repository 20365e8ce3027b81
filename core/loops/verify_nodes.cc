#include "core/loops/verify_nodes.h"

#include <algorithm>

#include "core/loops/liveness.h"

namespace pullback::loops {
namespace {

using ir::Op;
using ir::Type;
using Kind = Node::Kind;

class Shape {
 public:
  Shape(const Module& m, const Function& f, const Node& n) : m_(m), f_(f), n_(n) {}
  bool IsRight() const;

 private:
  Type Arg(size_t i) const { return f_.TypeOf(n_.args[i]); }
  Type Result(size_t i = 0) const { return f_.TypeOf(n_.results[i]); }
  bool Has(size_t args, size_t results) const {
    return n_.args.size() == args && n_.results.size() == results;
  }
  bool AllArgs(size_t from, Type t) const {
    return std::all_of(n_.args.begin() + static_cast<std::ptrdiff_t>(from), n_.args.end(),
                       [&](Reg r) { return f_.TypeOf(r) == t; });
  }
  bool IsLanes(Reg r) const { return f_.regs[r.id].lanes; }
  bool Scalar() const;
  bool If() const;
  bool Check() const;
  bool Call() const;
  bool Contract() const;

  const Module& m_;
  const Function& f_;
  const Node& n_;
};

bool Shape::Scalar() const {
  const ir::OpInfo& info = ir::Info(n_.op);
  if (n_.op == Op::Const) return Has(0, 1) && Result().IsScalar();
  if (info.arity < 1 || !Has(static_cast<size_t>(info.arity), 1) || !Result().IsScalar())
    return false;
  if (!std::all_of(n_.args.begin(), n_.args.end(), [&](Reg r) { return f_.TypeOf(r).IsScalar(); }))
    return false;
  switch (info.rule) {
    case ir::TypeRule::Float:
    case ir::TypeRule::Num:
    case ir::TypeRule::Int:
    case ir::TypeRule::Bool: return AllArgs(0, Result());
    case ir::TypeRule::Cmp: return AllArgs(0, Arg(0)) && Result() == Type::Bool();
    case ir::TypeRule::ToBoolF: return Result() == Type::Bool();
    case ir::TypeRule::Cast: return true;
    case ir::TypeRule::Select: return Arg(0) == Type::Bool() && AllArgs(1, Result());
    case ir::TypeRule::Own: return false;
  }
  return false;
}

bool Shape::If() const {
  const size_t count = n_.results.size();
  if (n_.args.size() != 1 || Arg(0) != Type::Bool()) return false;
  if (n_.body_yields.size() != count || n_.other_yields.size() != count) return false;
  for (size_t i = 0; i < count; ++i) {
    if (f_.TypeOf(n_.body_yields[i]) != Result(i) || f_.TypeOf(n_.other_yields[i]) != Result(i))
      return false;
  }
  return true;
}

bool Shape::Check() const {
  return !n_.args.empty() && n_.args.size() <= 3 && n_.results.empty() && Arg(0) == Type::Bool() &&
         AllArgs(1, Type::I64());
}

bool Shape::Call() const {
  const Function& callee = *m_.functions[n_.callee];
  const ir::Values& params = callee.blocks[0].params;
  if (!Has(params.size(), callee.results.size())) return false;
  for (size_t i = 0; i < params.size(); ++i) {
    if (Arg(i) != callee.TypeOf(params[i])) return false;
  }
  for (size_t i = 0; i < callee.results.size(); ++i) {
    if (Result(i) != callee.results[i]) return false;
  }
  return true;
}

// Three arrays of floats of one type, their offsets, and four integers for each index.
bool Shape::Contract() const {
  constexpr size_t kFirst = 2 * kContractArrays;
  if (n_.args.size() < kFirst || !n_.results.empty()) return false;
  const size_t words = n_.args.size() - kFirst;
  for (size_t i = 0; i < kContractArrays; ++i) {
    if (!Arg(i).IsArray() || !Arg(i).IsFloat() || Arg(i).elem != Arg(0).elem) return false;
  }
  return words % kContractIndexArgs == 0 && words / kContractIndexArgs <= kMostContractIndices &&
         AllArgs(kContractArrays, Type::I64());
}

bool Shape::IsRight() const {
  const Type i64 = Type::I64();
  switch (n_.kind) {
    case Kind::kScalar: return Scalar();
    case Kind::kDim:
      return Has(1, 1) && Arg(0).IsArray() && n_.bits < Arg(0).rank && Result() == i64;
    case Kind::kLoad:
      return Has(2, 1) && Arg(0).IsArray() && Arg(1) == i64 && Result() == Arg(0).Element();
    case Kind::kStore:
      return Has(3, 0) && Arg(0).IsArray() && Arg(1) == i64 && Arg(2) == Arg(0).Element();
    case Kind::kAlloc:
      return n_.results.size() == 1 && Result().IsArray() && n_.args.size() == Result().rank &&
             AllArgs(0, i64);
    case Kind::kRetain:
    case Kind::kRelease: return Has(1, 0) && IsCounted(Arg(0));
    case Kind::kUnique: return Has(1, 1) && Arg(0).IsArray() && Arg(0) == Result();
    case Kind::kFor: return Has(2, 1) && AllArgs(0, i64) && Result() == i64;
    case Kind::kIf: return If();
    case Kind::kLanesNew: return Has(0, 1) && IsLanes(n_.results[0]);
    case Kind::kLaneAdd:
      return Has(3, 0) && IsLanes(n_.args[0]) && Arg(1) == i64 && Arg(2) == Arg(0);
    case Kind::kLanesTotal: return Has(1, 1) && IsLanes(n_.args[0]) && Result() == Arg(0);
    case Kind::kCheck: return Check();
    case Kind::kCall: return Call();
    case Kind::kTapeNew: return Has(0, 1) && Result().IsTape();
    case Kind::kPush: return Has(2, 1) && Arg(0).IsTape() && Result().IsTape();
    case Kind::kPop: return Has(1, 2) && Arg(0).IsTape() && Result().IsTape();
    case Kind::kContract: return Contract();
    case Kind::kList: return !n_.results.empty();
  }
  return false;
}

}  // namespace

const char* WrongShape(const Module& module, const Function& f, const Node& node) {
  return Shape(module, f, node).IsRight() ? nullptr
                                          : "operands or results of the wrong number or type";
}

}  // namespace pullback::loops
