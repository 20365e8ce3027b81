#include "core/ir/verify_insts.h"

#include <algorithm>

#include "core/ir/op_types.h"

namespace pullback::ir::internal {
namespace {

using Message = std::string;  // empty: in order

std::vector<Type> ParamTypes(const Function& f) {
  std::vector<Type> types;
  if (f.blocks.empty()) return types;
  for (Value v : f.params()) types.push_back(f.TypeOf(v));
  return types;
}

std::vector<Type> Joined(std::vector<Type> a, const std::vector<Type>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class InstCheck {
 public:
  InstCheck(const Inst& inst, const Function& f, const Module& m) : i_(inst), f_(f), m_(m) {}

  Message Run(bool in_body) const {
    if (in_body && !AllowedInBody()) return "this operation may not stand in a body";
    if (!in_body && i_.guard.valid()) return "a guard may stand in a body only";
    if ((i_.op == Op::Each) != (i_.each != nullptr)) return "a statement is missing or misplaced";
    const int arity = Info(i_.op).arity;
    if (arity >= 0 && arity != Count(i_.args)) return "wrong number of operands";
    if (Message m = CheckOwn(); !m.empty()) return m;
    if (Message m = CheckRule(); !m.empty()) return m;
    if (Message m = CheckAffines(); !m.empty()) return m;
    return CheckResults();
  }

 private:
  template <typename Items>
  static int Count(const Items& items) {
    return static_cast<int>(items.size());
  }
  Type Arg(size_t i) const { return f_.TypeOf(i_.args[i]); }
  Type Result() const { return f_.TypeOf(i_.results.back()); }

  bool AllI64(ValueSpan vs, size_t from = 0) const {
    return std::all_of(vs.begin() + static_cast<ptrdiff_t>(std::min(from, vs.size())), vs.end(),
                       [&](Value v) { return f_.TypeOf(v) == Type::I64(); });
  }

  bool AllowedInBody() const {
    if (Info(i_.op).rule != TypeRule::Own) return true;
    switch (i_.op) {
      case Op::Const:
      case Op::AffineOf:
      case Op::Holds:
      case Op::Dim:
      case Op::Index: return true;
      case Op::StopGradient: return i_.args.empty() || Arg(0).IsScalar();
      case Op::Call:
      case Op::Jvp:
      case Op::Vjp: return i_.callee >= m_.functions.size() || IsScalarFunction();
      default: return false;
    }
  }

  bool IsScalarFunction() const {
    const Function& callee = m_.Get(i_.callee);
    const auto scalar = [](Type t) { return t.IsScalar(); };
    return std::all_of(callee.results.begin(), callee.results.end(), scalar) &&
           !callee.blocks.empty() &&
           std::all_of(callee.params().begin(), callee.params().end(),
                       [&](Value v) { return scalar(callee.TypeOf(v)); });
  }

  Message CheckRule() const {
    if (Info(i_.op).rule == TypeRule::Own) return {};
    std::vector<Type> types;
    for (Value v : i_.args) types.push_back(f_.TypeOf(v));
    const char* wanted = CheckOperandTypes(i_.op, types);
    return wanted ? Message("takes ") + wanted : Message();
  }

  // The number of results, and their types where they follow from the operands.
  Message CheckResults() const {
    const std::vector<Type> types = ResultTypes(i_, f_, m_);
    if (types.size() != i_.results.size()) return "wrong number of results";
    for (size_t r = 0; r < types.size(); ++r) {
      const Type got = f_.TypeOf(i_.results[r]);
      if (types[r] != Type{} && types[r] != got) {
        return "a result is " + ToString(got, m_) + " and should be " + ToString(types[r], m_);
      }
    }
    switch (i_.op) {
      case Op::Const: return CheckConst();
      case Op::Cast: return Result().IsScalar() ? Message() : "a cast yields a scalar";
      case Op::Pop: return Result().IsTape() ? "a tape holds no tapes" : Message();
      case Op::ListNew: return Result().IsList() ? Message() : "yields a list";
      case Op::ListOf:
        return Result().IsList() ? CheckFields(Result(), 1) : Message("yields a list");
      case Op::BoxNew: return Result().IsBox() ? CheckFields(Result(), 0) : Message("yields a box");
      case Op::Zeros: {
        const bool fits = Result().IsArray() && Result().rank == i_.args.size();
        return fits ? Message() : "the result's rank is not the number of extents";
      }
      default: return {};
    }
  }

  Message CheckConst() const {
    if (!Result().IsScalar()) return "a constant is a scalar";
    if (Result().elem == DType::kBool && i_.bits > 1) return "a bool is 0 or 1";
    if (Result().elem == DType::kF32 && i_.bits >> 32) return "an f32 has 32 bits";
    return {};
  }

  Message CheckOwn() const {
    switch (i_.op) {
      case Op::AffineOf: return i_.subs.size() == 1 ? Message() : "takes one affine form";
      case Op::Dim:
        return Arg(0).IsArray() && i_.bits < Arg(0).rank ? Message()
                                                         : "takes an array and one of its axes";
      case Op::Zeros: return !i_.args.empty() && AllI64(i_.args) ? Message() : "takes i64 extents";
      case Op::Index:
      case Op::Update:
      case Op::AddAt: return CheckAccess();
      case Op::AddArrays:
        return Arg(0).IsArray() && Arg(0) == Arg(1) && Arg(0).elem != DType::kBool
                   ? Message()
                   : "takes two arrays of numbers of one type";
      case Op::Fit:
        return !i_.args.empty() && Arg(0).IsArray() && Arg(0).rank + 1U == i_.args.size() &&
                       AllI64(i_.args, 1)
                   ? Message()
                   : "takes an array and an i64 for each of its axes";
      case Op::ListOf:
        return !i_.args.empty() && Arg(0) == Type::I64() ? Message() : "takes an i64 and fields";
      case Op::ListLen:
      case Op::ListPop: return Arg(0).IsList() ? Message() : "takes a list";
      case Op::ListGet:
      case Op::ListTake: return CheckListAndIndex();
      case Op::ListSet: {
        if (i_.args.size() < 2) return "takes a list, an index and fields";
        Message m = CheckListAndIndex();
        return m.empty() ? CheckFields(Arg(0), 2) : m;
      }
      case Op::ListPush:
        return !i_.args.empty() && Arg(0).IsList() ? CheckFields(Arg(0), 1)
                                                   : Message("takes a list and fields");
      case Op::BoxGet: return Arg(0).IsBox() ? Message() : "takes a box";
      case Op::BoxSet:
        return !i_.args.empty() && Arg(0).IsBox() ? CheckFields(Arg(0), 1)
                                                  : Message("takes a box and fields");
      case Op::Each: return CheckEach();
      case Op::Call: return CheckCall();
      case Op::Jvp:
      case Op::Vjp: return CheckDerivative();
      case Op::Check: return CheckCheck();
      case Op::Push:
        return Arg(0).IsTape() && !Arg(1).IsTape() ? Message() : "takes a tape and a value";
      case Op::Pop: return Arg(0).IsTape() ? Message() : "takes a tape";
      default: return {};
    }
  }

  Message CheckAccess() const {
    const Type array = Arg(0);
    if (!array.IsArray()) return "takes an array";
    if (array.rank != i_.subs.size()) return "the number of subscripts is not the array's rank";
    if (i_.op == Op::Index) return {};
    if (Arg(1) != array.Element()) return "the value is not of the element type";
    const bool adds_bools = i_.op == Op::AddAt && array.elem == DType::kBool;
    return adds_bools ? "bools cannot be added" : Message();
  }

  Message CheckListAndIndex() const {
    const bool fits = Arg(0).IsList() && Arg(1) == Type::I64();
    return fits ? Message() : "takes a list and an i64 index";
  }

  // The operands from `first` on are the fields of t's record.
  Message CheckFields(Type t, size_t first) const {
    if (t.record >= m_.records.size()) return "there is no such record";
    const Record& record = m_.records[t.record];
    if (i_.args.size() != first + record.fields.size()) {
      return "record " + record.name + " has " + std::to_string(record.fields.size()) + " fields";
    }
    for (size_t k = 0; k < record.fields.size(); ++k) {
      if (Arg(first + k) == record.fields[k]) continue;
      return "field " + record.field_names[k] + " is " + ToString(record.fields[k], m_) +
             ", given " + ToString(Arg(first + k), m_);
    }
    return {};
  }

  Message CheckCall() const {
    if (i_.callee >= m_.functions.size()) return "there is no such function";
    return CheckArguments(ParamTypes(m_.Get(i_.callee)));
  }

  // params…, then tangents of the parameters in wrt, or seeds of the results that carry a tangent.
  Message CheckDerivative() const {
    if (i_.callee >= m_.functions.size()) return "there is no such function";
    const Function& callee = m_.Get(i_.callee);
    std::vector<Type> wanted = ParamTypes(callee);
    if (i_.wrt.size() != wanted.size()) return "wrt speaks of parameters that do not exist";
    std::vector<Type> more;
    for (size_t k = 0; k < wanted.size(); ++k) {
      if (!i_.wrt[k]) continue;
      if (!CarriesTangent(m_, wanted[k])) {
        return "parameter " + std::to_string(k) + " is in wrt and carries no tangent";
      }
      more.push_back(wanted[k]);
    }
    if (i_.op == Op::Vjp) more = TangentTypes(m_, callee.results);
    wanted.insert(wanted.end(), more.begin(), more.end());
    return CheckArguments(wanted);
  }

  Message CheckArguments(const std::vector<Type>& wanted) const {
    if (i_.args.size() != wanted.size()) return "wrong number of arguments";
    for (size_t a = 0; a < wanted.size(); ++a) {
      if (Arg(a) != wanted[a]) {
        return "argument " + std::to_string(a) + " is " + ToString(Arg(a), m_) + " and should be " +
               ToString(wanted[a], m_);
      }
    }
    return {};
  }

  Message CheckCheck() const {
    if (i_.args.empty() || i_.args.size() > 3 || Arg(0) != Type::Bool() || !AllI64(i_.args, 1)) {
      return "takes a bool and at most two i64";
    }
    const bool known = i_.bits >= 1 && i_.bits <= static_cast<uint64_t>(TrapKind::kStopped);
    return known ? Message() : "this kind of trap does not exist";
  }

  Message CheckEach() const {
    for (const IndexVar& v : i_.each->indices) {
      if (f_.TypeOf(v.var) != Type::I64()) return "an index variable is not i64";
      if (f_.TypeOf(v.extent) != Type::I64()) return "an extent is not i64";
    }
    if (i_.each->results.empty()) return "a statement has results";
    for (const EachResult& r : i_.each->results) {
      if (Message m = CheckEachResult(r); !m.empty()) return m;
    }
    return {};
  }

  Message CheckEachResult(const EachResult& r) const {
    if (r.out.size() != r.shape.size()) return "the sizes of out and shape differ";
    if (!AllI64(r.shape)) return "an extent is not i64";
    const Type t = f_.TypeOf(r.value);
    if (!t.IsScalar()) return "a statement's value is not a scalar";
    if (r.monoid != Monoid::kGen && t.elem == DType::kBool) return "bools cannot be reduced";
    if (IsScan(r.monoid) && uint64_t{r.outer} + r.inner > i_.each->indices.size()) {
      return "a scan has fewer indices than it starts anew for, or has states for";
    }
    if (!IsScan(r.monoid) && r.inner > 0) return "scans alone have states";
    const bool linear = r.monoid == Monoid::kScanLinear;
    if (r.second.valid() != linear) return "scan_linear alone has a second value";
    if (linear && (f_.TypeOf(r.second) != t || !t.IsFloat())) {
      return "the values of scan_linear are not of one float type";
    }
    if (Message m = CheckInto(r); !m.empty()) return m;
    if (IsArg(r.monoid) && !IsArgForm(*i_.each, r)) {
      return std::string(MonoidName(r.monoid)) +
             " takes the first index variables in order, or all but one";
    }
    return {};
  }

  Message CheckInto(const EachResult& r) const {
    if (!r.into.valid()) return {};
    if (r.monoid != Monoid::kGen && r.monoid != Monoid::kSum)
      return "only gen and sum add to an array";
    const DType elem = f_.TypeOf(r.value).elem;
    if (r.out.empty() || elem == DType::kBool ||
        f_.TypeOf(r.into) != Type::Array(elem, static_cast<int>(r.out.size()))) {
      return "what is added to is not an array of the result's type";
    }
    int uses = 0;
    ForEachOperand(i_, [&](const Value& v) { uses += v == r.into; });
    return uses == 1 ? Message() : "a statement reads an array that it adds to";
  }

  Message CheckAffines() const {
    Message first;
    const auto check = [&](const Affine& a) {
      if (first.empty()) first = CheckAffine(a, f_);
    };
    for (const Affine& a : i_.subs) check(a);
    for (const Constraint& c : i_.constraints) check(c.e);
    if (!i_.each) return first;
    for (const Constraint& c : i_.each->where) check(c.e);
    for (const EachResult& r : i_.each->results) {
      for (const Affine& a : r.out) check(a);
    }
    return first;
  }

  const Inst& i_;
  const Function& f_;
  const Module& m_;
};

// Whether `rule` is (params) -> (results).
bool HasSignature(const Function& rule, const std::vector<Type>& params,
                  const std::vector<Type>& results) {
  return ParamTypes(rule) == params && rule.results == results;
}

}  // namespace

std::string CheckRules(const Function& f, const Module& m) {
  for (uint32_t rule : {f.vjp_rule, f.jvp_rule}) {
    if (rule != kNoFunction && rule >= m.functions.size()) return "a rule does not exist";
  }
  const std::vector<Type> params = ParamTypes(f);
  const std::vector<Type> in = TangentTypes(m, params), out = TangentTypes(m, f.results);
  if (f.vjp_rule != kNoFunction && !HasSignature(m.Get(f.vjp_rule), Joined(params, out), in) &&
      !HasSignature(m.Get(f.vjp_rule), params, f.results)) {  // a schedule: checkpointed_loop.h
    return "the vjp rule does not take params and seeds and give cotangents";
  }
  if (f.jvp_rule != kNoFunction &&
      !HasSignature(m.Get(f.jvp_rule), Joined(params, in), Joined(f.results, out))) {
    return "the jvp rule does not take params and tangents and give results and tangents";
  }
  return {};
}

std::string CheckAffine(const Affine& a, const Function& f) {
  for (size_t t = 0; t < a.terms.size(); ++t) {
    if (f.TypeOf(a.terms[t].value) != Type::I64())
      return "an affine form has a term that is not i64";
    if (a.terms[t].coeff == 0) return "an affine form has a zero coefficient";
    if (t > 0 && !(a.terms[t - 1].value < a.terms[t].value)) {
      return "the terms of an affine form are not sorted and merged";
    }
  }
  return {};
}

std::string CheckInst(const Inst& inst, bool in_body, const Function& f, const Module& m) {
  return InstCheck(inst, f, m).Run(in_body);
}

}  // namespace pullback::ir::internal
