#include "core/ad/adjoint.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/ad/adders.h"
#include "core/ad/fill.h"
#include "core/ad/outline_loops.h"
#include "core/ad/outline_turns.h"
#include "core/ad/reverse_function.h"
#include "core/ad/reverse_region.h"
#include "core/ad/rules.h"
#include "core/ad/tangent.h"
#include "core/ir/checkpointed_loop.h"

namespace pullback::ad {
namespace {

using ir::Type;
using ir::Value;

// Makes the halves of called functions, each once for its activity.
class Adjoints {
 public:
  Adjoints(ir::Module& module, Mixed mixed)
      : module_(module), mixed_(mixed), tangents_(module), lists_(module) {}

  // `combined`: both halves will be in one function.
  StatusOr<std::unique_ptr<ReverseFunction>> Of(uint32_t f, const std::vector<bool>& params,
                                                const std::vector<bool>& results, bool combined) {
    PB_ASSIGN_OR_RETURN(const uint32_t outlined, Outlined(f, combined));
    const AdjointOf adjoint_of =
        [this](const ir::Inst& call, const std::vector<bool>& p, const std::vector<bool>& r,
               const std::vector<bool>& with_bar) { return OfCall(call, p, r, with_bar); };
    const PartialsOf partials_of = [this](uint32_t callee, const std::vector<bool>& active) {
      return tangents_.Partials(callee, active);
    };
    const EarlyOf early{adders_,
                        [this](uint32_t callee, size_t sums, const std::vector<bool>& p,
                               const std::vector<bool>& r) { return Both(callee, sums, p, r); }};
    return std::make_unique<ReverseFunction>(module_, module_.Get(outlined), params, results,
                                             lists_, adjoint_of, partials_of, early, mixed_);
  }
  ListFunctions& lists() { return lists_; }

  // As BuildPullback says; takes the cotangents so far of the parameters in `sums` behind the others.
  StatusOr<uint32_t> Pullback(uint32_t f, const std::vector<bool>& params,
                              const std::vector<bool>& results, const std::vector<bool>& sums) {
    const auto [it, fresh] = pullbacks_.try_emplace({f, params, results, sums});
    if (!fresh) return it->second;  // also inside a recursion: it is declared already
    const uint32_t target = module_.AddFunction(module_.Get(f).name + ".pullback");
    it->second = target;
    const ir::Function& from = module_.Get(f);
    ir::Builder b(module_, module_.Get(target));
    b.NewBlock();
    for (size_t k = 0; k < from.params().size(); ++k) {
      const Value v = from.params()[k];
      b.AddParam(0, from.TypeOf(v), from.names[v.id]);
      if (params[k] && Carries(from.TypeOf(v))) b.function().results.push_back(from.TypeOf(v));
    }
    for (size_t k = 0; k < results.size(); ++k) {
      if (results[k] && Carries(from.results[k])) b.AddParam(0, from.results[k], "bar");
    }
    AddSums(b, from, sums);
    if (from.HasRule()) {
      PB_RETURN_IF_ERROR(WritePullbackByRule(b, f, params, results));
    } else {
      PB_ASSIGN_OR_RETURN(const auto reverse, Of(f, params, results, true));
      PB_RETURN_IF_ERROR(reverse->BuildCombined(target, params, true, false, sums));
    }
    return target;
  }

  // As BothOf says, of what OutlineAdders made.
  StatusOr<uint32_t> Both(uint32_t f, size_t sums, const std::vector<bool>& params,
                          const std::vector<bool>& results) {
    const auto [it, fresh] = both_.try_emplace({f, params, results, {}});
    if (!fresh) return it->second;
    const uint32_t target = module_.AddFunction(module_.Get(f).name + ".both");
    it->second = target;
    const ir::Function& from = module_.Get(f);
    std::vector<bool> so_far = params;
    std::fill(so_far.begin(), so_far.begin() + static_cast<long>(sums), false);
    ir::Builder b(module_, module_.Get(target));
    b.NewBlock();
    b.function().results = from.results;
    for (size_t k = 0; k < params.size(); ++k) {
      const Value v = from.params()[k];
      b.AddParam(0, from.TypeOf(v), from.names[v.id]);
      if (params[k]) b.function().results.push_back(from.TypeOf(v));
    }
    for (size_t k = 0; k < results.size(); ++k) {
      if (results[k]) b.AddParam(0, from.results[k], "bar");
    }
    AddSums(b, from, so_far);
    b.AddParam(0, Type::Tape(), "tape");
    b.function().results.push_back(Type::Tape());
    if (adders_.regions.contains(f)) {
      const BothOf both_of = [this](uint32_t part, size_t n, const std::vector<bool>& p,
                                    const std::vector<bool>& r) { return Both(part, n, p, r); };
      PB_RETURN_IF_ERROR(WriteRegion(module_, target, f, adders_, params, results, both_of));
    } else {
      PB_ASSIGN_OR_RETURN(const auto reverse, Of(f, params, results, true));
      PB_RETURN_IF_ERROR(
          reverse->BuildCombined(target, params, true, true, so_far, Combined::kAsPart));
    }
    return target;
  }

 private:
  StatusOr<uint32_t> Outlined(uint32_t f, bool combined) {
    const auto [it, fresh] = outlined_.try_emplace({f, combined});
    if (!fresh) return it->second;
    PB_ASSIGN_OR_RETURN(uint32_t outlined, OutlineLoops(module_, f));
    if (combined && mixed_ == Mixed::kAuto) outlined = OutlineAdders(module_, outlined, adders_);
    return it->second = OutlineTurns(module_, outlined, mixed_);
  }

  StatusOr<CallAdjoint> OfCall(const ir::Inst& call, const std::vector<bool>& params,
                               const std::vector<bool>& results,
                               const std::vector<bool>& with_bar) {
    CallAdjoint how;
    const uint32_t schedule = ir::ScheduleOf(module_, call.callee);
    const bool is_loop = schedule != ir::kNoFunction;
    const uint32_t f = is_loop ? schedule : call.callee;
    const ir::Function& callee = module_.Get(f);
    how.sums.resize(params.size());
    if (callee.HasRule()) {
      how.params = Carrying(module_, ParamTypes(callee));
      how.results = Carrying(module_, callee.results);
      PB_ASSIGN_OR_RETURN(how.pullback, PullbackByRule(module_, f));
      return how;
    }
    how.params = params;
    how.results = results;
    if (const size_t sums = adders_.SumsOf(f); sums > 0) {
      PB_RETURN_IF_ERROR(RunAgain(f, sums, how));
      return how;
    }
    // A loop's state begins anew where it is called.
    const size_t first = is_loop ? results.size() : 0;
    for (size_t k = first; k < params.size(); ++k) {
      const Type t = callee.TypeOf(callee.params()[k]);
      const bool scalar = t.IsScalar() && (call.checkpoint || is_loop) && with_bar[k];
      how.sums[k] = params[k] && Carries(t) && (IsAccumulated(t) || scalar);
    }
    if (is_loop) how.first_full = first;
    if (call.checkpoint) {
      PB_ASSIGN_OR_RETURN(how.pullback, Pullback(f, params, results, how.sums));
    } else {
      PB_ASSIGN_OR_RETURN(how.halves, Split(f, params, results, how.sums));
    }
    return how;
  }

  // A region, from its arguments: what is made of its turns has not been kept.
  Status RunAgain(uint32_t f, size_t sums, CallAdjoint& how) {
    std::copy_n(how.results.begin(), sums, how.params.begin());
    adders_.DropInert(f, how.params);
    how.sums = how.params;
    std::fill_n(how.sums.begin(), sums, false);
    how.first_full = sums;
    how.is_region = true;
    PB_ASSIGN_OR_RETURN(const uint32_t both, Both(f, sums, how.params, how.results));
    const auto [it, fresh] = agains_.try_emplace(both);
    if (fresh) {
      it->second = module_.AddFunction(module_.Get(f).name + ".again");
      const ir::Function& from = module_.Get(both);
      const auto values = static_cast<long>(module_.Get(f).results.size());
      ir::Builder b(module_, module_.Get(it->second));
      b.NewBlock();
      for (Value v : from.params()) b.AddParam(0, from.TypeOf(v), from.names[v.id]);
      b.function().results.assign(from.results.begin() + values, from.results.end());
      const std::vector<Value> made = b.Call(both, b.function().params());
      b.Return({made.begin() + values, made.end()});
    }
    how.pullback = it->second;
    return {};
  }

  static void AddSums(ir::Builder& b, const ir::Function& f, const std::vector<bool>& sums) {
    for (size_t k = 0; k < sums.size(); ++k) {
      if (sums[k]) b.AddParam(0, f.TypeOf(f.params()[k]), "sum");
    }
  }

  // The rule takes all seeds and gives all cotangents.
  Status WritePullbackByRule(ir::Builder& b, uint32_t f, const std::vector<bool>& params,
                             const std::vector<bool>& results) {
    PB_ASSIGN_OR_RETURN(const uint32_t rule, PullbackByRule(module_, f));
    const ir::Function& from = module_.Get(f);
    const std::vector<bool> in = Carrying(module_, ParamTypes(from));
    const std::vector<bool> out = Carrying(module_, from.results);
    const ir::Values given = b.function().params();
    std::vector<Value> args(given.begin(), given.begin() + static_cast<long>(in.size()));
    const std::vector<Value> values = b.Call(f, args);  // for their shapes
    size_t next = in.size();
    for (size_t k = 0; k < out.size(); ++k) {
      if (out[k]) args.push_back(results[k] ? given[next++] : b.ZerosLike(values[k]));
    }
    const std::vector<Value> bars = b.Call(rule, args);
    std::vector<Value> wanted;
    next = 0;
    for (size_t k = 0; k < in.size(); ++k) {
      if (!in[k]) continue;
      if (params[k]) wanted.push_back(bars[next]);
      ++next;
    }
    b.Return(wanted);
    return {};
  }

  StatusOr<SplitFunctions> Split(uint32_t f, const std::vector<bool>& params,
                                 const std::vector<bool>& results, const std::vector<bool>& sums) {
    const auto [it, fresh] = splits_.try_emplace({f, params, results, sums});
    if (!fresh) return it->second;  // also inside a recursion: the halves are declared already
    const SplitFunctions split = Declare(f, params, results, sums);
    it->second = split;
    PB_ASSIGN_OR_RETURN(const auto reverse, Of(f, params, results, false));
    PB_RETURN_IF_ERROR(reverse->BuildSplit(split, sums));
    return split;
  }

  SplitFunctions Declare(uint32_t f, const std::vector<bool>& params,
                         const std::vector<bool>& results, const std::vector<bool>& sums) {
    const std::string name = module_.Get(f).name;
    const SplitFunctions split{module_.AddFunction(name + ".fwd"),
                               module_.AddFunction(name + ".rev")};
    const ir::Function& from = module_.Get(f);
    ir::Builder fb(module_, module_.Get(split.forward));
    ir::Builder rb(module_, module_.Get(split.reverse));
    fb.NewBlock();
    rb.NewBlock();
    for (size_t k = 0; k < from.params().size(); ++k) {
      const Value v = from.params()[k];
      fb.AddParam(0, from.TypeOf(v), from.names[v.id]);
      if (params[k] && Carries(from.TypeOf(v))) rb.function().results.push_back(from.TypeOf(v));
    }
    for (size_t k = 0; k < from.results.size(); ++k) {
      if (results[k] && Carries(from.results[k])) rb.AddParam(0, from.results[k], "bar");
    }
    AddSums(rb, from, sums);
    fb.function().results = from.results;
    for (ir::Builder* b : {&fb, &rb}) {
      b->AddParam(0, Type::Tape(), "tape");
      b->function().results.push_back(Type::Tape());
    }
    return split;
  }

  bool Carries(Type t) const { return ir::CarriesTangent(module_, t); }

  ir::Module& module_;
  Mixed mixed_;
  Tangents tangents_;
  ListFunctions lists_;
  Adders adders_;
  std::map<std::pair<uint32_t, bool>, uint32_t> outlined_;  // by function and `combined`
  // Function, active parameters, active results, parameters whose cotangents so far are taken.
  using Key = std::tuple<uint32_t, std::vector<bool>, std::vector<bool>, std::vector<bool>>;
  std::map<Key, SplitFunctions> splits_;
  std::map<Key, uint32_t> pullbacks_, both_;
  std::map<uint32_t, uint32_t> agains_;  // by what Both made: the cotangents alone
};

// Of a function with a rule: its results, then what the rule gives.
Status WriteGradientByRule(Adjoints& adjoints, ir::Builder& b, uint32_t f,
                           const std::vector<bool>& wrt, const std::vector<bool>& results) {
  PB_ASSIGN_OR_RETURN(const uint32_t pullback, adjoints.Pullback(f, wrt, results, {}));
  ir::Values args = b.function().params();
  const size_t n = b.module().Get(f).params().size();
  std::vector<Value> out =
      b.Call(f, std::vector<Value>(args.begin(), args.begin() + static_cast<long>(n)));
  if (args.size() == n) {
    for (Type t : b.module().Get(f).results) {
      if (ir::CarriesTangent(b.module(), t)) args.push_back(b.One(t));
    }
  }
  const std::vector<Value> bars = b.Call(pullback, std::move(args));
  out.insert(out.end(), bars.begin(), bars.end());
  b.Return(out);
  return {};
}

}  // namespace

StatusOr<uint32_t> BuildGradient(ir::Module& module, uint32_t f, const std::vector<bool>& wrt,
                                 Seed seed, Mixed mixed) {
  const uint32_t target = module.AddFunction(module.Get(f).name + ".grad");
  const ir::Function& from = module.Get(f);
  const auto carries = [&](Type t) { return ir::CarriesTangent(module, t); };
  ir::Builder b(module, module.Get(target));
  b.NewBlock();
  b.function().results = from.results;
  for (size_t k = 0; k < from.params().size(); ++k) {
    const Value v = from.params()[k];
    b.AddParam(0, from.TypeOf(v), from.names[v.id]);
    if (wrt[k] && carries(from.TypeOf(v))) b.function().results.push_back(from.TypeOf(v));
  }
  std::vector<bool> active_results;
  for (Type t : from.results) {
    active_results.push_back(carries(t));
    if (carries(t) && seed == Seed::kParams) b.AddParam(0, t, "bar");
  }
  Adjoints adjoints(module, mixed);
  if (from.HasRule()) {
    PB_RETURN_IF_ERROR(WriteGradientByRule(adjoints, b, f, wrt, active_results));
    return FillCotangents(module, adjoints.lists(), target, f, wrt);
  }
  PB_ASSIGN_OR_RETURN(const auto reverse, adjoints.Of(f, wrt, active_results, true));
  PB_RETURN_IF_ERROR(reverse->BuildCombined(target, wrt, seed == Seed::kParams, true));
  return FillCotangents(module, adjoints.lists(), target, f, wrt);
}

StatusOr<uint32_t> BuildPullback(ir::Module& module, uint32_t f, const std::vector<bool>& wrt,
                                 const std::vector<bool>& results) {
  return Adjoints(module, Mixed::kAuto).Pullback(f, wrt, results, {});
}

}  // namespace pullback::ad
