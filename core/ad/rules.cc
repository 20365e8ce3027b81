#include "core/ad/rules.h"

#include "core/ad/adjoint.h"
#include "core/ad/list_functions.h"
#include "core/ir/builder.h"

namespace pullback::ad {
namespace {

using ir::Type;
using ir::Value;

std::vector<bool> Joined(std::vector<bool> a, const std::vector<bool>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Zeros shaped like those of `values` that carry tangents. Rules are users' code and never see a short zero.
void AppendZeros(ir::Builder& b, const std::vector<Value>& values, std::vector<Value>& out) {
  ListFunctions lists(b.module());
  for (Value v : values) {
    if (!ir::CarriesTangent(b.module(), b.TypeOf(v))) continue;
    const Value zero = b.ZerosLike(v);
    out.push_back(b.TypeOf(v).IsList() ? lists.Fill(b, zero, v) : zero);
  }
}

std::vector<Value> Tail(const std::vector<Value>& values, size_t from) {
  return {values.begin() + static_cast<long>(from), values.end()};
}

// (params…, cotangent of every result…) -> cotangents: reverse mode over the tangents of the jvp rule.
StatusOr<uint32_t> TransposeJvpRule(ir::Module& module, uint32_t f) {
  const std::vector<Type> params = ParamTypes(module.Get(f));
  const std::vector<Type> results = module.Get(f).results;
  const std::vector<Type> in = ir::TangentTypes(module, params);
  const std::vector<Type> out = ir::TangentTypes(module, results);
  PB_ASSIGN_OR_RETURN(
      const uint32_t pullback,
      BuildPullback(
          module, module.Get(f).jvp_rule,
          Joined(std::vector<bool>(params.size(), false), std::vector<bool>(in.size(), true)),
          Joined(std::vector<bool>(results.size(), false), std::vector<bool>(out.size(), true))));
  const uint32_t target = module.AddFunction(module.Get(f).name + ".vjp");
  ir::Builder b(module, module.Get(target));
  b.NewBlock();
  std::vector<Value> args;
  for (Type t : params) args.push_back(b.AddParam(0, t));
  std::vector<Value> bars;
  for (Type t : out) bars.push_back(b.AddParam(0, t, "bar"));
  b.function().results = in;
  AppendZeros(b, std::vector<Value>(args), args);
  args.insert(args.end(), bars.begin(), bars.end());
  b.Return(b.Call(pullback, args));
  return target;
}

// The tangents of f's results along `dots`: reverse mode over the seeds of the vjp rule.
std::vector<Value> PushByVjpRule(ir::Builder& b, uint32_t pullback, std::vector<Value> args,
                                 const std::vector<Value>& results,
                                 const std::vector<Value>& dots) {
  AppendZeros(b, results, args);
  args.insert(args.end(), dots.begin(), dots.end());
  return b.Call(pullback, args);
}

// The vjp rule on seeds that may be short zeros.
uint32_t FillSeeds(ir::Module& module, uint32_t f, uint32_t rule) {
  const uint32_t target = module.AddFunction(module.Get(rule).name + ".filled");
  ir::Builder b(module, module.Get(target));
  b.NewBlock();
  std::vector<Value> args;
  for (Type t : ParamTypes(module.Get(rule))) args.push_back(b.AddParam(0, t));
  b.function().results = module.Get(rule).results;
  size_t next = module.Get(f).params().size();
  ListFunctions lists(module);
  for (Value y : b.Call(f, {args.begin(), args.begin() + static_cast<long>(next)})) {
    if (!ir::CarriesTangent(module, b.TypeOf(y))) continue;
    if (b.TypeOf(y).IsList()) args[next] = lists.Fill(b, args[next], y);
    ++next;
  }
  b.Return(b.Call(rule, args));
  return target;
}

}  // namespace

std::vector<bool> Carrying(const ir::Module& module, const std::vector<Type>& types) {
  std::vector<bool> carrying;
  for (Type t : types) carrying.push_back(ir::CarriesTangent(module, t));
  return carrying;
}

std::vector<Type> ParamTypes(const ir::Function& f) {
  std::vector<Type> types;
  for (Value v : f.params()) types.push_back(f.TypeOf(v));
  return types;
}

StatusOr<uint32_t> PullbackByRule(ir::Module& module, uint32_t f) {
  const uint32_t rule = module.Get(f).vjp_rule;
  if (rule == ir::kNoFunction) return TransposeJvpRule(module, f);
  for (Type t : module.Get(f).results) {
    if (t.IsList() && ir::CarriesTangent(module, t)) return FillSeeds(module, f, rule);
  }
  return rule;
}

Status WriteJvpByRule(ir::Module& module, uint32_t f, uint32_t target,
                      const std::vector<bool>& active, int width) {
  const uint32_t jvp_rule = module.Get(f).jvp_rule, vjp_rule = module.Get(f).vjp_rule;
  const std::vector<Type> params = ParamTypes(module.Get(f));
  const std::vector<bool> in = Carrying(module, params);
  const std::vector<bool> out = Carrying(module, module.Get(f).results);
  const size_t seeds = ir::TangentTypes(module, module.Get(f).results).size();
  uint32_t pullback = ir::kNoFunction;
  if (jvp_rule == ir::kNoFunction) {
    PB_ASSIGN_OR_RETURN(
        pullback,
        BuildPullback(module, vjp_rule,
                      Joined(std::vector<bool>(in.size(), false), std::vector<bool>(seeds, true)),
                      std::vector<bool>(module.Get(vjp_rule).results.size(), true)));
  }
  ir::Builder b(module, module.Get(target));
  b.SetBlock(0);
  const ir::Values given = b.function().params();
  const std::vector<Value> args(given.begin(), given.begin() + static_cast<long>(params.size()));
  std::vector<Value> results;
  if (jvp_rule == ir::kNoFunction) results = b.Call(f, args);
  ListFunctions lists(module);
  std::vector<std::vector<Value>> pushed;  // by direction
  const auto n = static_cast<size_t>(width);
  for (size_t d = 0; d < n; ++d) {
    size_t next = params.size() + d;
    std::vector<Value> dots;
    for (size_t k = 0; k < params.size(); ++k) {
      if (!in[k]) continue;
      dots.push_back(active[k] ? given[next] : b.ZerosLike(args[k]));
      if (active[k]) next += n;
    }
    if (jvp_rule == ir::kNoFunction) {
      pushed.push_back(PushByVjpRule(b, pullback, args, results, dots));
      continue;
    }
    size_t dot = 0;  // the rule never sees a short zero
    for (size_t k = 0; k < params.size(); ++k) {
      if (!in[k]) continue;
      if (params[k].IsList()) dots[dot] = lists.Fill(b, dots[dot], args[k]);
      ++dot;
    }
    std::vector<Value> all = args;
    all.insert(all.end(), dots.begin(), dots.end());
    const std::vector<Value> made = b.Call(jvp_rule, all);
    if (d == 0) results.assign(made.begin(), made.begin() + static_cast<long>(out.size()));
    pushed.push_back(Tail(made, out.size()));
  }
  for (size_t k = 0; k < seeds; ++k) {
    for (size_t d = 0; d < n; ++d) results.push_back(pushed[d][k]);
  }
  b.Return(results);
  return {};
}

}  // namespace pullback::ad
