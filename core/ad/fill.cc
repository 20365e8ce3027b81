#include "core/ad/fill.h"

#include <algorithm>

namespace pullback::ad {
namespace {

using ir::Type;
using ir::Value;

// likes[k]: where the shape of the k-th derivative is found among the parameters and, behind them, the
// results.
uint32_t Filled(ir::Module& module, ListFunctions& lists, uint32_t derived, size_t results,
                const std::vector<size_t>& likes) {
  const ir::Function& from = module.Get(derived);
  const auto is_list = [](Type t) { return t.IsList(); };
  if (std::none_of(from.results.begin() + static_cast<long>(results), from.results.end(), is_list))
    return derived;
  const uint32_t target = module.AddFunction(from.name + ".filled");
  ir::Builder b(module, module.Get(target));
  b.NewBlock();
  b.function().results = from.results;
  for (Value v : from.params()) b.AddParam(0, from.TypeOf(v), from.names[v.id]);
  ir::Values values = b.function().params();
  std::vector<Value> made = b.Call(derived, values);
  values.insert(values.end(), made.begin(), made.end());
  for (size_t k = 0; k < likes.size(); ++k) {
    Value& v = made[results + k];
    if (b.TypeOf(v).IsList()) v = lists.Fill(b, v, values[likes[k]]);
  }
  b.Return(made);
  return target;
}

}  // namespace

uint32_t FillTangents(ir::Module& module, ListFunctions& lists, uint32_t derived, uint32_t of) {
  const std::vector<Type>& results = module.Get(of).results;
  const size_t params = module.Get(derived).params().size();
  std::vector<size_t> likes;
  for (size_t k = 0; k < results.size(); ++k) {
    if (ir::CarriesTangent(module, results[k])) likes.push_back(params + k);
  }
  return Filled(module, lists, derived, results.size(), likes);
}

uint32_t FillCotangents(ir::Module& module, ListFunctions& lists, uint32_t derived, uint32_t of,
                        const std::vector<bool>& wrt) {
  const ir::Function& f = module.Get(of);
  std::vector<size_t> likes;
  for (size_t k = 0; k < wrt.size(); ++k) {
    if (wrt[k] && ir::CarriesTangent(module, f.TypeOf(f.params()[k]))) likes.push_back(k);
  }
  return Filled(module, lists, derived, f.results.size(), likes);
}

}  // namespace pullback::ad
