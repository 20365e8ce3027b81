#include "core/tensor/look_up_arg.h"

#include <algorithm>
#include <utility>

#include "core/ir/monoid.h"
#include "core/tensor/equalities.h"
#include "core/tensor/statement_edit.h"

namespace pullback::tensor {
namespace {

using ir::Affine;
using ir::Inst;
using ir::Monoid;
using ir::Op;
using ir::Type;
using ir::Value;

// Writes a body; all of it under one guard.
class BodyWriter {
 public:
  BodyWriter(ir::Each& each, ir::Function& f, Value guard) : each_(each), f_(f), guard_(guard) {}

  Value Make(Op op, Type type, const std::vector<Value>& args) {
    Inst inst;
    inst.op = op;
    inst.args = args;
    return Append(std::move(inst), type);
  }
  Value Const(Type type, uint64_t bits) {
    Inst inst;
    inst.bits = bits;
    return Append(std::move(inst), type);
  }
  Value Read(Value array, ir::AffineSpan subs) {
    Inst inst;
    inst.op = Op::Index;
    inst.args = {array};
    inst.subs = subs;
    return Append(std::move(inst), f_.TypeOf(array).Element());
  }
  Value Of(Value index) {
    Inst inst;
    inst.op = Op::AffineOf;
    inst.subs = {Affine::Of(index)};
    return Append(std::move(inst), Type::I64());
  }

 private:
  Value Append(Inst inst, Type type) {
    inst.guard = guard_;
    inst.results = {f_.NewValue(type)};
    each_.body.push_back(std::move(inst));
    return each_.body.back().results[0];
  }

  ir::Each& each_;
  ir::Function& f_;
  const Value guard_;
};

Value NewArray(const ir::EachResult& r, DType elem, ir::Function& f) {
  return f.NewValue(Type::Array(elem, static_cast<int>(r.out.size())));
}

constexpr uint64_t kNone = ~uint64_t{0};  // -1

// The parts of one argmax or argmin.
class ArgSplitter {
 public:
  ArgSplitter(Inst inst, ir::Function& f) : inst_(std::move(inst)), f_(f) {
    ir::EachResult& r = Result(inst_);
    term_ = TermOf(*inst_.each, f, r);
    SetTerm(r, term_);
    extremum_ = r.monoid == Monoid::kArgMax ? Monoid::kMax : Monoid::kMin;
    type_ = f.TypeOf(r.value);
  }

  std::vector<Inst> Run() {
    std::vector<Inst> parts;
    parts.push_back(Best());
    parts.push_back(First());
    parts.push_back(Arg());
    return parts;
  }

 private:
  static ir::EachResult& Result(Inst& inst) { return inst.each->results[0]; }

  Inst Best() {
    Inst best = CopyStatement(inst_, f_).inst;
    Result(best).monoid = extremum_;
    best_ = NewArray(Result(best), type_.elem, f_);
    best.results = {best_};
    return best;
  }

  Inst First() {
    Inst first = CopyStatement(inst_, f_).inst;
    ir::EachResult& r = Result(first);
    BodyWriter w(*first.each, f_, r.guard);
    const Value equal = w.Make(Op::Eq, Type::Bool(), {r.value, w.Read(best_, r.out)});
    const Value nan = w.Make(Op::Ne, Type::Bool(), {r.value, r.value});
    r.value = w.Of(first.each->indices[r.out.size()].var);
    r.guard = w.Make(Op::Or, Type::Bool(), {equal, nan});
    r.monoid = Monoid::kMin;
    first_ = NewArray(r, DType::kI64, f_);
    first.results = {first_};
    PruneBody(*first.each);
    return first;
  }

  Inst Arg() {
    const ir::EachResult& from = Result(inst_);
    Inst arg;
    arg.op = Op::Each;
    arg.loc = inst_.loc;
    arg.results = inst_.results;
    arg.each = std::make_unique<ir::Each>();
    ir::EachResult r;
    for (size_t k = 0; k < from.out.size(); ++k) {
      const Value var = f_.NewLike(f_, inst_.each->indices[k].var);
      arg.each->indices.push_back({var, from.shape[k]});
      r.out.push_back(Affine::Of(var));
    }
    r.shape = from.shape;
    r.value = Found(BodyWriter(*arg.each, f_, ir::kNoValue), r.out);
    arg.each->results.push_back(std::move(r));
    return arg;
  }

  Value Found(BodyWriter w, ir::AffineSpan at) const {
    const auto is = [&](Value array, Type type, Monoid of_nothing) {
      const Value bits = w.Const(type, ir::MonoidIdentity(of_nothing, type.elem));
      return w.Make(Op::Eq, Type::Bool(), {w.Read(array, at), bits});
    };
    const Value none = w.Const(Type::I64(), kNone);
    const Value no_point = is(first_, Type::I64(), Monoid::kMin);
    const Value found = w.Make(Op::Select, Type::I64(), {no_point, none, w.Read(first_, at)});
    if (!term_.chosen) return found;
    // Where no choice was better than what is chosen else, the first point attains it, if there is one.
    const Value zero = w.Const(Type::I64(), 0);
    const Value extent = inst_.each->indices[at.size()].extent;
    const Value some = w.Make(Op::Gt, Type::Bool(), {extent, zero});
    const Value any = w.Make(Op::Select, Type::I64(), {some, zero, none});
    return w.Make(Op::Select, Type::I64(), {is(best_, type_, extremum_), any, found});
  }

  Inst inst_;
  ir::Function& f_;
  ResultTerm term_;
  Monoid extremum_;
  Type type_;
  Value best_, first_;
};

}  // namespace

bool IsArgUnderEquality(const ir::Each& each, const ir::Function& f, const ir::EachResult& r) {
  if (!ir::IsArg(r.monoid) || !ir::IsPrefixForm(each, r) || !each.where.empty() ||
      each.indices.size() != r.out.size() + 1)
    return false;
  const Value guard = TermOf(each, f, r).guard;
  if (!guard.valid()) return false;
  const std::set<Value> conditions = ConditionsOf(each, guard);
  const std::vector<Equality> equalities = EqualitiesOf(each, f);
  return std::any_of(equalities.begin(), equalities.end(), [&](const Equality& e) {
    return e.index < r.out.size() && conditions.contains(e.condition);
  });
}

std::vector<Inst> SplitArg(Inst inst, ir::Function& f) {
  return ArgSplitter(std::move(inst), f).Run();
}

}  // namespace pullback::tensor
