#include "core/lang/lower_derive.h"

#include <algorithm>

#include "core/ir/jacobian.h"
#include "core/lang/lower_array.h"
#include "core/lang/lower_expr.h"
#include "core/lang/lower_sizes.h"

namespace pullback::lang {
namespace {

// The floats among a value's leaves.
bool Carries(const Context& c, const ir::Type& t) { return ir::CarriesTangent(c.module.module, t); }

std::vector<Value> Carrying(Context& c, const std::vector<Value>& values) {
  std::vector<Value> out;
  for (Value v : values) {
    if (Carries(c, c.b.TypeOf(v))) out.push_back(v);
  }
  return out;
}

// The derivative of an array has its sizes.
void MustHaveSizesOf(Context& c, Value derivative, Value array) {
  if (!c.b.TypeOf(array).IsArray()) return;
  const std::vector<Affine> have = c.DimsOf(derivative), want = c.DimsOf(array);
  for (size_t axis = 0; axis < have.size(); ++axis) RequireEqual(c, have[axis], want[axis]);
}

// A result of which nothing is known.
void Describe(Context& c, Value v) {
  if (c.b.TypeOf(v).IsArray()) c.ReadDims(v);
}

Value ZeroLike(Context& c, Value v) {
  const Value zero = c.b.ZerosLike(v);
  if (c.b.TypeOf(v).IsArray()) c.SetDims(zero, c.DimsOf(v));
  return zero;
}

// A derivative of `like`: the next of `derivatives` for every leaf that carries one, zeros for others.
class Expander {
 public:
  Expander(Context& c, const std::vector<Value>& derivatives, size_t first)
      : c_(c), derivatives_(derivatives), next_(first) {}

  void Append(const std::vector<Value>& like, Leaves& out) {
    for (Value v : like) {
      if (!Carries(c_, c_.b.TypeOf(v))) {
        out.push_back({ZeroLike(c_, v), nullptr});
        continue;
      }
      const Value derivative = derivatives_[next_++];
      if (c_.b.TypeOf(v).IsArray()) c_.SetDims(derivative, c_.DimsOf(v));
      out.push_back({derivative, nullptr});
    }
  }

 private:
  Context& c_;
  const std::vector<Value>& derivatives_;
  size_t next_;
};

std::vector<Value> Stored(Context& c, const Expr& e) {
  std::vector<Value> values;
  for (const Leaf& leaf : LowerStored(c, e)) values.push_back(leaf.value);
  return values;
}

struct Arguments {
  uint32_t callee;
  std::vector<Value> all;                      // the callee's, with what it captures
  std::vector<bool> wrt;                       // what carries a tangent, but captures
  std::vector<bool> by;                        // arguments that hold floats
  std::vector<std::vector<bool>> in_gradient;  // their leaves
  std::vector<std::vector<Value>> each;        // by argument
  std::vector<std::vector<Value>> following;   // by operand after the arguments
};

Arguments LowerArguments(Context& c, const Expr& e) {
  Arguments a;
  a.callee = c.module.DeclareCallee(e);
  const Function& callee = *c.module.program.functions[e.callee];
  const Type& function = e.operands[0]->type;
  const size_t captured = function.IsDynamic() ? 1 : function.elements.size();
  const size_t arity = callee.params.size() - captured;
  a.all = Stored(c, *e.operands[0]);
  a.wrt.resize(a.all.size(), false);
  for (size_t i = 1; i < e.operands.size(); ++i) {
    const std::vector<Value> values = Stored(c, *e.operands[i]);
    if (i > arity) {
      a.following.push_back(values);
      continue;
    }
    a.each.push_back(values);
    const bool by = CarriesFloat(e.operands[i]->type);
    a.by.push_back(by);
    a.in_gradient.push_back(LeavesInGradient(e.operands[i]->type));
    for (size_t k = 0; k < values.size(); ++k) {
      a.all.push_back(values[k]);
      const bool in = by && a.in_gradient.back()[k];
      a.wrt.push_back(in && Carries(c, c.b.TypeOf(values[k])));
    }
  }
  return a;
}

// The gradient: of every argument that carries a float.
void AppendGradient(Context& c, const Arguments& a, const std::vector<Value>& cotangents,
                    size_t first, Leaves& out) {
  Expander expander(c, cotangents, first);
  for (size_t i = 0; i < a.each.size(); ++i) {
    if (!a.by[i]) continue;
    std::vector<Value> like;
    for (size_t k = 0; k < a.each[i].size(); ++k) {
      if (a.in_gradient[i][k]) like.push_back(a.each[i][k]);
    }
    expander.Append(like, out);
  }
}

size_t ResultCount(Context& c, uint32_t callee) {
  return c.module.module.Get(callee).results.size();
}

Leaves LowerVjp(Context& c, const Expr& e, const Arguments& a) {
  std::vector<Value> operands = a.all;
  const size_t results = ResultCount(c, a.callee);
  if (e.derive == DeriveOp::kPullback) {
    for (Value v : Carrying(c, a.following[0])) operands.push_back(v);
  } else {
    operands.push_back(c.b.One(c.module.module.Get(a.callee).results[0]));
  }
  const std::vector<Value> out = c.b.Vjp(a.callee, a.wrt, operands);
  if (e.derive == DeriveOp::kPullback) {
    for (size_t i = 0; i < results; ++i) {
      Describe(c, out[i]);
      MustHaveSizesOf(c, a.following[0][i], out[i]);
    }
  }
  Leaves leaves;
  if (e.derive == DeriveOp::kValueAndGrad) leaves.push_back({out[0], nullptr});
  AppendGradient(c, a, out, results, leaves);
  return leaves;
}

Leaves LowerJvp(Context& c, const Arguments& a) {
  std::vector<Value> operands = a.all;
  for (size_t i = 0; i < a.each.size(); ++i) {
    if (!a.by[i]) continue;
    for (size_t k = 0; k < a.each[i].size(); ++k) {
      const Value v = a.following[i][k];
      MustHaveSizesOf(c, v, a.each[i][k]);
      if (a.in_gradient[i][k] && Carries(c, c.b.TypeOf(v))) operands.push_back(v);
    }
  }
  const size_t results = ResultCount(c, a.callee);
  const std::vector<Value> out = c.b.Jvp(a.callee, a.wrt, operands);
  for (Value v : out) Describe(c, v);
  Leaves leaves;
  Expander(c, out, results)
      .Append({out.begin(), out.begin() + static_cast<ptrdiff_t>(results)}, leaves);
  return leaves;
}

// Blocks of the Jacobian, by result and argument.
Leaves LowerJacobian(Context& c, const Arguments& a) {
  const size_t results = ResultCount(c, a.callee);
  const uint32_t jacobian = ir::AddJacobian(c.module.module, a.callee, a.wrt);
  const std::vector<Value> out = c.b.Call(jacobian, a.all);
  Leaves leaves;
  for (size_t i = results; i < out.size(); ++i) {
    Describe(c, out[i]);
    leaves.push_back({out[i], nullptr});
  }
  return leaves;
}

// --- rules

// The IR function that calls a rule, as the IR wants it.
class RuleAdapter {
 public:
  RuleAdapter(ModuleContext& m, uint32_t of, const DerivativeRule& rule, const char* mode)
      : m_(m),
        f_(*m.program.functions[of]),
        of_(m.Declare(of)),
        rule_(rule),
        id_(m.module.AddFunction(f_.name + "." + mode)),
        c_(m, id_) {
    at_.function = m.program.functions[rule.function].get();
    at_.base = m.bases[rule.function];
    c_.at = &at_;
    c_.b.NewBlock();
    c_.b.SetBlock(0);
    c_.b.SetLoc(at_.base);
    const ir::Function& source = m.module.Get(of_);
    for (Value p : source.params()) params_.push_back(Param(source.TypeOf(p)));
  }

  uint32_t Vjp() {
    const std::vector<ir::Type> results = m_.module.Get(of_).results;
    std::vector<Value> args = params_;
    for (const ir::Type& t : results) {
      // A seed's shape is the result's, which is known only where there is a float to hold it.
      args.push_back(ir::CarriesTangent(m_.module, t) ? Param(t) : EmptyOf(t));
    }
    GiveGradients(Call(args));
    return id_;
  }

  uint32_t Jvp() {
    std::vector<Value> args = params_;
    size_t next = 0;
    for (const lang::Param& p : f_.params) {
      const Type& type = f_.locals[p.local].type;
      const std::vector<ir::Type> leaves = m_.Flatten(type);
      std::vector<Value> tangents;
      bool any = false;
      for (const ir::Type& t : leaves) {
        const bool carries = ir::CarriesTangent(m_.module, t);
        any = any || carries;
        tangents.push_back(carries ? Param(t) : ZeroLike(c_, params_[next]));
        ++next;
      }
      if (any) args.insert(args.end(), tangents.begin(), tangents.end());
    }
    const std::vector<Value> out = Call(args);
    const size_t results = m_.module.Get(of_).results.size();
    for (size_t i = 0; i < results; ++i) Give(out[i]);
    for (size_t i = results; i < out.size(); ++i) {
      if (!Carries(c_, c_.b.TypeOf(out[i]))) continue;
      MustHaveSizesOf(c_, out[i], out[i - results]);
      Give(out[i]);
    }
    Finish();
    return id_;
  }

 private:
  Value Param(const ir::Type& t) {
    const Value v = c_.b.AddParam(0, t, "p" + std::to_string(c_.function.params().size()));
    Describe(c_, v);
    return v;
  }

  Value EmptyOf(const ir::Type& t) {
    if (t.IsScalar()) return c_.b.Zero(t);
    if (t.IsList()) return c_.b.ListNew(t.record);
    return c_.b.Zeros(t.elem, std::vector<Value>(static_cast<size_t>(t.rank), c_.b.I64(0)));
  }

  std::vector<Value> Call(const std::vector<Value>& args) {
    c_.b.SetLoc(at_.base);
    std::vector<Value> out = c_.b.Call(m_.Declare(rule_.function), args);
    for (Value v : out) Describe(c_, v);
    return out;
  }

  // The gradients that the rule gives, by parameter that carries a float.
  void GiveGradients(const std::vector<Value>& out) {
    size_t param = 0, next = 0;
    for (const lang::Param& p : f_.params) {
      const size_t leaves = FlatCount(f_.locals[p.local].type);
      const bool any = CarriesAny(param, leaves);
      for (size_t i = 0; i < leaves; ++i, ++param) {
        if (!any) continue;
        const Value v = out[next++];
        if (!Carries(c_, c_.b.TypeOf(v))) continue;
        MustHaveSizesOf(c_, v, params_[param]);
        Give(v);
      }
    }
    Finish();
  }

  bool CarriesAny(size_t first, size_t count) {
    for (size_t i = first; i < first + count; ++i) {
      if (Carries(c_, c_.b.TypeOf(params_[i]))) return true;
    }
    return false;
  }

  void Give(Value v) {
    results_.push_back(v);
    c_.function.results.push_back(c_.b.TypeOf(v));
  }
  void Finish() { c_.b.Return(results_); }

  ModuleContext& m_;
  const Function& f_;
  const uint32_t of_;
  const DerivativeRule& rule_;
  const uint32_t id_;
  Context c_;
  Activation at_;
  std::vector<Value> params_, results_;
};

}  // namespace

std::vector<bool> LeavesInGradient(const Type& t) {
  if (t.kind != Type::Kind::kFunction || t.IsDynamic()) {
    return std::vector<bool>(FlatCount(t), true);
  }
  std::vector<bool> all;
  for (const Type& captured : t.elements) {
    const std::vector<bool> more = LeavesInGradient(captured);
    const bool holds = CarriesFloat(captured);
    for (bool in : more) all.push_back(holds && in);
  }
  return all;
}

std::optional<Leaves> LowerDerive(Context& c, const Expr& e) {
  if (c.beforehand) return SizesOfDerive(c, e);
  if (c.InBody()) return std::nullopt;
  const Arguments a = LowerArguments(c, e);
  c.SetLoc(e.ordinal);
  switch (e.derive) {
    case DeriveOp::kJvp: return LowerJvp(c, a);
    case DeriveOp::kJacobian: return LowerJacobian(c, a);
    case DeriveOp::kCheckpoint: {
      Leaves leaves;
      for (Value v : c.b.Call(a.callee, a.all, true)) {
        Describe(c, v);
        leaves.push_back({v, nullptr});
      }
      return leaves;
    }
    default: return LowerVjp(c, e, a);
  }
}

std::optional<Leaves> LowerStopGradient(Context& c, const Expr& e) {
  PB_TRY(Leaves leaves, Lower(c, *e.operands[0]));
  if (c.dims_only) return leaves;
  for (Leaf& leaf : leaves) {
    c.SetLoc(e.ordinal);
    if (c.InBody() && IsArrayLeaf(c, leaf)) {
      const DType elem = ArrayOf(c, leaf)->elem;
      if (!Carries(c, ir::Type::Scalar(elem))) continue;
      PB_TRY(const ArrayRef stopped, MapElements(c, elem, {leaf}, [&c](const auto& element) {
               return MaybeValue(c.b.StopGradient(element[0]));
             }));
      leaf = LeafOf(c, stopped);
      continue;
    }
    Store(c, leaf);
    if (!Carries(c, c.b.TypeOf(leaf.value))) continue;
    const Value stopped = c.b.StopGradient(leaf.value);
    if (c.b.TypeOf(stopped).IsArray()) c.SetDims(stopped, c.DimsOf(leaf.value));
    leaf.value = stopped;
  }
  return leaves;
}

void LowerRules(ModuleContext& m, uint32_t function) {
  const Function& f = *m.program.functions[function];
  const uint32_t id = m.Declare(function);
  if (!f.vjp_rule.name.empty()) {
    const uint32_t rule = RuleAdapter(m, function, f.vjp_rule, "vjp").Vjp();
    m.module.Get(id).vjp_rule = rule;
  }
  if (!f.jvp_rule.name.empty()) {
    const uint32_t rule = RuleAdapter(m, function, f.jvp_rule, "jvp").Jvp();
    m.module.Get(id).jvp_rule = rule;
  }
}

}  // namespace pullback::lang
