#include "core/ad/adjoint.h"

#include <map>
#include <tuple>

#include "core/ad/reverse_function.h"
#include "core/ad/tangent.h"

namespace pullback::ad {
namespace {

using ir::Type;
using ir::Value;

bool Carries(Type t) { return t.IsFloat() || t.IsTape(); }

// Makes the halves of called functions, each once for its activity.
class Adjoints {
 public:
  explicit Adjoints(ir::Module& module) : module_(module), tangents_(module) {}

  ReverseFunction Of(uint32_t f, const std::vector<bool>& params,
                     const std::vector<bool>& results) {
    return {module_,
            module_.Get(f),
            params,
            results,
            [this](uint32_t callee, const std::vector<bool>& p, const std::vector<bool>& r) {
              return Split(callee, p, r);
            },
            [this](uint32_t callee, const std::vector<bool>& active) {
              return tangents_.Partials(callee, active);
            }};
  }

 private:
  StatusOr<SplitFunctions> Split(uint32_t f, const std::vector<bool>& params,
                                 const std::vector<bool>& results) {
    const auto [it, fresh] = splits_.try_emplace({f, params, results});
    if (!fresh) return it->second;  // also inside a recursion: the halves are declared already
    const SplitFunctions split = Declare(f, params, results);
    it->second = split;
    PB_RETURN_IF_ERROR(Of(f, params, results).BuildSplit(split));
    return split;
  }

  SplitFunctions Declare(uint32_t f, const std::vector<bool>& params,
                         const std::vector<bool>& results) {
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
      fb.AddParam(0, from.TypeOf(v), from.values[v.id].name);
      if (params[k] && Carries(from.TypeOf(v))) rb.function().results.push_back(from.TypeOf(v));
    }
    for (size_t k = 0; k < from.results.size(); ++k) {
      if (results[k] && Carries(from.results[k])) rb.AddParam(0, from.results[k], "bar");
    }
    fb.function().results = from.results;
    for (ir::Builder* b : {&fb, &rb}) {
      b->AddParam(0, Type::Tape(), "tape");
      b->function().results.push_back(Type::Tape());
    }
    return split;
  }

  ir::Module& module_;
  Tangents tangents_;
  std::map<std::tuple<uint32_t, std::vector<bool>, std::vector<bool>>, SplitFunctions> splits_;
};

}  // namespace

StatusOr<uint32_t> BuildGradient(ir::Module& module, uint32_t f, const std::vector<bool>& wrt,
                                 Seed seed) {
  const uint32_t target = module.AddFunction(module.Get(f).name + ".grad");
  const ir::Function& from = module.Get(f);
  ir::Builder b(module, module.Get(target));
  b.NewBlock();
  b.function().results = from.results;
  for (size_t k = 0; k < from.params().size(); ++k) {
    const Value v = from.params()[k];
    b.AddParam(0, from.TypeOf(v), from.values[v.id].name);
    if (wrt[k] && from.TypeOf(v).IsFloat()) b.function().results.push_back(from.TypeOf(v));
  }
  std::vector<bool> active_results;
  for (Type t : from.results) {
    active_results.push_back(t.IsFloat());
    if (t.IsFloat() && seed == Seed::kParams) b.AddParam(0, t, "bar");
  }
  Adjoints adjoints(module);
  PB_RETURN_IF_ERROR(
      adjoints.Of(f, wrt, active_results).BuildCombined(target, wrt, seed == Seed::kParams));
  return target;
}

}  // namespace pullback::ad
